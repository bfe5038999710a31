// A plan for people and programs: what each device has and takes, what no plan can be better than, and what
// others would do.
#pragma once

#include <string>

#include "plan/baselines/baselines.h"
#include "report/core/document.h"

namespace opscope {

// CSV has a row for each part of the plan, or with a front for each plan of it.
std::string to_format(const PlannedGraph& planned, Format format, const TextOptions& options = {});

}  // namespace opscope
