// Flags that most commands share.
#pragma once

#include <string>

#include "app/models/values.h"
#include "app/worker/talk.h"
#include "cli/main/cli11.h"

namespace opscope {

struct OutputFlags {
  std::string output, format, color = "auto", width;
};

void add_talk_flags(CLI::App& app, TalkFlags& flags);
void add_output_flags(CLI::App& app, OutputFlags& flags);
void add_registry_flags(CLI::App& app, std::string& registry, bool& no_cache);
void add_convention_flag(CLI::App& app, std::string& convention);
// A flag that may be given several times, one value each.
CLI::Option* repeatable(CLI::Option* option);

}  // namespace opscope
