// Groups -> Partition: numbers them in an order in which they can run, and adds up what is in each.
#include "partition/assemble.h"

#include <algorithm>
#include <unordered_set>

#include "graph/scopes.h"

namespace opscope {
namespace {

bool costs_more(const OpCost& a, const OpCost& b) {
  if (a.flops != b.flops) return a.flops > b.flops;
  return a.traffic.total() > b.traffic.total();
}

void add_op(const Groups& groups, OpId op, Subgraph& sum, const OpCost*& costliest) {
  const OpCost& cost = groups.costs[op];
  sum.work += cost.work;
  sum.flops += cost.flops;
  sum.unfused_bytes += cost.traffic.total();
  sum.confidence = std::max(sum.confidence, cost.confidence);
  sum.parallelism = std::max(sum.parallelism, groups.traits[op].out);
  if (costliest == nullptr || costs_more(cost, *costliest)) {
    costliest = &cost;
    sum.category = groups.traits[op].category;
  }
}

// Rows can be folded independently of one another, and no finer.
Count independent(const Groups& groups, std::span<const OpId> members, Count elements) {
  for (const OpId op : members)
    if (groups.traits[op].role == Role::kRows) elements = std::min(elements, groups.traits[op].rows);
  return elements;
}

// The names of types, each written once.
class Types {
 public:
  std::string_view add(const std::string& text) {
    if (const auto known = names_.find(text); known != names_.end()) return *known;
    return *names_.insert(texts_.add(text)).first;
  }
  std::vector<TextBlock> take() && { return std::move(texts_).take(); }

 private:
  TextBlocks texts_;
  std::unordered_set<std::string_view> names_;
};

}  // namespace

void number_subgraphs(const Groups& groups, Partition& partition) {
  std::vector<std::pair<std::uint32_t, GroupId>> order;
  for (OpId op = 0; op < groups.graph.ops.size(); ++op)
    if (groups.order.group_of(op) == op && groups.loops[op].working != 0)
      order.emplace_back(groups.order.position(op), op);
  std::ranges::sort(order);
  partition.of_op.assign(groups.graph.ops.size(), kNone);
  for (const auto& [position, group] : order) {
    const auto id = static_cast<SubgraphId>(partition.subgraphs.size());
    const auto begin = partition.ops.size();
    groups.order.each_member(group, [&](OpId op) {
      partition.ops.push_back(op);
      partition.of_op[op] = id;
    });
    std::sort(partition.ops.begin() + static_cast<std::ptrdiff_t>(begin), partition.ops.end());
    partition.subgraphs.push_back({.ops = {static_cast<std::uint32_t>(begin),
                                           static_cast<std::uint32_t>(partition.ops.size() - begin)}});
  }
}

void add_up(const Groups& groups, Partition& partition) {
  Types types;
  for (Subgraph& sum : partition.subgraphs) {
    const auto members = partition.ops_of(sum);
    const Loop& loop = groups.loops[groups.order.group_of(members[0])];
    const OpCost* costliest = nullptr;
    ScopeId scope = kNone;
    for (const OpId op : members) {
      if (groups.flow.works[op] == 0) continue;
      add_op(groups, op, sum, costliest);
      const ScopeId own = groups.graph.ops[op].scope;
      scope = scope == kNone ? own : common_scope(groups.graph, scope, own);
    }
    sum.module = groups.graph.scopes[scope].module;
    sum.parallelism = independent(groups, members, sum.parallelism);
    sum.working_set_bytes = working_set(groups, members, loop);
    if (loop.form == Form::kAttention) sum.category = Category::kAttention;
    sum.type = types.add(type_of(groups, members, loop.form));
    partition.unfused_bytes += sum.unfused_bytes;
  }
  partition.texts = std::move(types).take();
}

Partition assemble(Groups& groups) {
  Partition partition;
  partition.options = groups.options;
  number_subgraphs(groups, partition);
  add_up(groups, partition);
  add_traffic(groups, partition);
  find_borders(groups, partition);
  return partition;
}

}  // namespace opscope
