// What `python -m opscope.capture` answers: JSON objects, one a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/trace/trace.h"
#include "graph/graph.h"

namespace opscope {

struct ChildError {
  std::string what{}, where{}, hint{}, traceback{};
  std::vector<std::string> candidates{};  // names that there are, to suggest from
};

// How far work of many steps has come.
struct Progress {
  std::string doing;
  std::uint64_t done = 0, total = 0;  // total: 0 where it is not known
};

struct Answer {
  // kFinished: one of several models, captured or, with an error, not
  enum class Kind : std::uint8_t { kOther, kStatus, kProgress, kFinished, kError, kDone };
  Kind kind = Kind::kOther;  // kOther: not a line of the protocol
  std::string status{};
  Progress progress{};
  ChildError error{};
  std::size_t index = 0;  // of the model that is finished
  bool cacheable = false;
};

Answer parse_answer(std::string_view line);

// What `trace` leaves in its folder: one row a tracer, in the order asked for, and the files it wrote.
struct TracedRow {
  std::string tracer, capture;  // the capture's file in the folder, "" where there is an error
  double seconds = 0;
  TraceFailure failure;
};
struct TraceAnswer {
  std::vector<TracedRow> rows;
  std::vector<SavedFile> files;
};

// These throw Error for what is no such answer.
TraceAnswer parse_trace_answer(std::string_view json, const std::string& where);

struct ListedModel {
  std::string name, source, family;
};
struct ModelList {
  std::vector<ListedModel> models;
  std::vector<Dependency> dependencies;
};

ModelList parse_model_list(std::string_view json, const std::string& where);

struct PlannedInput {
  std::string name, shape, dtype, value, why;
};
struct PlannedInputs {
  std::vector<PlannedInput> inputs;
  std::vector<std::string> notes;
};

PlannedInputs parse_planned_inputs(std::string_view json, const std::string& where);

struct OtherFusion;
OtherFusion parse_kernels(std::string_view json, const std::string& where);  // what `inductor` leaves

}  // namespace opscope
