// The shared flags.
#include "cli/flags/flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/request/fields.h"
#include "base/error.h"
#include "base/text.h"
#include "report/core/report.h"

namespace opscope {

CLI::Option* add_value(CLI::App& app, const std::string& flag, std::string& value, const std::string& type,
                       const std::string& help) {
  CLI::Option* option = app.add_option(flag, value, help);
  return type.empty() ? option : option->type_name(type);
}

CLI::Option* add_values(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                        const std::string& type, const std::string& help) {
  return app.add_option(flag, values, help)
      ->expected(1)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name(type);
}

void add_switch(CLI::App& app, const std::string& flag, bool& on, const std::string& help) {
  app.add_flag(flag, on, help);
}

void add_talk_flags(CLI::App& app, TalkFlags& flags) {
  add_switch(app, "-q,--quiet", flags.quiet, "No progress and no remarks on stderr");
  add_switch(app, "--debug", flags.debug, "Show Python's own output and tracebacks");
}

std::string format_help(std::string_view more) {
  return "Output format: " + choices(all_formats(Format::kText), "", ", ", ", ").append(more);
}

void add_output_flags(CLI::App& app, OutputFlags& flags, const std::string& formats) {
  add_value(app, "-o,--output", flags.output, "FILE", "Write to a file; the extension decides the format");
  add_value(app, "--format", flags.format, "FORMAT",
            formats.empty() ? "Output format: " + choices(all_formats()) : formats);
  add_value(app, "--color", flags.color, "WHEN",
            "Colored output: auto, always or never; auto respects NO_COLOR");
  add_value(app, "--width", flags.width, "N",
            "Width of text in columns. Default: $COLUMNS, the terminal's width, or 100");
}

void add_report_flags(CLI::App& app, OutputFlags& output, TalkFlags& talk, const std::string& verbose,
                      const std::string& formats) {
  add_switch(app, "-v,--verbose", talk.verbose, verbose);
  add_output_flags(app, output, formats);
  add_talk_flags(app, talk);
}

void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache) {
  add_value(app, "--registry", registry, "FILE", std::string(capture_field("registry").help));
  add_switch(app, "--no-cache", no_cache, "Do not read or write the cache");
}

void add_convention_flag(CLI::App& app, std::string& convention) {
  add_value(app, "--convention", convention, "NAME", "How FLOPs are counted: opscope, macs, torch or fvcore");
}

namespace {

struct CostKey {
  std::string_view key;
  std::string CostRequest::*text;
};
constexpr std::array kCosts{CostKey{"convention", &CostRequest::convention},
                            CostKey{"hardware", &CostRequest::hardware},
                            CostKey{"float32", &CostRequest::float32}};

// What a budget need not say: it is this machine's, or shows more and costs the same.
bool is_kept(const CaptureField& field) { return field.key != "download" && field.key != "source_lines"; }

const CaptureField* field_called(const std::string& name) {
  for (const CaptureField& field : capture_fields())
    if (is_kept(field) && field.budget_key() == name) return &field;
  return nullptr;
}

[[noreturn]] void fail_unknown(const std::string& name, const std::string& where) {
  std::vector<std::string> known{"spec", "max", "min", "max_increase", "modules", "types"};
  for (const CaptureField& field : capture_fields())
    if (is_kept(field)) known.push_back(field.budget_key());
  for (const CostKey& cost : kCosts) known.emplace_back(cost.key);
  throw Error("no flag of a model is called '" + name + "'", where, did_you_mean(name, known));
}

}  // namespace

BudgetFlags with_budget_flags(BudgetFlags flags, const ModelBudget& budget) {
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

std::vector<std::pair<std::string, std::string>> flags_given(const BudgetFlags& flags) {
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

void add_cost_flags(CLI::App& app, CostRequest& request) {
  add_convention_flag(app, request.convention);
  add_value(
      app, "--ridge", request.ridge, "X",
      "Ridge point in FLOPs per byte: ops below it are memory-bound. Default: that of --hardware, else 10");
  add_value(app, "--hardware", request.hardware, "NAME",
            "Device for roofline times: a name from `opscope devices`, or a .toml file. `profile` takes "
            "several: h100,l4");
  add_value(app, "--float32", request.float32, "NAME",
            "Precision of float32 products on the device: torch (TF32 for convolutions only, PyTorch's "
            "default), tf32 (wherever possible) or ieee (never)");
  add_value(app, "--partition", request.partition, "NAME",
            "How ops are grouped into subgraphs: none (one op each), layer (one leaf module each) or "
            "fused (one fused kernel each; default)");
  add_value(app, "--fast-memory", request.fast_memory, "SIZE",
            "Limit for the working set of a fused kernel, for example 256KiB. Default: no limit");
}

void add_level_flag(CLI::App& app, std::string& level) {
  add_value(app, "--level", level, "LEVEL", "What a node is: module, layer, op or subgraph");
}

void add_level_flags(CLI::App& app, LevelFlags& flags) {
  add_level_flag(app, flags.level);
  add_value(app, "--depth", flags.depth, "N", "With --level module: depth of the module tree, default 1");
}

ChosenLevel chosen_level(const LevelFlags& flags) {
  ChosenLevel chosen{.level = level_from_name(flags.level)};
  if (flags.depth.empty()) return chosen;
  chosen.depth = static_cast<std::uint32_t>(parse_integer("--depth", flags.depth, 0));
  if (chosen.level != Level::kModule)
    throw Error("only modules have a depth", "--depth", "add --level module");
  return chosen;
}

void add_table_flags(CLI::App& app, TableFlags& flags, const std::string& sort, const std::string& top_help) {
  flags.sort = sort;
  add_switch(app, "--showshape", flags.show_shapes, "Show output shapes");
  add_value(app, "--depth", flags.depth, "N", "Levels of the module tree. Default: as many as fit a screen");
  add_switch(app, "--no-fold", flags.no_fold, "Show repeated equal blocks one by one");
  add_value(app, "--top", flags.top, "N", top_help);
  add_value(app, "--sort", flags.sort, "KEY", "Sort layers by: " + metric_choices(kLayerNeeds));
}

TextOptions text_options(const TableFlags& flags, const TalkFlags& talk) {
  TextOptions options;
  options.show_shapes = flags.show_shapes;
  options.fold = !flags.no_fold;
  options.verbose = talk.verbose;
  options.sort = &metric_named(flags.sort, "--sort", kLayerNeeds);
  if (!flags.depth.empty()) options.depth = static_cast<int>(parse_integer("--depth", flags.depth, 0));
  if (!flags.top.empty()) options.top = static_cast<int>(parse_integer("--top", flags.top, 0));
  return options;
}

}  // namespace opscope
