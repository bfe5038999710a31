// Picks the strategy; the groups it makes become the Partition.
#include "partition/partition.h"

#include "partition/groups.h"

namespace opscope {

Partition make_partition(const Graph& graph, std::span<const OpCost> costs, const PartitionOptions& options) {
  Groups groups(graph, costs, options);
  switch (options.strategy) {
    case Strategy::kEachOp:
      for (OpId op = 0; op < graph.ops.size(); ++op)
        if (groups.flow.works[op] == 0) groups.ride(op);
      break;
    case Strategy::kLayer:
      group_layers(groups);
      break;
    case Strategy::kFused:
      group_fused(groups);
      break;
  }
  groups.ride_with_readers();
  return assemble(groups);
}

}  // namespace opscope
