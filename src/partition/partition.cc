// Placeholder until the strategies are written: each op by itself.
#include "partition/partition.h"

namespace opscope {

Partition make_partition(const Graph& graph, std::span<const OpCost>, const PartitionOptions& options) {
  Partition result;
  result.options = options;
  result.of_op.assign(graph.ops.size(), kNone);
  return result;
}

}  // namespace opscope
