// A measured run in the Trace Event Format, for chrome://tracing, ui.perfetto.dev and what else reads it.
#pragma once

#include <string>

#include "analyse/profile/profile.h"

namespace opscope {

// The measurement's typical run: phases, module calls with their ops inside, the device's lane with an arrow
// from each op to its work there, and the predicted memory as a counter. Throws Error where the profile's
// graph was not measured.
std::string chrome_trace(const Profile& profile);

}  // namespace opscope
