// The level as text becomes a level.
#include "cli/flags/level.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/flags/flags.h"

namespace opscope {

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

}  // namespace opscope
