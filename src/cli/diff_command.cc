// `opscope diff`: what changed between two versions of a model.
#include <memory>

#include "analyse/diff.h"
#include "cli/cli.h"
#include "cli/command.h"
#include "cli/cost_flags.h"
#include "cli/picture_output.h"
#include "cli/several_models.h"
#include "report/diff_report.h"

namespace opscope {
namespace {

struct DiffFlags : ModelCommandFlags {
  CostFlags cost;
  std::vector<std::string> models;
  std::string base_rev, depth;
  bool exit_code = false, no_fold = false;
};

TextOptions text_options(const DiffFlags& flags) {
  TextOptions text;
  if (!flags.depth.empty()) text.depth = static_cast<int>(parse_integer("--depth", flags.depth, 1));
  text.verbose = flags.talk.verbose;
  text.fold = !flags.no_fold;
  return text;
}

int run_diff(const DiffFlags& flags) {
  TextOptions text = text_options(flags);
  const PictureOutput output(flags.output,
                             {Format::kText, Format::kJson, Format::kCsv, Format::kMarkdown, Format::kHtml});
  output.set_style(text);
  const std::vector<LoadedModel> models =
      load_models(flags.models, flags.model, profile_options(flags.cost), flags.talk);
  const ModelDiff diff = make_diff({models[0].label, &models[0].figures, models[0].profile.get()},
                                   {models[1].label, &models[1].figures, models[1].profile.get()});
  output.write(to_format(diff, output.format(), text));
  return flags.exit_code && !diff.same() ? kExitNo : kExitDone;
}

}  // namespace

Action define_diff(CLI::App& app) {
  const auto flags = std::make_shared<DiffFlags>();
  app.add_option("MODELS", flags->models, "The model before and after")->expected(1, 2)->required();
  add_capture_flags(app, flags->model);
  add_cost_flags(app, flags->cost);
  app.add_option("--depth", flags->depth, "Levels of modules to show; as many as fit a screen")
      ->type_name("N");
  app.add_flag("--no-fold", flags->no_fold,
               "Every layer in a row of its own, also what changed in the same way");
  app.add_flag("--exit-code", flags->exit_code, "Exit with 1 where the models differ");
  app.add_flag("-v,--verbose", flags->talk.verbose, "All levels and op types");
  add_output_flags(app, flags->output);
  app.get_option("--format")->description("txt, json, csv, md, html, svg, png or pdf");
  add_talk_flags(app, flags->talk);
  return [flags] { return run_diff(*flags); };
}

}  // namespace opscope
