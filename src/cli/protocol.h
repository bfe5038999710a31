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
  // kFinished: one of several models, captured or, with an error, not
  enum class Kind : std::uint8_t { kOther, kStatus, kFinished, kError, kDone };
  Kind kind = Kind::kOther;  // kOther: not a line of the protocol
  std::string status;
  ChildError error;
  std::size_t index = 0;  // of the model that is finished
  bool cacheable = false;
};

Answer parse_answer(std::string_view line);

struct ListedModel {
  std::string name, source, family;
};
struct ModelList {
  std::vector<ListedModel> models;
  std::vector<Dependency> dependencies;
};

// Throws Error for what is not such a list.
ModelList parse_model_list(std::string_view json, const std::string& where);

struct PlannedInput {
  std::string name, shape, dtype, value, why;
};
struct PlannedInputs {
  std::vector<PlannedInput> inputs;
  std::vector<std::string> notes;
};

// Throws Error for what is not such a plan.
PlannedInputs parse_planned_inputs(std::string_view json, const std::string& where);

}  // namespace opscope
