// The module tree: every module of the model with its calls, parameters, output and the work done in it and
// below it. Modules that ran nothing keep their row.
#include <algorithm>
#include <utility>

#include "analyse/profile/rollup.h"
#include "analyse/times/host_time.h"
#include "base/groups.h"
#include "base/large_pages.h"
#include "graph/graph.h"

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
  reserve_large(rows, count);
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

// Each value is counted once in a row, however many of the row's modules own it: it climbs from each of its
// owners until it meets itself.
void add_parameters(const Graph& graph, const std::vector<std::uint32_t>& row_of,
                    std::vector<ModuleRow>& rows) {
  std::vector<Owned> by_value = graph.owned;
  if (!std::ranges::is_sorted(by_value, {}, &Owned::value))  // captures own values as they meet them
    std::ranges::stable_sort(by_value, {}, &Owned::value);
  std::vector<ValueId> last_counted(graph.modules.size(), kNone);
  for (const Owned& owned : by_value) {
    const Parameters own = parameters_of(graph, graph.values[owned.value]);
    for (ModuleId m = owned.module; m != kNone && last_counted[m] != owned.value;
         m = graph.modules[m].parent) {
      last_counted[m] = owned.value;
      rows[row_of[m]].parameters += own;
    }
  }
}

ValueId first_of(std::span<const ValueId> values) { return values.empty() ? kNone : values.front(); }

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

Parameters all_parameters(const Graph& graph) {
  std::vector<char> is_counted(graph.values.size());
  Parameters sum;
  for (const Owned& owned : graph.owned)
    if (std::exchange(is_counted[owned.value], 1) == 0)
      sum += parameters_of(graph, graph.values[owned.value]);
  return sum;
}

Parameters parameters_read(const Graph& graph, std::span<const OpId> ops) {
  Parameters sum;
  std::vector<ValueId> seen;
  for (const OpId op : ops)
    each_read(graph, graph.ops[op], [&](ValueId id) {
      if (is_weight(graph.values[id].kind)) seen.push_back(id);
    });
  sort_unique(seen);
  for (const ValueId id : seen) sum += parameters_of(graph, graph.values[id]);
  return sum;
}

std::vector<Metrics> own_metrics(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<Metrics> sums(graph.modules.size());
  for (std::size_t i = 0; i < graph.ops.size(); ++i)
    sums[graph.scopes[graph.ops[i].scope].module] += profile.costs[i];
  add_own_walls(graph, profile.costs, sums);
  return sums;
}

std::vector<std::uint32_t> subtree_ends(const std::vector<ModuleRow>& rows) {
  std::vector<std::uint32_t> ends(rows.size(), static_cast<std::uint32_t>(rows.size())), open;
  for (std::uint32_t row = 0; row < rows.size(); ++row) {
    for (; !open.empty() && rows[open.back()].depth >= rows[row].depth; open.pop_back())
      ends[open.back()] = row;
    open.push_back(row);
  }
  return ends;
}

std::vector<std::uint32_t> rows_of_modules(std::span<const ModuleRow> rows) {
  std::vector<std::uint32_t> row_of(rows.size());
  for (std::uint32_t r = 0; r < rows.size(); ++r) row_of[rows[r].module] = r;
  return row_of;
}

std::vector<ModuleRow> module_rows(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<ModuleRow> rows = tree_order(graph);
  const std::vector<std::uint32_t> row_of = rows_of_modules(rows);
  const std::vector<Metrics> own = own_metrics(profile);
  for (ModuleRow& row : rows) row.metrics = own[row.module];
  // Children come after their parent, so one pass from the back carries everything to the root.
  for (std::size_t r = rows.size(); r-- > 1;)
    rows[row_of[graph.modules[rows[r].module].parent]].metrics += rows[r].metrics;
  add_parameters(graph, row_of, rows);
  const auto outputs = outputs_by_scope(graph);
  for (std::size_t s = 0; s < graph.scopes.size(); ++s) {
    ModuleRow& row = rows[row_of[graph.scopes[s].module]];
    if (row.calls++ > 0) continue;
    row.outputs = graph.outputs_of(graph.scopes[s]);
    row.output = graph.scopes[s].tells_outputs() ? first_of(row.outputs) : outputs[s];
  }
  return rows;
}

}  // namespace opscope
