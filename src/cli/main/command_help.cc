// Help as text for the terminal.
#include <algorithm>
#include <array>

#include "base/text.h"
#include "cli/flags/flags.h"

namespace opscope {

Action set_up(CLI::App& app, const Command& command) {
  app.name("opscope " + std::string(command.name));
  app.description(std::string(command.summary));
  app.footer("Examples:\n" + std::string(command.examples));
  app.set_help_flag("-h,--help", "This help");
  app.get_formatter()->column_width(26);
  app.allow_extras();
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);  // of a flag given twice
  Action action = command.define(app);
  // A positional is named by what it is; CLI11 would add "TEXT".
  for (CLI::Option* option : app.get_options([](const CLI::Option* o) { return o->get_positional(); }))
    option->type_name("");
  return action;
}

std::string general_help() {
  std::string text =
      "opscope says what a PyTorch model costs: parameters, MACs, FLOPs, bytes moved and peak memory, for "
      "every op, layer and module. It needs no weights, no data and no GPU. Only `measure` times real "
      "runs.\n\nUsage: opscope COMMAND ...\n\n";
  for (const Command& command : commands())
    text += "  " + pad_right(command.name, 12) + std::string(command.summary) + "\n";
  text += "  " + pad_right("help", 12) + "Help for a command, with examples\n";
  text += "  " + pad_right("version", 12) + "The version of opscope\n";
  return text +
         "\n"
         "  opscope profile resnet18              a torchvision model by name\n"
         "  opscope profile my_model.py:build     your own model: a function or class in a file\n"
         "  opscope profile capture.json          a saved capture; no Python needed\n\n"
         "Exit codes: 0 done; 1 a limit is exceeded, models differ, nothing fits (check, diff, fit, "
         "--strict); 2 error; 130 Ctrl-C.\n";
}

std::string command_help(const Command& command) {
  CLI::App app;
  set_up(app, command);
  return app.help();
}

namespace {

struct FlagRow {
  std::string name;  // "-o, --output FILE"
  std::string help;
  bool positional = false;
  bool operator==(const FlagRow&) const = default;
};
using FlagRows = std::vector<FlagRow>;

// Within a table's cell: a pipe would end it.
std::string in_cell(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

// Outside of code spans, which the help texts mark as Markdown does, a tag would be swallowed.
std::string in_words(std::string_view text) {
  std::string result;
  bool in_code = false;
  for (const char c : in_cell(text)) {
    if (c == '`') in_code = !in_code;
    if (!in_code && (c == '<' || c == '>' || c == '*' || c == '_')) result += '\\';
    result += c;
  }
  return result;
}

std::string names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (names.empty()) return option.get_name(true);
  return join(names) + (option.get_items_expected_max() == 0 ? "" : " " + option.get_type_name());
}

std::string help_of(const CLI::Option& option) {
  std::string help = option.get_description();
  const std::string fallback = option.get_items_expected_max() == 0 ? "" : option.get_default_str();
  if (fallback.empty() || fallback == "[]") return help;
  return help + ". Default: `" + fallback + "`";
}

FlagRows rows_of(const CLI::App& app) {
  FlagRows rows;
  for (const CLI::Option* option : app.get_options())
    if (!option->check_lname("help") && !option->get_group().empty())
      rows.push_back({names_of(*option), help_of(*option), option->get_positional()});
  return rows;
}

void keep_defaults(CLI::App& app) { app.option_defaults()->always_capture_default(); }

// Flags that one function adds to many commands.
struct SharedFlags {
  std::string title, words;
  FlagRows rows;
};

template <class Flags, class Add>
SharedFlags shared(std::string title, std::string words, Add add) {
  CLI::App app;
  app.set_help_flag();
  keep_defaults(app);
  Flags flags;
  add(app, flags);
  FlagRows rows = rows_of(app);
  std::erase_if(rows, &FlagRow::positional);
  return {std::move(title), std::move(words), std::move(rows)};
}

std::array<SharedFlags, 4> shared_flags() {
  return {shared<WrittenRequest>("Flags of models", "Which model, how it is built, and its inputs.",
                                 add_model_flags),
          shared<CostRequest>("Flags of costs", "How work is counted, for which device, in which subgraphs.",
                              add_cost_flags),
          shared<OutputFlags>("Flags of output", "Where the result goes, and in which form.",
                              [](CLI::App& app, OutputFlags& flags) { add_output_flags(app, flags); }),
          shared<TalkFlags>("Flags of messages", "What is printed on stderr.", add_talk_flags)};
}

bool has_all(const FlagRows& rows, const FlagRows& wanted) {
  return std::ranges::all_of(wanted, [&](const FlagRow& row) { return std::ranges::count(rows, row) > 0; });
}

std::string anchor(std::string_view title) {
  std::string result = lower_case(title);
  std::ranges::replace(result, ' ', '-');
  return result;
}

std::string table(const FlagRows& rows) {
  if (rows.empty()) return "";
  std::string out = "\n| | |\n|---|---|\n";
  for (const FlagRow& row : rows) out += "| `" + in_cell(row.name) + "` | " + in_words(row.help) + " |\n";
  return out;
}

std::string usage(const Command& command, const FlagRows& rows) {
  std::string text = "opscope " + std::string(command.name);
  for (const FlagRow& row : rows)
    if (row.positional) text += " " + row.name;
  return text + " [FLAGS]";
}

std::string examples(const Command& command) {
  std::string out = "\n```\n";
  for (const std::string_view line : split_by(command.examples, '\n'))
    if (!line.empty()) out.append(line.substr(line.find_first_not_of(' '))).append("\n");
  return out + "```\n";
}

std::string section(const Command& command, std::span<const SharedFlags> groups) {
  CLI::App app;
  keep_defaults(app);
  set_up(app, command);
  FlagRows rows = rows_of(app);
  std::string out = "\n## opscope " + std::string(command.name) + "\n\n" + in_words(command.summary) + ".\n";
  out += "\n```text\n" + usage(command, rows) + "\n```\n" + examples(command);
  std::string links;
  for (const SharedFlags& group : groups) {
    if (!has_all(rows, group.rows)) continue;
    std::erase_if(rows, [&](const FlagRow& row) { return std::ranges::count(group.rows, row) > 0; });
    links += (links.empty() ? "\nAlso: [" : ", [") + anchor(group.title.substr(9)) + "](#" +
             anchor(group.title) + ")";
  }
  return out + table(rows) + (links.empty() ? "" : links + "\n");
}

std::string contents() {
  std::string out;
  for (const Command& command : commands())
    out += "| [" + std::string(command.name) + "](#opscope-" + std::string(command.name) + ") | " +
           in_words(command.summary) + " |\n";
  return "| | |\n|---|---|\n" + out;
}

}  // namespace

std::string command_reference() {
  std::string out =
      "# Commands\n\n"
      "Generated by `opscope help --format md`; `make reference` updates this page.\n"
      "[The command line](../cli.md) describes what all commands have in common.\n\n" +
      contents();
  const auto groups = shared_flags();
  for (const Command& command : commands()) out += section(command, groups);
  for (const SharedFlags& group : groups)
    out += "\n## " + group.title + "\n\n" + group.words + "\n" + table(group.rows);
  return out +
         "\nEvery command also has `-h, --help`. Exit codes: 0 done, 1 the answer is no, 2 an error, 130 "
         "after Ctrl-C.\n";
}

}  // namespace opscope
