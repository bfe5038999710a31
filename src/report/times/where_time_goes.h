// analyse/times/where_time_goes.h in words.
#pragma once

#include "analyse/times/where_time_goes.h"
#include "report/core/document.h"

namespace opscope {

Section where_time_goes_section(const Profile& profile, const WhereTimeGoes& where);
// One finding as a person would say it: what it could save, then what it is and why.
Entry finding_entry(const Profile& profile, const WhereTimeGoes& where, const Finding& finding);

}  // namespace opscope
