// What each op is to fusing, from its row and arguments; and what the strategies share: merging with its
// limits, and the ops that ride along.
#include "partition/groups.h"

#include <array>

#include "graph/graph.h"
#include "ops/op_call.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

bool has(const OpCall& call, std::string_view word) {
  return call.name().find(word) != std::string_view::npos;
}

// Running statistics make a batch norm two numbers a channel.
bool only_scales(const OpCall& call) {
  if (!has(call, "batch_norm") || call.name().ends_with("backward")) return false;
  return has(call, "no_training") || call.boolean("training") == false;
}

// Norms that keep their shape. What their arguments do not tell takes all of it at once: one row.
Count rows_of_norm(const OpCall& call) {
  const TensorView& x = call.inputs[0];
  if (const auto shape = call.ints("normalized_shape"); !shape.empty()) return x.numel / numel(shape);
  for (const std::string_view groups : {"num_groups", "group"})
    if (const auto count = call.integer(groups)) return Count{x.dim(0)} * Count{*count};
  if (has(call, "batch_norm")) return Count{x.dim(1)};
  return has(call, "instance_norm") ? Count{x.dim(0)} * Count{x.dim(1)} : Count{1};
}

Count rows_of(const OpCall& call, const Trait& trait) {
  if (call.inputs.empty() || call.outputs.empty()) return 1;
  if (trait.category == Category::kNorm) return rows_of_norm(call);
  if (trait.out < trait.in) return trait.out;
  const auto dim = call.integer("dim");
  return trait.in / (dim ? Count{call.inputs[0].dim(*dim)} : call.inputs[0].numel);
}

// Windows overlap or lie side by side; only one that takes in everything folds rows.
bool pools_all(const OpCall& call, const Trait& trait) {
  if (call.outputs.empty() || has(call, "backward") || !has(call, "adaptive")) return false;
  const TensorView& out = call.outputs[0];
  return out.rank() >= 3 && trait.out < trait.in && out.dim(-1) == 1 && (out.rank() == 3 || out.dim(-2) == 1);
}

// How many elements a mask picks is known only after it was read.
Role gather_role(const OpCall& call) {
  const auto is_mask = [](const TensorView& in) { return in.dtype == DType::kBool; };
  const auto indices = call.inputs.subspan(std::min<std::size_t>(1, call.inputs.size()));
  return std::ranges::any_of(indices, is_mask) ? Role::kBarrier : Role::kGather;
}

Role role_of(const OpCall& call, const OpRule& rule, const Trait& trait) {
  const bool reads_anywhere = trait.category == Category::kEmbedding || trait.category == Category::kIndex ||
                              trait.category == Category::kResize;
  switch (rule.fusion) {
    case Fusion::kAnchor:
      return Role::kAnchor;
    case Fusion::kView:  // one that copies
    case Fusion::kPointwise:
      return reads_anywhere ? gather_role(call) : Role::kPointwise;
    case Fusion::kReduction:
      if (only_scales(call)) return Role::kPointwise;
      if (trait.category == Category::kPool && !pools_all(call, trait)) return Role::kWindow;
      return Role::kRows;
    case Fusion::kBarrier:
      break;
  }
  return Role::kBarrier;
}

Trait trait_of(const OpCall& call, const OpCost& cost) {
  Trait trait{.role = Role::kBarrier};
  if (cost.rule != nullptr) trait.category = cost.rule->category;
  for (const TensorView& out : call.outputs) trait.out = std::max(trait.out, out.numel);
  for (const TensorView& in : call.inputs)
    if (!in.is_weight()) trait.in = std::max(trait.in, in.numel);
  if (cost.rule == nullptr || cost.confidence == Confidence::kUnknown) return trait;
  trait.role = role_of(call, *cost.rule, trait);
  if (trait.role == Role::kRows) trait.rows = rows_of(call, trait);
  trait.is_concat = trait.role == Role::kPointwise && facts_of(*cost.rule).is(Fact::kConcatenates);
  return trait;
}

std::vector<Trait> traits_of(const Graph& graph, std::span<const OpCost> costs, const Dataflow& flow) {
  std::vector<Trait> traits(graph.ops.size());
  OpCall call(graph);
  for (OpId op = 0; op < traits.size(); ++op) {
    if (flow.works[op] == 0) continue;
    call.reset(graph.ops[op]);
    traits[op] = trait_of(call, costs[op]);
  }
  return traits;
}

}  // namespace

Groups::Groups(const Graph& g, std::span<const OpCost> c, const PartitionOptions& o)
    : graph(g), costs(c), options(o), flow(g, c), traits(traits_of(g, c, flow)), order(flow) {
  part();
}

void Groups::part() {
  order = GroupOrder(flow);
  loops.assign(graph.ops.size(), {});
  why.assign(flow.reads.size(), Border::kStrategy);
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    const Trait& trait = traits[op];
    if (trait.role == Role::kRide) continue;
    loops[op] = {.domain = trait.role == Role::kRows ? trait.in : trait.out,
                 .rows = trait.rows,
                 .working = 1,
                 .has_anchor = trait.role == Role::kAnchor,
                 .is_closed = trait.role == Role::kBarrier};
  }
}

bool Groups::fits(std::span<const GroupId> groups, const Loop& together) const {
  if (!options.fast_memory) return true;
  std::vector<OpId> members;
  for (const GroupId group : groups) {
    if (members.size() + order.size(group) > kMaxMembers) return false;
    order.each_member(group, [&](OpId op) { members.push_back(op); });
  }
  std::ranges::sort(members);
  return working_set(*this, members, together) <= options.fast_memory;
}

GroupId Groups::merge(std::span<const GroupId> groups, const Loop& together) {
  const GroupId merged = order.merge(groups);
  if (merged != kNone) loops[merged] = together;
  return merged;
}

void Groups::ride(OpId op) {
  const OpId maker = flow.shown(op);
  if (maker == kNone || order.group_of(maker) == order.group_of(op)) return;
  const GroupId group = order.group_of(maker);
  merge(std::array{group, order.group_of(op)}, loops[group]);
}

// Views of inputs and weights, with the first group that takes them. From the end, so that views of views
// come after what reads them.
void Groups::ride_with_readers() {
  for (OpId op = static_cast<OpId>(graph.ops.size()); op-- > 0;) {
    const GroupId own = order.group_of(op);
    if (flow.works[op] != 0 || loops[own].working != 0) continue;
    GroupId first = kNone;
    for (const OpId later : flow.after(op)) {
      const GroupId group = order.group_of(later);
      if (loops[group].working == 0) continue;
      if (first == kNone || order.position(group) < order.position(first)) first = group;
    }
    if (first != kNone) merge(std::array{first, own}, loops[first]);
  }
}

// Each call of a leaf module is a group, and so is each op that another module ran itself. Where layers are
// not asked for, no call is a leaf's.
void group_layers(Groups& groups) {
  std::vector<char> is_leaf(groups.graph.scopes.size(), groups.options.strategy == Strategy::kLayer ? 1 : 0);
  is_leaf[0] = 0;  // ops of a model without modules are layers of their own
  for (const Scope& scope : groups.graph.scopes)
    if (scope.parent != kNone) is_leaf[scope.parent] = 0;
  std::vector<OpId> last(groups.graph.scopes.size(), kNone);  // by scope: its last op that does work
  for (OpId op = 0; op < groups.graph.ops.size(); ++op) {
    const ScopeId scope = groups.graph.ops[op].scope;
    if (groups.flow.works[op] == 0) {
      groups.ride(op);
      continue;
    }
    const OpId earlier = last[scope];
    last[scope] = op;
    if (earlier == kNone || is_leaf[scope] == 0) continue;
    const std::array both{groups.order.group_of(earlier), groups.order.group_of(op)};
    Loop together = groups.loops[both[0]];
    ++together.working;
    if (groups.fits(both, together)) groups.merge(both, together);
  }
}

Partition make_partition(const Graph& graph, std::span<const OpCost> costs, const PartitionOptions& options) {
  Groups groups(graph, costs, options);
  options.strategy == Strategy::kFused ? group_fused(groups) : group_layers(groups);
  groups.ride_with_readers();
  return assemble(groups);
}

}  // namespace opscope
