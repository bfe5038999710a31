// `opscope diff`: what changed between two versions of a model.
#include "analyse/diff/diff.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/models/git_revision.h"
#include "base/error.h"
#include "cli/flags/cost.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/picture_output.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

struct DiffFlags : ModelCommandFlags {
  CostFlags cost;
  std::vector<std::string> models;
  std::string base_rev, depth, max_nodes;
  bool exit_code = false, no_fold = false;
};

TextOptions text_options(const DiffFlags& flags) {
  TextOptions text;
  if (!flags.depth.empty()) text.depth = static_cast<int>(parse_integer("--depth", flags.depth, 1));
  text.verbose = flags.talk.verbose;
  text.fold = !flags.no_fold;
  return text;
}

// One model and a revision are the model then and now.
std::vector<std::string> specs_of(const DiffFlags& flags) {
  std::vector<std::string> specs = flags.models;
  if (!flags.base_rev.empty()) {
    if (specs.size() == 1) specs.push_back(specs.front());
    specs.front() = at_revision(flags.base_rev, specs.front());
  }
  if (specs.size() != 2)
    throw Error("diff needs two models", "diff",
                "opscope diff BASE NEW, or opscope diff model.py:build --base-rev HEAD~1");
  return specs;
}

// The page has the picture too, where there are graphs to draw.
void write_picture(const ModelDiff& diff, const std::vector<LoadedModel>& models, const PictureOutput& output,
                   const DiffFlags& flags, const TextOptions& text) {
  const bool graphs = models[0].has_graph() && models[1].has_graph();
  const std::size_t boxes = flags.max_nodes.empty()
                                ? 60
                                : static_cast<std::size_t>(parse_integer("--max-nodes", flags.max_nodes, 4));
  const auto drawn = [&](PictureFormat format) {
    return draw_diff(diff, *models[0].profile, *models[1].profile, format, boxes).bytes;
  };
  if (output.is_picture()) {
    if (!graphs)
      throw Error("a saved profile has no graph to draw", models[models[0].has_graph()].spec,
                  "diff captures, or the models themselves");
    output.write_picture(drawn(PictureFormat::kSvg));
  } else {
    output.write(graphs && pictures_available() ? drawn(PictureFormat::kHtml)
                                                : to_format(diff, Format::kHtml, text));
  }
}

int run_diff(const DiffFlags& flags) {
  TextOptions text = text_options(flags);
  const PictureOutput output(flags.output,
                             {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml});
  output.set_style(text);
  std::vector<LoadedModel> models =
      load_versions(specs_of(flags), flags.model, profile_options(flags.cost), flags.talk);
  if (models[0].spec == models[1].spec)
    for (LoadedModel& model : models) model.label = model.figures.model;
  const ModelDiff diff = make_diff({models[0].label, &models[0].figures, models[0].profile.get()},
                                   {models[1].label, &models[1].figures, models[1].profile.get()});
  if (output.is_picture() || output.format() == Format::kHtml)
    write_picture(diff, models, output, flags, text);
  else
    output.write(to_format(diff, output.format(), text));
  return flags.exit_code && !diff.same() ? kExitNo : kExitDone;
}

}  // namespace

Action define_diff(CLI::App& app) {
  const auto flags = std::make_shared<DiffFlags>();
  app.add_option("MODELS", flags->models, "The model before and the model after")->required();
  add_capture_flags(app, flags->model);
  add_cost_flags(app, flags->cost);
  app.add_option("--base-rev", flags->base_rev, "Git revision of the model before, if both are the same file")
      ->type_name("REV");
  app.add_option("--depth", flags->depth, "Levels of the module tree. Default: as many as fit a screen")
      ->type_name("N");
  app.add_option("--max-nodes", flags->max_nodes, "Most boxes in a picture, default 60")->type_name("N");
  app.add_flag("--no-fold", flags->no_fold,
               "One row for each layer, also for layers that changed in the same way");
  app.add_flag("--exit-code", flags->exit_code, "Exit code 1 if the models differ");
  app.add_flag("-v,--verbose", flags->talk.verbose, "All levels and op types");
  add_output_flags(app, flags->output);
  app.get_option("--format")->description("Output format: txt, json, csv, md, html, svg, png or pdf");
  add_talk_flags(app, flags->talk);
  return [flags] { return run_diff(*flags); };
}

}  // namespace opscope
