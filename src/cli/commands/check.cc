// `opscope check`: whether models keep their budgets; `opscope diff`: what changed between two versions of
// one.
#include <algorithm>
#include <array>

#include "app/models/model_list.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "cli/flags/flags.h"
#include "readers/results/budget_reader.h"
#include "report/check/report.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

struct CheckFlags : ModelCommandFlags {
  std::string budget, max, min, against, max_increase, write_budget;
  bool allow_unknown = false;
};

struct CostKey {
  std::string_view key;
  std::string CostRequest::*text;
};
constexpr std::array kCosts{
    CostKey{"convention", &CostRequest::convention}, CostKey{"hardware", &CostRequest::hardware},
    CostKey{"float32", &CostRequest::float32}, CostKey{"routing", &CostRequest::routing}};

// What a budget does not say: it is this machine's, it shows more and costs the same, or, whether to run code
// that comes with a model, it is for whoever runs opscope to say.
bool is_kept(const CaptureField& field) {
  return field.key != "download" && field.key != "source_lines" && field.key != "trust";
}

const CaptureField* field_called(const std::string& name) {
  for (const CaptureField& field : capture_fields())
    if (is_kept(field) && field.budget_key() == name) return &field;
  return nullptr;
}

[[noreturn]] void fail_unknown(const std::string& name, const std::string& where) {
  if (name == "trust")
    throw Error("a budget cannot trust the code of a model: only who runs opscope can", where,
                "give --trust on the command line");
  std::vector<std::string> known{"spec", "max", "min", "max_increase", "modules", "types"};
  for (const CaptureField& field : capture_fields())
    if (is_kept(field)) known.push_back(field.budget_key());
  for (const CostKey& cost : kCosts) known.emplace_back(cost.key);
  throw Error("no flag of a model is called '" + name + "'", where, did_you_mean(name, known));
}

// A budget's flags over those of the command line: [[model]] has them by their names with underscores. Throws
// Error for what is no flag.
ModelCommandFlags with_budget_flags(ModelCommandFlags flags, const ModelBudget& budget) {
  std::string_view last;
  for (const auto& [name, value] : budget.flags) {
    const auto cost = std::ranges::find(kCosts, name, &CostKey::key);
    const CaptureField* const field = field_called(name);
    if (cost != kCosts.end())
      flags.cost.*cost->text = value;
    else if (!field)
      fail_unknown(name, budget.where);
    else if (field->is_switch() && value != "true" && value != "false")
      throw Error("'" + name + "' is true or false, not '" + value + "'", budget.where);
    else if (!field->is_list() || name != last)  // the first of a list takes the place of the command line's
      flags.model.set(field->key, value);
    else
      flags.model.texts[std::string(field->key)].push_back(value);
    last = name;
  }
  return flags;
}

// What was asked of the capture and its costs, for a budget that is written: with_budget_flags makes the same
// of it.
std::vector<std::pair<std::string, std::string>> flags_given(const ModelCommandFlags& flags) {
  std::vector<std::pair<std::string, std::string>> given;
  for (const CaptureField& field : capture_fields())
    if (const auto texts = flags.model.texts.find(field.key);
        is_kept(field) && texts != flags.model.texts.end())
      for (const std::string& text : texts->second)
        if (!text.empty() && text != "false" && !(field.key == "tracer" && text == "auto"))
          given.emplace_back(field.budget_key(), text);
  const CostRequest defaults;
  for (const CostKey& cost : kCosts)
    if (flags.cost.*cost.text != defaults.*cost.text) given.emplace_back(cost.key, flags.cost.*cost.text);
  return given;
}

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
    if (budgets.empty())
      throw Error("the budget has no model called '" + model + "'", flags.budget,
                  did_you_mean(model, specs, "without a model, all of the file are checked"));
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
    const ModelCommandFlags own = with_budget_flags(flags, budget);
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
  TextOptions text;
  const Output output(flags, text);
  if (!flags.write_budget.empty()) check_writable(flags.write_budget);
  std::string written;
  const std::vector<CheckReport> reports = check_all(flags, written);
  if (!flags.write_budget.empty()) {
    write_beside(flags.write_budget, written, flags.talk);
    if (reports.front().results.empty()) return kExitDone;
  }
  annotations ? output.write_bytes(check_annotations(reports))
              : output.write(to_format(reports, output.format(), text));
  return std::ranges::all_of(reports, [](const CheckReport& r) { return r.kept(); }) ? kExitDone : kExitNo;
}

struct DiffFlags : ModelCommandFlags {
  std::vector<std::string> models;
  std::string base_rev, depth, max_nodes;
  bool exit_code = false, no_fold = false;
};

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
  std::size_t boxes = 60;
  read_number(boxes, "--max-nodes", flags.max_nodes, 4);
  if (output.is_picture())
    output.write_picture(draw(answer, PictureFormat::kSvg, boxes));
  else if (output.format() == Format::kHtml && answer.has_graphs() && graphs_can_be_drawn())
    output.write(draw(answer, PictureFormat::kHtml, boxes));
  else
    output.write(to_format(answer.diff, output.format(), text));
}

int run_diff(const DiffFlags& flags) {
  TextOptions text{.fold = !flags.no_fold};
  read_number(text.depth, "--depth", flags.depth, 1);
  const PictureOutput output(flags, text);
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
  add_result_flags(app, *flags, format_help(", or github for annotations"));
  return [flags] { return run_check(*flags); };
}

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
  add_report_flags(app, *flags, "All levels and op types", format_help(", svg, png or pdf"));
  return [flags] { return run_diff(*flags); };
}

}  // namespace opscope
