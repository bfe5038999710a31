// The flags of every command that takes a model: which model, how it is built, what it is called with.
#pragma once

#include <string>
#include <vector>

#include "cli/cli11.h"
#include "cli/flags.h"
#include "cli/request.h"

namespace opscope {

struct ModelFlags {
  std::string positional, model, batch, seq_len, image_size, phase, past_len, task, dtype, device, registry,
      optimizer;
  std::string tracer = "auto";
  std::vector<std::string> input_shape, input, limit, dim;
  bool trust = false, download = false, no_cache = false, source_lines = false, training = false;
};

// What every command that takes a model has.
struct ModelCommandFlags {
  ModelFlags model;
  OutputFlags output;
  TalkFlags talk;
};

void add_model_flags(CLI::App& app, ModelFlags& flags);
// All of them but the model itself, for commands that take several.
void add_capture_flags(CLI::App& app, ModelFlags& flags);

// The capture that the flags ask for; throws Error. `notes` gets what was chosen for the user.
CaptureRequest request_from(const ModelFlags& flags, std::vector<std::string>* notes = nullptr);

}  // namespace opscope
