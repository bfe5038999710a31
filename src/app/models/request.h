// What to capture: everything that the result depends on, and nothing else.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_writer.h"

namespace opscope {

// `--input NAME=SHAPE[:DTYPE]`
struct NamedInput {
  std::string name;
  std::vector<std::int64_t> shape;
  std::string dtype;  // "": as the model has it
};

struct CaptureRequest {
  using Sizes = std::map<std::string, std::int64_t>;

  std::string model;
  std::vector<std::vector<std::int64_t>> input_shapes;  // empty: the model's own
  std::optional<std::int64_t> batch, seq_len, past_len;
  std::vector<std::int64_t> image_size;  // one side, or height and width
  std::vector<NamedInput> inputs;
  std::string phase, task;
  Sizes limits;               // upper bounds for sizes that only data can tell: nms=100
  Sizes dims;                 // dynamic dimensions of a .pt2 or ONNX file
  std::string dtype, device;  // "": the model's own
  std::string tracer = "auto";
  std::string registry;
  bool trust = false, download = false;
  bool source_lines = false;
  bool training = false;
  std::string optimizer;  // "": sgd, in training
  bool use_cache = true;

  // The protocol's form (see python_child.h); `output` is left out when empty.
  std::string to_json(std::string_view command, const std::string& output) const;
  void write_fields(JsonWriter& json) const;
};

// What `opscope trace` asks for besides.
struct TraceRequest {
  std::vector<std::string> tracers;
  std::string folder;      // for trace.json and the captures
  std::string save_graph;  // a .py file, or "": none
  bool weights = false;    // beside it
  std::vector<std::string> exports;
  bool strict_static = false;  // a model that cannot go without data is an error, not a real run
};
std::string trace_request_json(const CaptureRequest& capture, const TraceRequest& trace);

// What `opscope measure` asks for besides; what is not said is as opscope.measure has it.
struct MeasureRequest {
  std::string on;  // a device; "": where the model's weights are
  std::optional<std::int64_t> warmup, runs;
  std::optional<double> min_time;  // seconds
  bool repeat_ops = false;
};
std::string measure_request_json(const CaptureRequest& capture, const MeasureRequest& measure,
                                 const std::string& output);

// A request for the names of all models.
std::string list_request_json(const std::string& registry, const std::string& output);
// A request for captures of many models, each as `each` asks for, its model aside: the i-th goes to
// FOLDER/i.json.
std::string many_request_json(const std::vector<std::string>& models, const CaptureRequest& each,
                              const std::string& folder);

}  // namespace opscope
