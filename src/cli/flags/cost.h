// What a profile depends on beside the model: how FLOPs are counted, the device or its ridge, and how
// subgraphs are made. The same flags on every command that shows costs.
#pragma once

#include <string>
#include <vector>

#include "analyse/profile/profile.h"
#include "cli/main/cli11.h"

namespace opscope {

struct CostFlags {
  std::string convention = "opscope", ridge, partition = "fused", fast_memory;
  std::string hardware, float32 = "torch";
};

void add_cost_flags(CLI::App& app, CostFlags& flags);
// Throws Error for what is not known, or a number that is none; for several devices too.
ProfileOptions profile_options(const CostFlags& flags);
// The same once for each device of --hardware; once where there is none.
std::vector<ProfileOptions> profile_options_by_device(const CostFlags& flags);

}  // namespace opscope
