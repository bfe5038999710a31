// The request as a task, and the task on a graph.
#include "app/cases/plan.h"

#include "base/error.h"

namespace opscope {
namespace {

std::string name_of(Voice voice, const std::string& argument) {
  if (voice == Voice::kArguments) return argument;
  std::string flag = "--" + argument;
  for (char& c : flag)
    if (c == '_') c = '-';
  return flag;
}

}  // namespace

PlanTask plan_task(const PlanRequest& request) {
  const auto name = [&](const char* argument) { return name_of(request.voice, argument); };
  PlanTask task{.cluster = cluster_from(request.devices, name("devices")),
                .devices = {},
                .question = plan_question(request.objective, name("objective")),
                .options = {.reserve = request.reserve, .overlap = !request.no_overlap}};
  const std::string link = request.voice == Voice::kFlags ? "--link" : "links";
  set_links(task.cluster, request.links, link);
  set_pins(task.cluster, request.pins, request.voice == Voice::kFlags ? "--pin" : "pins");
  check(task.cluster, name("devices"), link);
  if (!request.in_flight.empty())
    task.options.in_flight = static_cast<std::size_t>(parse_integer(name("in_flight"), request.in_flight, 1));
  if (!request.dp.empty())
    task.options.replicas =
        request.dp == "auto" ? 0 : static_cast<std::size_t>(parse_integer(name("dp"), request.dp, 1));
  for (const ClusterGroup& group : task.cluster.groups) {
    CostRequest cost = request.cost;
    cost.hardware = group.device;
    task.devices.push_back(profile_options(cost, request.voice));
  }
  return task;
}

PlannedGraph plan(const PlanTask& task, const Graph& graph) {
  std::vector<Profile> profiles;
  for (const ProfileOptions& device : task.devices) profiles.push_back(make_profile(graph, device));
  return plan_model(profiles, task.cluster, task.options, task.question);
}

}  // namespace opscope
