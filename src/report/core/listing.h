// Lists of other things than profiles (models, rows of the cost table) in the same formats.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "base/count.h"
#include "report/core/report.h"

namespace opscope {

struct Listing {
  using Item = std::variant<std::monostate, std::string, Count>;  // monostate: nobody knows
  std::string name;                                               // of the JSON array
  std::vector<std::string> keys;                                  // one per column, "input_bytes"
  std::vector<std::vector<Item>> rows;
  bool rounded = false;  // in tables for people: 11.69M instead of every digit
};

std::string to_format(const Listing& listing, Format format, const TextOptions& options);

}  // namespace opscope
