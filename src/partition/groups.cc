// What the strategies share: merging with its limits, and the ops that ride along.
#include "partition/groups.h"

#include <algorithm>
#include <array>

#include "graph/scopes.h"
#include "partition/partition.h"

namespace opscope {

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

bool Groups::changes_phase(OpId earlier, OpId later) const {
  return phase_of(graph, earlier) != phase_of(graph, later);
}

std::vector<OpId> Groups::members(std::span<const GroupId> groups) const {
  std::vector<OpId> result;
  for (const GroupId group : groups) order.each_member(group, [&](OpId op) { result.push_back(op); });
  std::ranges::sort(result);
  return result;
}

bool Groups::fits(std::span<const GroupId> groups, const Loop& together) const {
  if (!options.fast_memory) return true;
  std::uint64_t count = 0;
  for (const GroupId group : groups) count += order.size(group);
  if (count > kMaxMembers) return false;
  return working_set(*this, members(groups), together) <= options.fast_memory;
}

GroupId Groups::merge(std::span<const GroupId> groups, const Loop& together) {
  const GroupId merged = order.merge(groups);
  if (merged != kNone) loops[merged] = together;
  return merged;
}

void Groups::ride(OpId op) {
  const OpId maker = flow.shown(op);
  if (maker == kNone || order.group_of(maker) == order.group_of(op)) return;
  const std::array<GroupId, 2> both{order.group_of(maker), order.group_of(op)};
  merge(both, loops[both[0]]);
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
    if (first == kNone) continue;
    const std::array<GroupId, 2> both{first, own};
    merge(both, loops[first]);
  }
}

// Each call of a leaf module is a group, and so is each op that another module ran itself.

namespace {

std::vector<char> leaf_scopes(const Graph& graph) {
  std::vector<char> is_leaf(graph.scopes.size(), 1);
  for (const Scope& scope : graph.scopes)
    if (scope.parent != kNone) is_leaf[scope.parent] = 0;
  is_leaf[0] = 0;  // ops of a model without modules are layers of their own
  return is_leaf;
}

}  // namespace

void group_layers(Groups& groups) {
  const auto is_leaf = leaf_scopes(groups.graph);
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
    const std::array<GroupId, 2> both{groups.order.group_of(earlier), groups.order.group_of(op)};
    Loop together = groups.loops[both[0]];
    ++together.working;
    if (groups.fits(both, together)) groups.merge(both, together);
  }
}

// Picks the strategy; the groups it makes become the Partition.

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

namespace {

constexpr std::array<std::string_view, 24> kTurning{
    "adjoint",
    "channel_shuffle",
    "flip",
    "fliplr",
    "flipud",
    "mH",
    "mT",
    "matrix_H",
    "moveaxis",
    "movedim",
    "native_channel_shuffle",
    "numpy_T",
    "permute",
    "permute_copy",
    "pixel_shuffle",
    "pixel_unshuffle",
    "roll",
    "rot90",
    "swapaxes",
    "swapdims",
    "t",
    "t_copy",
    "transpose",
    "transpose_copy",
};

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  a = (a ^ b) * 0x9E3779B97F4A7C15u;
  return a ^ (a >> 32);
}

}  // namespace

Turns::Turns(const Groups& groups) : g_(groups), turns_(groups.graph.ops.size(), 0) {
  for (const Target& target : g_.graph.targets) {
    const auto name = short_op_name(g_.graph.text(target.name));
    is_turning_.push_back(std::ranges::find(kTurning, name) != kTurning.end() ? 1 : 0);
  }
}

// The same op with the same numbers turns the same way.
std::uint64_t Turns::turned(std::uint64_t turn, OpId id) const {
  const Op& op = g_.graph.ops[id];
  if (is_turning_[op.target] == 0) return turn;
  turn = mixed(turn, op.target + 1);
  for (const Argument& argument : g_.graph.arguments_of(op)) {
    if (argument.kind == ArgumentKind::kInt) turn = mixed(turn, static_cast<std::uint64_t>(argument.integer));
    if (argument.kind == ArgumentKind::kIntList)
      for (const auto item : g_.graph.ints_in(argument)) turn = mixed(turn, static_cast<std::uint64_t>(item));
  }
  return turn;
}

std::uint64_t Turns::of(const Read& read) const {
  const OpId writer = g_.writer(read), maker = g_.flow.maker(read.value);
  const bool is_view = maker != kNone && maker > writer && g_.flow.works[maker] == 0;
  return turns_[is_view ? maker : writer];
}

void Turns::place(OpId op) {
  std::uint64_t turn = 0;
  if (g_.flow.works[op] == 0 && g_.flow.shown(op) != kNone) turn = turns_[g_.flow.shown(op)];
  for (const Read& read : g_.flow.reads_of(op))
    if (read.write != kNone && g_.order.group_of(g_.writer(read)) == g_.order.group_of(op)) {
      turn = of(read);
      break;
    }
  turns_[op] = turned(turn, op);
}

}  // namespace opscope
