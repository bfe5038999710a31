// The stages of a planned model as programs: which ops each runs, and which tensors it sends and receives.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plan/solver/solve.h"
#include "plan/split/flow.h"

namespace opscope {

// A value as `maker` left it, for the stages that read it; in the order in which they are made.
struct StageTransfer {
  OpId maker = 0;
  ValueId value = 0;
  std::uint32_t from = 0;
  std::vector<std::uint32_t> to{};
};

struct ModelStages {
  // By stage, in the order that they run in. A view of a weight is in each stage that reads it.
  std::vector<std::vector<OpId>> ops;
  std::vector<StageTransfer> transfers;  // what the model returns goes to the last stage too
  std::vector<OpId> output_makers;       // by output of the graph; kNone: an input or a weight
};

// `ops`: by node of the plan.
ModelStages stages_of(const Graph& graph, const OpFlow& flow, const Plan& plan,
                      const std::vector<std::vector<OpId>>& ops);

// Which stage has each module, the outermost that are in one stage alone; below those that are in several
// also the parameters that they own themselves. By path, as `accelerate` takes it.
std::map<std::string, std::uint32_t> device_map(const Graph& graph, const ModelStages& stages);

}  // namespace opscope
