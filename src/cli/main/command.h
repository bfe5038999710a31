// The commands: one row each, from which parsing, help, suggestions and shell completion come; and the
// command line as one call, the only writer of stdout and stderr, the only maker of exit codes.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

// CLI11 itself is one large header, and only files that define flags need it.
namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace opscope {

// 0: done. 1: the answer is no. 2: an error. 130: interrupted.
inline constexpr int kExitDone = 0;
inline constexpr int kExitNo = 1;
inline constexpr int kExitFailed = 2;

int run(int argc, char** argv);

struct Question;
using Action = std::function<int()>;  // runs the command once its flags are parsed; returns the exit code

struct Command {
  std::string_view name;
  std::string_view summary;
  std::string_view examples;
  Action (*defined_by)(CLI::App& app) = nullptr;  // adds the command's flags
  const Question* question = nullptr;             // or it is one that a row of app/cases describes

  Action define(CLI::App& app) const;
};

std::span<const Command> commands();
const Command* find_command(std::string_view name);

// Name, summary, examples and flags of a command, ready to parse or to describe.
Action set_up(CLI::App& app, const Command& command);

std::string general_help();
std::string command_help(const Command& command);
// All commands as one Markdown page: docs/reference/commands.md.
std::string command_reference();

}  // namespace opscope
