// Flags that most commands share, and short ways to add a command's own.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analyse/check/budget.h"
#include "analyse/explore/view.h"
#include "app/cases/question.h"
#include "app/request/fields.h"
#include "app/request/written.h"
#include "cli/main/cli11.h"
#include "report/core/report.h"

namespace opscope {

struct OutputFlags {
  std::string output, format, color = "auto", width;
};
// How much is said on stderr.
struct TalkFlags {
  bool quiet = false, verbose = false, debug = false;
};

// A flag with a value of this type, which its help shows; of several the last holds. A name without dashes is
// an argument.
CLI::Option* add_value(CLI::App& app, const std::string& flag, std::string& value, const std::string& type,
                       const std::string& help);
// The same, that may be given several times.
CLI::Option* add_values(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                        const std::string& type, const std::string& help);
void add_switch(CLI::App& app, const std::string& flag, bool& on, const std::string& help);

void add_talk_flags(CLI::App& app, TalkFlags& flags);
// `formats`: where they are not those of every report.
void add_output_flags(CLI::App& app, OutputFlags& flags, const std::string& formats = "");
// "Output format: txt, json, csv, md, html" and more.
std::string format_help(std::string_view more);
// What stands last in every help: --verbose, with what more it shows, the output and how much is said.
void add_report_flags(CLI::App& app, OutputFlags& output, TalkFlags& talk, const std::string& verbose,
                      const std::string& formats = "");
void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache);
void add_convention_flag(CLI::App& app, std::string& convention);

// The flags of captures and costs in a budget file: [[model]] has them by their names with underscores.
struct BudgetFlags {
  WrittenRequest model;
  CostRequest cost;
};

// A budget's flags over those of the command line. Throws Error for what is no flag.
BudgetFlags with_budget_flags(BudgetFlags flags, const ModelBudget& budget);

// What was asked of the capture and its costs, for a budget that is written: with_budget_flags makes the same
// of it.
std::vector<std::pair<std::string, std::string>> flags_given(const BudgetFlags& flags);

// The flags of costs, the same on every command that shows them.
void add_cost_flags(CLI::App& app, CostRequest& request);

// `--level module|layer|op|subgraph` and, for modules, `--depth`: in which pieces a graph is shown.
struct LevelFlags {
  std::string level = "layer", depth;
};

void add_level_flag(CLI::App& app, std::string& level);
// --level and --depth.
void add_level_flags(CLI::App& app, LevelFlags& flags);

// Throws Error for what is no level, before anything runs.
struct ChosenLevel {
  Level level = Level::kLayer;
  std::uint32_t depth = 1;
};
ChosenLevel chosen_level(const LevelFlags& flags);

// Flags of the commands whose report is a module tree and a list of layers.
struct TableFlags {
  std::string depth, top, sort;
  bool show_shapes = false, no_fold = false;
};

// `sort` is the key by default; the help of --top says what it lists.
void add_table_flags(CLI::App& app, TableFlags& flags, const std::string& sort, const std::string& top_help);

TextOptions text_options(const TableFlags& flags, const TalkFlags& talk);

}  // namespace opscope
