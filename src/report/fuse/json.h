// The partition's part of a profile's JSON. Inside src/report only.
#pragma once

#include "analyse/profile/profile.h"
#include "base/json_writer.h"

namespace opscope {

// "partition": how it was made, its totals, and what was missed.
void write_partition(JsonWriter& json, const Profile& profile);
// "subgraphs": one object each.
void write_subgraphs(JsonWriter& json, const Profile& profile);

}  // namespace opscope
