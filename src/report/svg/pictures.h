// What needs other people's libraries: where the boxes of a graph go (Graphviz), and SVG as PNG or PDF
// (librsvg and cairo). They are loaded at the first use, each from a plugin beside the program or in the
// Python package, so that nothing else of opscope pays for them or needs them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "report/svg/svg.h"

namespace opscope {

enum class PictureFormat : std::uint8_t { kPng, kPdf, kSvg, kDot, kHtml };
std::string_view name(PictureFormat format);                           // "png"
std::string_view title(PictureFormat format);                          // "PNG"
PictureFormat picture_format_from_name(std::string_view text);         // throws Error naming the choices
PictureFormat picture_format_from_extension(const std::string& path);  // of "out.png"; throws Error likewise

// The bytes of a PNG (two pixels a unit, fewer where it would be too large) or of a PDF with vectors and
// text; SVG stays as it is. Throws Error saying what to install where the libraries are missing.
std::string svg_to(PictureFormat format, std::string_view svg);

// Where Graphviz puts things, in points, y downwards. By number: node "n7", cluster "cluster_7", and the edge
// with id "7".
struct Placement {
  double width = 0, height = 0;
  std::vector<Box> nodes, clusters;
  std::vector<std::vector<Point>> edges;  // Bezier curves: start, then two controls and an end each
};

// Throws Error where the libraries are missing, or where Graphviz cannot read it.
Placement place(const std::string& dot);

bool graphs_can_be_drawn();
void check_convertible(PictureFormat format);  // throws Error where svg_to would

// Where to look for the plugins first, before any is used.
void add_picture_folder(const std::string& folder);

}  // namespace opscope
