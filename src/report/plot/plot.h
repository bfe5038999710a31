// Plots -> SVG, text, JSON and CSV. Numbers come from analyse/plot/plot.h; here they are only placed and
// worded.
#pragma once

#include <string>

#include "analyse/plot/plot.h"
#include "report/core/document.h"

namespace opscope {

// `labels`: how many of the costliest points are numbered and named.
std::string roofline_svg(const Profile& profile, const RooflinePlot& plot, std::size_t labels);
std::string types_svg(const Profile& profile, const TypesPlot& plot);
std::string icicle_svg(const Profile& profile, const IciclePlot& plot);
std::string flame_svg(const Profile& profile, const IciclePlot& plot);

// At most options.width columns; options.top rows in the tables below.
std::string roofline_text(const Profile& profile, const RooflinePlot& plot, const TextOptions& options);
std::string types_text(const Profile& profile, const TypesPlot& plot, const TextOptions& options);
// As an icicle the model is on top, as a flame graph at the bottom.
std::string icicle_text(const Profile& profile, const IciclePlot& plot, const TextOptions& options,
                        PlotKind kind = PlotKind::kIcicle);
// Memory over time, as memory_report.h draws it, below a title like the others'.
std::string timeline_text(const Profile& profile, const TextOptions& options);

// What is plotted. Format: JSON or CSV.
std::string roofline_data(const Profile& profile, const RooflinePlot& plot, Format format);
std::string types_data(const Profile& profile, const TypesPlot& plot, Format format);
std::string icicle_data(const Profile& profile, const IciclePlot& plot, Format format,
                        PlotKind kind = PlotKind::kIcicle);

}  // namespace opscope
