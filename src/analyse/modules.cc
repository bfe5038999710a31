// The module tree: every module of the model with its calls, parameters, output and the work done in it and
// below it. Modules that ran nothing keep their row.
#include <algorithm>

#include "analyse/rollup.h"

namespace opscope {
namespace {

// Rows in tree order: a parent, then its children's subtrees, in the order the model declares them.
std::vector<ModuleRow> tree_order(const Graph& graph) {
  const std::size_t count = graph.modules.size();
  std::vector<Id> first_child(count, kNone), next_sibling(count, kNone);
  for (std::size_t m = count; m-- > 1;) {
    const ModuleId parent = graph.modules[m].parent;
    next_sibling[m] = first_child[parent];
    first_child[parent] = static_cast<Id>(m);
  }
  std::vector<ModuleRow> rows;
  rows.reserve(count);
  std::vector<std::pair<ModuleId, std::uint32_t>> pending{{0, 0}};
  while (!pending.empty()) {
    const auto [module, depth] = pending.back();
    pending.pop_back();
    rows.push_back({.module = module, .depth = depth});
    if (next_sibling[module] != kNone) pending.emplace_back(next_sibling[module], depth);
    if (first_child[module] != kNone) pending.emplace_back(first_child[module], depth + 1);
  }
  return rows;
}

// Each value is counted once in a row, however many of the row's modules own it. A value with one owner is
// added there and summed up the tree with the rest; a tied one climbs from each owner until it meets itself.
std::vector<Parameters> parameters_by_module(const Graph& graph) {
  std::vector<std::uint32_t> owners(graph.values.size(), 0);
  for (const Owned& owned : graph.owned) ++owners[owned.value];

  std::vector<Parameters> sums(graph.modules.size());
  for (const Owned& owned : graph.owned)
    if (owners[owned.value] == 1) sums[owned.module] += parameters_of(graph, graph.values[owned.value]);
  for (std::size_t m = sums.size(); m-- > 1;) sums[graph.modules[m].parent] += sums[m];

  std::vector<Owned> tied;
  for (const Owned& owned : graph.owned)
    if (owners[owned.value] > 1) tied.push_back(owned);
  std::ranges::stable_sort(tied, {}, &Owned::value);
  std::vector<ValueId> last_counted(graph.modules.size(), kNone);
  for (const Owned& owned : tied) {
    const Parameters own = parameters_of(graph, graph.values[owned.value]);
    for (ModuleId m = owned.module; m != kNone && last_counted[m] != owned.value;
         m = graph.modules[m].parent) {
      last_counted[m] = owned.value;
      sums[m] += own;
    }
  }
  return sums;
}

std::vector<Metrics> own_metrics(const Graph& graph, const std::vector<OpCost>& costs) {
  std::vector<Metrics> sums(graph.modules.size());
  for (std::size_t i = 0; i < costs.size(); ++i) sums[graph.scopes[graph.ops[i].scope].module] += costs[i];
  return sums;
}

void add_to_parents(const Graph& graph, std::vector<Metrics>& sums) {
  for (std::size_t m = sums.size(); m-- > 1;) sums[graph.modules[m].parent] += sums[m];
}

// The last value made during each scope, its child scopes included.
std::vector<ValueId> outputs_by_scope(const Graph& graph) {
  std::vector<OpId> last_op(graph.scopes.size(), kNone);
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    if (graph.ops[i].outputs.size) last_op[graph.ops[i].scope] = static_cast<OpId>(i);
  for (std::size_t s = last_op.size(); s-- > 1;) {
    OpId& parent = last_op[graph.scopes[s].parent];
    if (last_op[s] != kNone) parent = parent == kNone ? last_op[s] : std::max(parent, last_op[s]);
  }
  std::vector<ValueId> outputs(last_op.size(), kNone);
  for (std::size_t s = 0; s < last_op.size(); ++s)
    if (last_op[s] != kNone) outputs[s] = graph.outputs_of(graph.ops[last_op[s]]).front();
  return outputs;
}

}  // namespace

Parameters parameters_of(const Graph& graph, const Value& value) {
  const Count elements = numel(graph.shape(value));
  const Count bytes = bytes_of(graph, value);
  if (value.kind == ValueKind::kBuffer) return {.buffers = elements, .buffer_bytes = bytes};
  if (value.kind != ValueKind::kParameter) return {};
  return {.total = elements, .trainable = value.trainable ? elements : Count{}, .bytes = bytes};
}

Parameters& operator+=(Parameters& sum, const Parameters& other) {
  sum.total += other.total;
  sum.trainable += other.trainable;
  sum.bytes += other.bytes;
  sum.buffers += other.buffers;
  sum.buffer_bytes += other.buffer_bytes;
  return sum;
}

void roll_up_modules(const Graph& graph, Profile& profile) {
  const auto parameters = parameters_by_module(graph);
  const auto own = own_metrics(graph, profile.costs);
  auto metrics = own;
  add_to_parents(graph, metrics);
  const auto outputs = outputs_by_scope(graph);
  std::vector<std::uint32_t> calls(graph.modules.size(), 0);
  std::vector<ValueId> first_output(graph.modules.size(), kNone);
  for (std::size_t s = 0; s < graph.scopes.size(); ++s) {
    const ModuleId module = graph.scopes[s].module;
    if (calls[module]++ == 0) first_output[module] = outputs[s];
  }
  profile.modules = tree_order(graph);
  for (ModuleRow& row : profile.modules) {
    row.calls = calls[row.module];
    row.parameters = parameters[row.module];
    row.metrics = metrics[row.module];
    row.own = own[row.module];
    row.output = first_output[row.module];
  }
}

}  // namespace opscope
