// The words that say which model is meant, how it is built and what it is called with, and the request that
// they make.
#pragma once

#include <string>
#include <vector>

#include "app/models/request.h"

namespace opscope {

struct ModelFlags {
  std::string positional, model, batch, seq_len, image_size, phase, past_len, task, dtype, device, registry,
      optimizer;
  std::string tracer = "auto";
  std::vector<std::string> input_shape, input, limit, dim;
  bool trust = false, download = false, no_cache = false, source_lines = false, training = false;
};

// The capture that the flags ask for; throws Error. `notes` gets what was chosen for the user.
CaptureRequest request_from(const ModelFlags& flags, std::vector<std::string>* notes = nullptr);

}  // namespace opscope
