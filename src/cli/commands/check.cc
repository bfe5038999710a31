// `opscope check`: whether models keep their budgets.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "app/cases/question.h"
#include "app/models/git_revision.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/flags/flags.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "cli/output/picture_output.h"
#include "cli/output/terminal.h"
#include "readers/results/budget_reader.h"
#include "report/check/report.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

struct CheckFlags : ModelCommandFlags {
  CostRequest cost;
  std::string budget, max, min, against, max_increase, write_budget;
  bool allow_unknown = false;
};

// What to check: each model of the file, or the one that was named.
std::vector<ModelBudget> budgets_for(const CheckFlags& flags) {
  const std::string model = flags.model.named();
  std::vector<ModelBudget> budgets;
  if (!flags.budget.empty()) budgets = read_budget(read_file(flags.budget), flags.budget);
  if (budgets.empty()) budgets.push_back({});
  if (!model.empty() && !budgets.front().spec.empty()) {
    std::vector<std::string> specs;
    for (const ModelBudget& budget : budgets) specs.push_back(budget.spec);
    std::erase_if(budgets, [&](const ModelBudget& budget) { return budget.spec != model; });
    if (budgets.empty()) {
      const std::string hint = did_you_mean(model, specs);
      throw Error("the budget has no model called '" + model + "'", flags.budget,
                  hint.empty() ? "without a model, all of the file are checked" : hint);
    }
  }
  for (ModelBudget& budget : budgets) {
    if (budget.spec.empty()) budget.spec = model;
    if (budget.spec.empty())
      throw Error("no model to check", "check",
                  "opscope check MODEL --max flops=4.2G, or [[model]] in the budget");
  }
  return budgets;
}

// `written`: the present figures as a budget.
std::vector<CheckReport> check_all(const CheckFlags& flags, std::string& written) {
  std::vector<ModelBudget> budgets = budgets_for(flags);
  if (!flags.against.empty() && budgets.size() > 1)
    throw Error("one version is no base for " + std::to_string(budgets.size()) + " models", "--against",
                "name one of them: opscope check MODEL --budget FILE --against BASE");
  const AskedLimits asked{flags.max, flags.min, flags.max_increase, !flags.against.empty(), true};
  std::vector<CheckReport> reports;
  Talk talk(flags.talk);
  for (ModelBudget& budget : budgets) {
    const bool only_writes = !flags.write_budget.empty() && asked.empty() && budget.limits.empty();
    if (!only_writes) add_limits(asked, budget.limits);
    BudgetFlags own = with_budget_flags({flags.model, flags.cost}, budget);
    const ProfileOptions options = profile_options(own.cost);
    const auto load = [&](const std::string& spec) {
      return std::move(load_versions({spec}, own.model, options, talk).front());
    };
    const LoadedModel model = load(budget.spec);
    if (!written.empty()) written += "\n";
    written += budget_toml(budget.spec, flags_given(own), model.figures);
    std::optional<LoadedModel> base;
    if (!flags.against.empty()) base = load(flags.against);
    reports.push_back(check(model, base ? &*base : nullptr, budget.limits, flags.allow_unknown));
  }
  return reports;
}

int run_check(CheckFlags flags) {
  const bool annotations = flags.output.format == "github";
  if (annotations) flags.output.format = "txt";
  const Output output(flags.output);
  TextOptions text;
  output.set_style(text);
  if (!flags.write_budget.empty()) check_writable(flags.write_budget);
  std::string written;
  const std::vector<CheckReport> reports = check_all(flags, written);
  if (!flags.write_budget.empty()) {
    write_file(flags.write_budget, written);
    if (!flags.talk.quiet) remark("wrote " + flags.write_budget);
    if (reports.front().results.empty()) return kExitDone;
  }
  annotations ? output.write_bytes(check_annotations(reports))
              : output.write(to_format(reports, output.format(), text));
  return std::ranges::all_of(reports, [](const CheckReport& r) { return r.kept(); }) ? kExitDone : kExitNo;
}

}  // namespace

Action define_check(CLI::App& app) {
  const auto flags = std::make_shared<CheckFlags>();
  add_model_flags(app, flags->model);
  add_cost_flags(app, flags->cost);
  add_value(app, "--budget", flags->budget, "FILE", "TOML file with limits for one or several models");
  add_value(app, "--max", flags->max, "LIMITS",
            "Upper limits: flops=4.2G,params=12M,peak_memory_bytes=200MiB");
  add_value(app, "--min", flags->min, "LIMITS", "Lower limits: arithmetic_intensity=20");
  add_value(app, "--against", flags->against, "MODEL",
            "Version to compare with: a capture, a saved profile, a model, or REV:file.py:function of "
            "git revision REV");
  add_value(app, "--max-increase", flags->max_increase, "LIMITS",
            "Allowed increase over --against: 2%, or flops=2%,params=0. Default: 0%");
  add_switch(app, "--allow-unknown", flags->allow_unknown,
             "Accept a value that is not known, because of ops of unknown cost or a missing figure");
  add_value(app, "--write-budget", flags->write_budget, "FILE", "Write the current figures as a budget file");
  add_output_flags(app, flags->output, format_help(", or github for annotations"));
  add_talk_flags(app, flags->talk);
  return [flags] { return run_check(*flags); };
}

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
  const PictureOutput output(flags.output);
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
                   format_help(", svg, png or pdf"));
  return [flags] { return run_diff(*flags); };
}

}  // namespace opscope
