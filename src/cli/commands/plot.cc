// `opscope plot`: one picture of a model, in the terminal or in a file; `opscope draw`: its graph as a
// picture.
#include "analyse/plot/plot.h"

#include <cstdio>

#include "analyse/memory/memory.h"
#include "analyse/times/host_time.h"
#include "base/error.h"
#include "cli/flags/flags.h"
#include "report/memory/report.h"
#include "report/plot/plot.h"

namespace opscope {
namespace {

struct PlotFlags : ModelCommandFlags {
  std::string kind, metric, level = "layer", depth, top;
  bool no_fold = false;
};

// Everything that the flags say, read before the model is.
struct PlotRequest {
  PlotKind kind = PlotKind::kRoofline;
  const Metric* metric = &metric_at("flops");
  Level level = Level::kLayer;
  IcicleOptions icicle{};
  bool is_default_time = false;  // nobody asked for a metric
  std::size_t top = 10;
  ProfileOptions profile{};
  TextOptions text{};
};

PlotKind kind_of(const PlotFlags& flags) {
  if (flags.kind.empty())
    throw Error("which plot?", "",
                "opscope plot KIND MODEL, where KIND is roofline, types, icicle, flame or memory");
  if (is_plot_kind(flags.model.positional.value_or("")) && !is_plot_kind(flags.kind))
    throw Error("the plot comes before the model", "",
                "opscope plot " + *flags.model.positional + " " + flags.kind);
  return plot_kind_from_name(flags.kind);
}

PlotRequest request_of(const PlotFlags& flags) {
  PlotRequest request{.kind = kind_of(flags), .level = level_from_name(flags.level)};
  if (request.kind == PlotKind::kFlame)
    request.metric = &metric_at(flags.cost.hardware.empty() ? "time_seconds" : "predicted_seconds");
  request.is_default_time =
      request.kind == PlotKind::kFlame && flags.metric.empty() && flags.cost.hardware.empty();
  if (!flags.metric.empty())
    request.metric = &plot_metric(flags.metric, request.kind == PlotKind::kTypes ? kTypeNeeds : kModuleNeeds);
  request.icicle = {.metric = request.metric, .fold = !flags.no_fold && request.kind != PlotKind::kFlame};
  read_number(request.icicle.depth, "--depth", flags.depth, 0);
  read_number(request.top, "--top", flags.top, 0);
  request.text.top = static_cast<int>(request.top);
  request.profile = profile_options(flags.cost);
  if (!(request.profile.ridge > 0))
    throw Error("the ridge lies above 0 FLOPs per byte", "--ridge", "for example --ridge 12.5");
  return request;
}

std::string roofline(const Profile& profile, const PlotRequest& request, const PictureOutput& output) {
  const RooflinePlot plot = make_roofline(profile, request.level, roof_of(profile));
  if (output.is_picture()) return roofline_svg(profile, plot, request.top);
  if (output.format() == Format::kText) return roofline_text(profile, plot, request.text);
  return roofline_data(profile, plot, output.format());
}

std::string types(const Profile& profile, const PlotRequest& request, const PictureOutput& output) {
  const TypesPlot plot = make_types_plot(profile, *request.metric, request.top);
  if (output.is_picture()) return types_svg(profile, plot);
  if (output.format() == Format::kText) return types_text(profile, plot, request.text);
  return types_data(profile, plot, output.format());
}

std::string icicle(const Profile& profile, const PlotRequest& request, const PictureOutput& output) {
  IcicleOptions options = request.icicle;
  // All that passes, where that is known: the flame of a measured model is of no op alone.
  if (request.is_default_time && has_wall(profile)) options.metric = &metric_at("wall_seconds");
  const IciclePlot plot = make_icicle(profile, options);
  const bool flame = request.kind == PlotKind::kFlame;
  if (output.is_picture()) return flame ? flame_svg(profile, plot) : icicle_svg(profile, plot);
  if (output.format() == Format::kText) return icicle_text(profile, plot, request.text, request.kind);
  return icicle_data(profile, plot, output.format(), request.kind);
}

std::string memory(const Profile& profile, const PlotRequest& request, const PictureOutput& output) {
  if (output.is_picture()) return memory_svg(make_memory_report(profile, {.advice = false}));
  if (output.format() == Format::kText) return timeline_text(profile, request.text);
  return to_format(make_memory_report(profile, {.advice = false}), output.format(), request.text);
}

std::string plotted(const Profile& profile, const PlotRequest& request, const PictureOutput& output) {
  switch (request.kind) {
    case PlotKind::kRoofline:
      return roofline(profile, request, output);
    case PlotKind::kTypes:
      return types(profile, request, output);
    case PlotKind::kIcicle:
    case PlotKind::kFlame:
      return icicle(profile, request, output);
    case PlotKind::kMemory:
      return memory(profile, request, output);
  }
  return {};
}

int run_plot(const PlotFlags& flags) {
  PlotRequest request = request_of(flags);
  const AskedGraph asked(flags, request.text.notes);
  const PictureOutput output(flags, request.text, {Format::kText, Format::kJson, Format::kCsv});
  const Graph graph = asked.load();
  const Profile profile = make_profile(graph, request.profile);
  if (!profile.totals.counts())
    throw Error("there is nothing to plot: no op of this model does work or moves bytes");
  const std::string result = plotted(profile, request, output);
  output.is_picture() ? output.write_picture(result) : output.write(result);
  return kExitDone;
}

struct DrawFlags : ModelCommandFlags {
  std::string file, format, level = "layer", depth, focus, max_nodes, color = "category";
  bool no_fold = false;
};

DrawOptions draw_options(const DrawFlags& flags) {
  DrawOptions options;
  options.level = level_from_name(flags.level);
  options.color = color_by_from_name(flags.color);
  options.collapse.fold = !flags.no_fold;
  options.collapse.focus = flags.focus;
  read_number(options.collapse.depth, "--depth", flags.depth, 1);
  read_number(options.collapse.max_boxes, "--max-nodes", flags.max_nodes, 4);
  return options;
}

int run_draw(DrawFlags flags) {
  settle_positional(flags.model, flags.file);
  if (flags.file.empty())
    throw Error("which file?", "",
                "opscope draw MODEL FILE, where FILE ends in .png, .pdf, .svg, .dot or .html");
  const PictureFile file(flags.file, flags.format);
  const DrawOptions options = draw_options(flags);
  const ProfileOptions costs = profile_options(flags.cost);
  std::vector<std::string> notes;
  const AskedGraph asked(flags, notes);
  const Graph graph = asked.load();
  const Profile profile = make_profile(graph, costs);
  std::puts(file.write(profile, options, notes).c_str());
  if (!flags.talk.quiet)
    for (const std::string& note : notes) remark(note);
  return kExitDone;
}

}  // namespace

Action define_plot(CLI::App& app) {
  const auto flags = std::make_shared<PlotFlags>();
  add_value(app, "KIND", flags->kind, "",
            "roofline, types (cost by op type), icicle (cost by module), flame (time by module) or "
            "memory (over time)");
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  add_value(app, "--metric", flags->metric, "KEY",
            "Additive metric for types, icicle and flame; default flops, for flame wall time, with "
            "--hardware predicted-seconds: " +
                metric_choices(kModuleNeeds));
  add_level_flag(app, flags->level);
  add_value(app, "--top", flags->top, "N", "Number of labelled points, types and table rows, default 10");
  add_value(app, "--depth", flags->depth, "N",
            "For icicle and flame: levels of the module tree. Default: all");
  add_switch(app, "--no-fold", flags->no_fold, "For icicle: show repeated equal blocks one by one");
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All notes", "Output format: svg, png, pdf, txt, json or csv");
  return [flags] { return run_plot(*flags); };
}

Action define_draw(CLI::App& app) {
  const auto flags = std::make_shared<DrawFlags>();
  add_model_flags(app, flags->model);
  add_value(app, "FILE", flags->file, "", "Picture to write: .png, .pdf, .svg, .dot or .html");
  add_value(app, "--format", flags->format, "FORMAT",
            "png, pdf, svg, dot or html. Default: the extension of FILE");
  add_level_flag(app, flags->level);
  add_value(app, "--depth", flags->depth, "N",
            "Levels of modules that are expanded. Default: as many as fit a page");
  add_value(app, "--focus", flags->focus, "PATH", "Only this module and its neighbours");
  add_value(app, "--max-nodes", flags->max_nodes, "N", "Most boxes on the page, default 60");
  add_value(app, "--color", flags->color, "BY",
            "Color by category, bound, cost (share of FLOPs) or predicted (share of predicted time; with "
            "--hardware)");
  add_switch(app, "--no-fold", flags->no_fold, "Draw repeated equal blocks and small ops one by one");
  add_cost_flags(app, flags->cost);
  add_graph_part_flag(app, flags->graph_part);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_draw(*flags); };
}

}  // namespace opscope
