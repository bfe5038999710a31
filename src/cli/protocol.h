// What `python -m opscope.capture` answers: JSON objects, one a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace opscope {

struct ChildError {
  std::string what, where, hint, traceback;
  std::vector<std::string> candidates;  // names that there are, to suggest from
};

struct Answer {
  enum class Kind : std::uint8_t { kOther, kStatus, kError, kDone };
  Kind kind = Kind::kOther;  // kOther: not a line of the protocol
  std::string status;
  ChildError error;
  bool cacheable = false;
};

Answer parse_answer(std::string_view line);

struct ListedModel {
  std::string name, source;
};
struct ModelList {
  std::vector<ListedModel> models;
  std::vector<Dependency> dependencies;
};

// Throws Error for what is not such a list.
ModelList parse_model_list(std::string_view json, const std::string& where);

}  // namespace opscope
