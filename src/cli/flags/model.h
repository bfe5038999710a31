// The flags of every command that takes a model: which model, how it is built, what it is called with.
#pragma once

#include "app/models/model_flags.h"
#include "cli/flags/flags.h"
#include "cli/main/cli11.h"

namespace opscope {

// What every command that takes a model has.
struct ModelCommandFlags {
  ModelFlags model;
  OutputFlags output;
  TalkFlags talk;
};

void add_model_flags(CLI::App& app, ModelFlags& flags);
// All of them but the model itself, for commands that take several.
void add_capture_flags(CLI::App& app, ModelFlags& flags);

}  // namespace opscope
