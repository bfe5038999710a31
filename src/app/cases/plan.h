// `opscope plan` as a use case: a model's graph split over devices that are named as they were written.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/cases/question.h"
#include "plan/split/split.h"

namespace opscope {

struct PlanRequest {
  std::string devices{}, objective = "throughput", reserve{}, in_flight{},
                         dp{};  // dp: "", a number or "auto"
  std::vector<std::string> links{}, pins{};
  bool no_overlap = false;
  CostRequest cost{};  // without hardware: how it runs, float32, routing
  Voice voice = Voice::kFlags;
};

// What was asked, checked before anything is captured.
struct PlanTask {
  Cluster cluster;
  std::vector<ProfileOptions> devices;  // one for each group
  PlanQuestion question;
  SplitOptions options;
};

PlanTask plan_task(const PlanRequest& request);
PlannedGraph plan(const PlanTask& task, const Graph& graph);

}  // namespace opscope
