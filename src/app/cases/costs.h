// What a profile depends on beside the model, as it was written: how FLOPs are counted, the device or its
// ridge, and how subgraphs are made.
#pragma once

#include <string>
#include <vector>

#include "analyse/profile/profile.h"
#include "app/request/request.h"

namespace opscope {

struct CostRequest {
  std::string convention = "opscope", ridge{}, partition = "fused", fast_memory{};
  std::string hardware{}, float32 = "torch";
};

// Throws Error for what is not known, or a number that is none; for several devices too.
ProfileOptions profile_options(const CostRequest& request, Voice voice = Voice::kFlags);
// The same once for each device; once where there is none.
std::vector<ProfileOptions> profile_options_by_device(const CostRequest& request,
                                                      Voice voice = Voice::kFlags);

}  // namespace opscope
