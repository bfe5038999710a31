// A plan for people and programs: what each device has and takes, what no plan can be better than, and what
// others would do.
#pragma once

#include <string>

#include "plan/planned/planned.h"
#include "report/core/document.h"

namespace opscope {

// CSV has a row for each part of the plan, or with a front for each plan of it.
std::string to_format(const PlannedGraph& planned, Format format, const TextOptions& options = {});

// Which device computes, sends and receives which run when: as a picture, in characters, and as a trace for
// ui.perfetto.dev.
std::string plan_svg(const PlannedGraph& planned);
std::string plan_timeline(const PlannedGraph& planned, int width);
std::string plan_trace(const PlannedGraph& planned);

// "gpu 2"; the class alone where it has one device.
std::string device_name(const CostGraph& graph, const PlanPart& part);

}  // namespace opscope
