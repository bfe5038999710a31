// What `opscope help` prints, and the command's flags as CLI11 holds them, from which it is made.
#pragma once

#include <string>

#include "cli/main/command.h"

namespace opscope {

// Name, summary, examples and flags of a command, ready to parse or to describe.
Action set_up(CLI::App& app, const Command& command);

std::string general_help();
std::string command_help(const Command& command);
// All commands as one Markdown page: docs/reference/commands.md.
std::string command_reference();

}  // namespace opscope
