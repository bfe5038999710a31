// analyse/times/where_time_goes.h in words.
#pragma once

#include "analyse/times/where_time_goes.h"
#include "base/json_writer.h"
#include "report/core/document.h"

namespace opscope {

Section where_time_goes_section(const Profile& profile, const WhereTimeGoes& where);
// One finding as a person would say it: what it could save, then what it is and why.
Entry finding_entry(const Profile& profile, const WhereTimeGoes& where, const Finding& finding);

// Ops measured alone, as a table of distinct ops and as JSON.
Section repeated_ops_section(const Profile& profile, const RepeatedOps& repeated, const TextOptions& options);
void write_repeated_ops(JsonWriter& json, const Profile& profile, const RepeatedOps& repeated);

}  // namespace opscope
