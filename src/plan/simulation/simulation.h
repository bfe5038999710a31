// A plan as it would run: many runs on their way, event by event. Each device computes one run at a time;
// each link sends and receives one tensor at a time, while the device computes or, without overlap, instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "plan/solver/solve.h"

namespace opscope {

enum class StageTask : std::uint8_t { kCompute, kSend, kReceive };
inline constexpr std::size_t kStageTasks = 3;
std::string_view name(StageTask task);  // "compute", "send", "receive"

struct SimulatedTask {
  StageTask kind = StageTask::kCompute;
  std::uint32_t part = 0, run = 0;
  std::uint32_t other = 0;  // the part at the other end of a transfer; of a send the first that receives
  double begin = 0, end = 0;
};

struct SimulationOptions {
  std::size_t in_flight = 1;  // a run begins when the one so many before it is done
  std::size_t runs = 0;       // 0: enough to see the steady state
};

struct PlanSimulation {
  SimulationOptions options;
  std::vector<SimulatedTask> tasks;       // by begin
  std::vector<double> begins, ends;       // by run
  double first_seconds = 0;               // the first run, alone at its begin
  double run_seconds = 0;                 // one run among the others, from its begin to its end
  double period_seconds = 0;              // from the end of one run to that of the next, in the steady state
  std::vector<std::vector<double>> busy;  // by part and task: the share of the time in the steady state

  double all_seconds() const { return ends.empty() ? 0 : ends.back(); }
};

PlanSimulation simulate(const CostGraph& graph, const Plan& plan, const SimulationOptions& options);

}  // namespace opscope
