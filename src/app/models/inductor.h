// The kernels that Inductor makes of a model, beside opscope's subgraphs.
#pragma once

#include <string>
#include <vector>

#include "analyse/fusion/comparison.h"
#include "app/request/request.h"
#include "app/worker/listener.h"

namespace opscope {

struct InductorRequest {
  CaptureRequest model;
  std::string against;  // "inductor" or "inductor-max"
  PartitionOptions partition;
};

struct InductorAnswer {
  Graph graph;
  OtherFusion other;
  std::vector<OpCost> costs;
  Partition ours;
  std::vector<std::string> notes;

  FusionComparison comparison() const { return compare_fusion(graph, costs, ours, other); }
};

// Captures the model anew, by Dynamo's graphs: those are what Inductor makes its kernels of. Throws Error
// naming the choices for anything that there is nothing to compare with.
InductorAnswer compare_with_inductor(const InductorRequest& request, Listener& listener);

}  // namespace opscope
