// `opscope draw`: the graph as a picture.
#include "report/draw/draw.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"

namespace opscope {
namespace {

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
  add_value(app, "--color", flags->color, "BY", "Color by category, bound or cost (share of FLOPs)");
  add_switch(app, "--no-fold", flags->no_fold, "Draw repeated equal blocks and small ops one by one");
  add_cost_flags(app, flags->cost);
  add_graph_part_flag(app, flags->graph_part);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_draw(*flags); };
}

}  // namespace opscope
