// Flags that most commands share, and short ways to add a command's own.
#pragma once

#include <string>
#include <vector>

#include "app/cases/question.h"
#include "app/request/fields.h"
#include "cli/main/command.h"
#include "report/core/report.h"

namespace opscope {

struct OutputFlags {
  std::string output, format, color = "auto", width;
};
// How much is said on stderr.
struct TalkFlags {
  bool quiet = false, verbose = false, debug = false;
};
// What every command with a report has.
struct CommandFlags {
  OutputFlags output;
  TalkFlags talk;
};

// A flag with a value of this type, which its help shows; of several the last holds. A name without dashes is
// an argument.
CLI::Option* add_value(CLI::App& app, const std::string& flag, std::string& value, const std::string& type,
                       const std::string& help);
// The same, that may be given several times.
CLI::Option* add_values(CLI::App& app, const std::string& flag, std::vector<std::string>& values,
                        const std::string& type, const std::string& help);
// One that is set by a function: without a type a switch, which sets "true".
void add_setter(CLI::App& app, const std::string& flag, const std::function<void(const std::string&)>& set,
                const std::string& type, const std::string& help);
void add_switch(CLI::App& app, const std::string& flag, bool& on, const std::string& help);

void add_talk_flags(CLI::App& app, TalkFlags& flags);
// `formats`: where they are not those of every report.
void add_output_flags(CLI::App& app, OutputFlags& flags, const std::string& formats = "");
// "Output format: txt, json, csv, md, html" and more.
std::string format_help(std::string_view more);
// What stands last in every help: the output and how much is said; before it --verbose, with what more it
// shows.
void add_result_flags(CLI::App& app, CommandFlags& flags, const std::string& formats = "");
void add_report_flags(CLI::App& app, CommandFlags& flags, const std::string& verbose,
                      const std::string& formats = "");
void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache);
void add_convention_flag(CLI::App& app, std::string& convention);

// The number of a flag, where it was given.
template <class T>
void read_number(T& number, const char* flag, const std::string& text, std::int64_t least) {
  if (!text.empty()) number = static_cast<T>(parse_integer(flag, text, least));
}

// The flags of costs, the same on every command that shows them.
void add_cost_flags(CLI::App& app, CostRequest& request);

// `--level module|layer|op|subgraph`: in which pieces a graph is shown.
void add_level_flag(CLI::App& app, std::string& level);

// Flags of the commands whose report is a module tree and a list of layers.
struct TableFlags {
  std::string depth, top, sort;
  bool show_shapes = false, no_fold = false;
};

// `sort` is the key by default; the help of --top says what it lists.
void add_table_flags(CLI::App& app, TableFlags& flags, const std::string& sort, const std::string& top_help);

TextOptions text_options(const TableFlags& flags);

}  // namespace opscope
