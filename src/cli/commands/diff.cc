// `opscope diff`: what changed between two versions of a model.
#include "app/cases/diff.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/models/git_revision.h"
#include "base/error.h"
#include "cli/flags/cost.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/picture_output.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

struct DiffFlags : ModelCommandFlags {
  CostRequest cost;
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
void write(const DiffAnswer& answer, const PictureOutput& output, const DiffFlags& flags,
           const TextOptions& text) {
  const std::size_t boxes = flags.max_nodes.empty()
                                ? 60
                                : static_cast<std::size_t>(parse_integer("--max-nodes", flags.max_nodes, 4));
  if (output.is_picture())
    output.write_picture(draw(answer, PictureFormat::kSvg, boxes));
  else if (output.format() == Format::kHtml && answer.has_graphs() && pictures_available())
    output.write(draw(answer, PictureFormat::kHtml, boxes));
  else
    output.write(to_format(answer.diff, output.format(), text));
}

int run_diff(const DiffFlags& flags) {
  TextOptions text = text_options(flags);
  const PictureOutput output(flags.output,
                             {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml});
  output.set_style(text);
  Talk talk(flags.talk);
  std::vector<LoadedModel> models =
      load_versions(specs_of(flags), flags.model, profile_options(flags.cost), talk);
  if (models[0].spec == models[1].spec)
    for (LoadedModel& model : models) model.label = model.figures.model;
  const DiffAnswer answer = diff(std::move(models[0]), std::move(models[1]));
  write(answer, output, flags, text);
  return flags.exit_code && !answer.diff.same() ? kExitNo : kExitDone;
}

}  // namespace

Action define_diff(CLI::App& app) {
  const auto flags = std::make_shared<DiffFlags>();
  app.add_option("MODELS", flags->models, "The model before and the model after")->required();
  add_capture_flags(app, flags->model);
  add_cost_flags(app, flags->cost);
  add_value(app, "--base-rev", flags->base_rev, "REV",
            "Git revision of the model before, if both are the same file");
  add_value(app, "--depth", flags->depth, "N", "Levels of the module tree. Default: as many as fit a screen");
  add_value(app, "--max-nodes", flags->max_nodes, "N", "Most boxes in a picture, default 60");
  add_switch(app, "--no-fold", flags->no_fold,
             "One row for each layer, also for layers that changed in the same way");
  add_switch(app, "--exit-code", flags->exit_code, "Exit code 1 if the models differ");
  add_report_flags(app, flags->output, flags->talk, "All levels and op types",
                   "Output format: txt, json, csv, md, html, svg, png or pdf");
  return [flags] { return run_diff(*flags); };
}

}  // namespace opscope
