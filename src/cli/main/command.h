// The commands: one row each, from which parsing, help, suggestions and shell completion come.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "cli/main/cli11.h"

namespace opscope {

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
Action define_question(CLI::App& app, const Question& question);

}  // namespace opscope
