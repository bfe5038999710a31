// A device's TOML file, checked: every key is known, every quantity has a unit of its kind.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hardware/device.h"

namespace opscope {

// Throws Error naming the line. `name`: the file, for errors.
Device read_device(std::string_view text, const std::string& name);

// The plain part of TOML that device files are written in: tables, and keys whose values are strings, plain
// numbers, lists of these or inline tables. Quantities are strings with their unit. What this reads, any TOML
// reader reads the same; what it does not, it refuses. Here because the engine builds without a TOML library.
struct TomlItem {
  std::string path;                 // "memory.bandwidth.value"
  std::vector<std::string> values;  // one, unless is_list
  bool is_list = false;
  int line = 0;
};

// Items in the file's order. Throws Error with "name:line" as its place.
std::vector<TomlItem> read_plain_toml(std::string_view text, const std::string& name);

}  // namespace opscope
