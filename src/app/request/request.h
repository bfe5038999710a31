// What to capture: everything that the result depends on, and nothing else. The command line, budgets,
// sweeps, the cache and the Python package have this one type; fields.h is the table of its options.
#pragma once

#include <cstdint>
#include <functional>
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

  bool operator==(const NamedInput&) const = default;
};

struct CaptureRequest {
  using Shape = std::vector<std::int64_t>;
  using Sizes = std::map<std::string, std::int64_t>;

  std::string model;
  std::vector<Shape> input_shape;  // empty: the model's own
  std::optional<std::int64_t> batch, seq_len, past_len;
  Shape image_size;  // one side, or height and width
  std::vector<NamedInput> inputs;
  std::string phase, task;
  Sizes limits;               // upper bounds of data-dependent sizes: nms=100
  Sizes dims;                 // dynamic dimensions of a .pt2 or ONNX file
  std::string dtype, device;  // "": the model's own
  std::string tracer = "auto";
  std::string registry;
  bool trust = false, download = false;
  bool source_lines = false;
  bool training = false;
  std::string optimizer;  // "": sgd, in training
  bool use_cache = true;  // no part of what is asked

  bool is_traced() const;  // by one of PyTorch's tracers, not by the engine
};

// As the protocol has it (see worker/python_worker.h); `more` writes what a command asks for besides.
using WriteMore = std::function<void(JsonWriter&)>;
std::string to_json(const CaptureRequest& request, std::string_view command, const WriteMore& more = {});

// Whom an error speaks to: who wrote --seq-len 0, or seq_len=0.
enum class Voice : std::uint8_t { kFlags, kArguments };

// The request with names in their one spelling ("fp16" is float16). Throws Error for what no capture can be:
// sizes out of range, words that are none, options that contradict each other.
CaptureRequest checked(CaptureRequest request, Voice voice);

}  // namespace opscope
