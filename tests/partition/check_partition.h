// What holds of every partition, whatever the graph and the strategy.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "graph/graph.h"
#include "partition/partition.h"

namespace opscope::test {

inline bool works(const OpCost& cost) {
  return cost.confidence == Confidence::kUnknown || cost.work != Work{} || cost.traffic.total();
}

inline std::size_t working_ops(std::span<const OpCost> costs, std::span<const OpId> ops) {
  return static_cast<std::size_t>(std::ranges::count_if(ops, [&](OpId op) { return works(costs[op]); }));
}

// Every op that does work is in exactly one subgraph, and what of_op says is what the members say.
inline void check_members(const Graph& graph, std::span<const OpCost> costs, const Partition& partition) {
  std::vector<int> seen(graph.ops.size(), 0);
  for (SubgraphId id = 0; id < partition.subgraphs.size(); ++id) {
    const auto ops = partition.ops_of(partition.subgraphs[id]);
    EXPECT_TRUE(std::ranges::is_sorted(ops));
    EXPECT_GT(working_ops(costs, ops), 0u);
    for (const OpId op : ops) {
      ++seen[op];
      EXPECT_EQ(partition.of_op[op], id);
    }
  }
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    EXPECT_LE(seen[op], 1);
    EXPECT_TRUE(seen[op] == 1 || !works(costs[op])) << "op " << op;
    EXPECT_EQ(seen[op] == 0, partition.of_op[op] == kNone);
    EXPECT_TRUE(seen[op] == 1 || !why_not_partitioned(graph, costs, op).empty());
  }
}

// The order is one in which the subgraphs can run, also for what only rides along, and for what is
// overwritten.
inline void check_order(const Graph& graph, std::span<const OpCost> costs, const Partition& partition) {
  for (SubgraphId id = 0; id < partition.subgraphs.size(); ++id) {
    const auto before = partition.depends_on(partition.subgraphs[id]);
    EXPECT_TRUE(std::ranges::is_sorted(before));
    for (const SubgraphId other : before) EXPECT_LT(other, id);
  }
  std::vector<OpId> maker(graph.values.size(), kNone);
  std::vector<OpId> writer(graph.storages.size(), kNone);
  std::vector<std::vector<OpId>> readers(graph.storages.size());
  const auto follows = [&](OpId op, OpId earlier) {
    if (earlier == kNone || partition.of_op[op] == kNone || partition.of_op[earlier] == kNone) return;
    EXPECT_LE(partition.of_op[earlier], partition.of_op[op]) << earlier << " before " << op;
  };
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    each_read(graph, graph.ops[op], [&](ValueId id) {
      follows(op, maker[id]);
      const Id storage = graph.values[id].storage;
      if (storage == kNone) return;
      follows(op, writer[storage]);
      if (works(costs[op])) readers[storage].push_back(op);
    });
    for (const ValueId id : graph.outputs_of(graph.ops[op])) {
      if (maker[id] == kNone) maker[id] = op;
      const Id storage = graph.values[id].storage;
      if (storage == kNone || !works(costs[op])) continue;
      for (const OpId reader : readers[storage])
        if (reader != op) follows(op, reader);
      readers[storage].clear();
      follows(op, writer[storage]);
      writer[storage] = op;
    }
  }
}

// Work is what the ops do; bytes are never more than theirs.
inline void check_sums(std::span<const OpCost> costs, const Partition& partition) {
  Work work, all;
  Count flops{}, all_flops{}, fused{}, unfused{};
  for (const OpCost& cost : costs) all += cost.work, all_flops += cost.flops;
  for (const Subgraph& s : partition.subgraphs) {
    Traffic own;
    for (const OpId op : partition.ops_of(s)) own += costs[op].traffic;
    EXPECT_LE(s.traffic.input_bytes, own.input_bytes);
    EXPECT_LE(s.traffic.output_bytes, own.output_bytes);
    EXPECT_LE(s.traffic.weight_bytes, own.weight_bytes);
    EXPECT_LE(s.memory_bytes(), s.unfused_bytes);
    EXPECT_TRUE(working_ops(costs, partition.ops_of(s)) > 1 || s.memory_bytes() == s.unfused_bytes);
    work += s.work, flops += s.flops, fused += s.memory_bytes(), unfused += s.unfused_bytes;
  }
  EXPECT_EQ(work, all);
  EXPECT_EQ(flops, all_flops);
  EXPECT_EQ(fused, partition.fused_bytes);
  EXPECT_EQ(unfused, partition.unfused_bytes);
  EXPECT_LE(fused, unfused);
}

inline void check_sizes(std::span<const OpCost> costs, const Partition& partition) {
  if (!partition.options.fast_memory) return;
  for (const Subgraph& s : partition.subgraphs)
    EXPECT_TRUE(working_ops(costs, partition.ops_of(s)) == 1 ||
                s.working_set_bytes <= partition.options.fast_memory)
        << s.type;
}

inline void check_partition(const Graph& graph, std::span<const OpCost> costs, const Partition& partition) {
  check_members(graph, costs, partition);
  check_order(graph, costs, partition);
  check_sums(costs, partition);
  check_sizes(costs, partition);
  if (partition.options.strategy != Strategy::kEachOp) return;
  for (const Subgraph& s : partition.subgraphs) EXPECT_EQ(working_ops(costs, partition.ops_of(s)), 1u);
}

}  // namespace opscope::test
