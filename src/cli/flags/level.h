// `--level module|layer|op|subgraph` and, for modules, `--depth`: in which pieces a graph is shown.
#pragma once

#include <string>

#include "analyse/explore/view.h"
#include "cli/main/cli11.h"

namespace opscope {

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

}  // namespace opscope
