// `opscope check`: whether models keep their budgets.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "app/cases/diff.h"
#include "app/models/git_revision.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/flags/budget.h"
#include "cli/flags/cost.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "cli/output/terminal.h"
#include "readers/results/budget_reader.h"
#include "report/check/report.h"

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
            "Increase over --against that is allowed: 2%, or flops=2%,params=0. Default: 0%");
  add_switch(app, "--allow-unknown", flags->allow_unknown,
             "Accept a limit that cannot be decided, because of ops of unknown cost or a missing figure");
  add_value(app, "--write-budget", flags->write_budget, "FILE", "Write the current figures as a budget file");
  add_output_flags(app, flags->output, "Output format: txt, json, csv, md, html, or github for annotations");
  add_talk_flags(app, flags->talk);
  return [flags] { return run_check(*flags); };
}

}  // namespace opscope
