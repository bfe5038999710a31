// The profile's JSON, whole or a part of it, for whatever takes the calls of a JsonWriter: text, or the
// objects of another language.
#pragma once

#include <string_view>

#include "analyse/profile/profile.h"
#include "base/json_writer.h"
#include "report/core/report.h"
#include "report/core/table.h"

namespace opscope {

void write_profile(JsonWriter& json, const Profile& profile);
// One field of it: "totals", "layers", ...; nothing where the profile has no such part. Throws Error for a
// name that is none.
void write_profile_part(JsonWriter& json, const Profile& profile, std::string_view part);
Table profile_rows(const Profile& profile, Level level);  // CSV: of modules or layers

}  // namespace opscope
