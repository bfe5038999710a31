// Ops measured alone, as a table of distinct ops and as JSON.
#pragma once

#include "analyse/times/repeated_ops.h"
#include "base/json_writer.h"
#include "report/core/document.h"

namespace opscope {

Section repeated_ops_section(const Profile& profile, const RepeatedOps& repeated, const TextOptions& options);
void write_repeated_ops(JsonWriter& json, const Profile& profile, const RepeatedOps& repeated);

}  // namespace opscope
