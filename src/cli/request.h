// What to capture: everything that the result depends on, and nothing else.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace opscope {

struct CaptureRequest {
  std::string model;
  std::vector<std::vector<std::int64_t>> input_shapes;  // empty: the model's own
  std::optional<std::int64_t> batch;
  std::string dtype, device;  // "": the model's own
  std::string tracer = "auto";
  std::string registry;
  bool source_lines = false;
  bool use_cache = true;

  // The protocol's form (see python_child.h); `output` is left out when empty.
  std::string to_json(const std::string& output) const;
};

// A request for the names of all models.
std::string list_request_json(const std::string& registry, const std::string& output);

}  // namespace opscope
