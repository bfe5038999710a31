// From the op's row and arguments: batch norm that is not in training only scales, pooling to one element
// folds rows, and a norm folds as many rows as its arguments say.
#include "partition/traits.h"

#include <algorithm>

#include "ops/op_call.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

Count size_of_dim(const TensorView& tensor, std::optional<std::int64_t> dim) {
  return dim ? Count{tensor.dim(*dim)} : tensor.numel;
}

Count product(std::span<const std::int64_t> sizes) {
  Count result = 1;
  for (const auto size : sizes) result *= Count{size};
  return result;
}

// Running statistics make a batch norm two numbers a channel.
bool only_scales(const OpCall& call) {
  if (call.name().find("batch_norm") == std::string_view::npos || call.name().ends_with("backward"))
    return false;
  if (call.name().find("no_training") != std::string_view::npos) return true;
  const auto training = call.boolean("training");
  return training && !*training;
}

// Norms that keep their shape. What their arguments do not tell takes all of it at once: one row.
Count rows_of_norm(const OpCall& call) {
  const TensorView& x = call.inputs[0];
  if (const auto shape = call.ints("normalized_shape"); !shape.empty()) return x.numel / product(shape);
  if (const auto groups = call.integer("num_groups")) return Count{x.dim(0)} * Count{*groups};
  if (const auto groups = call.integer("group")) return Count{x.dim(0)} * Count{*groups};
  if (call.name().find("batch_norm") != std::string_view::npos) return Count{x.dim(1)};
  if (call.name().find("instance_norm") != std::string_view::npos) return Count{x.dim(0)} * Count{x.dim(1)};
  return 1;
}

Count rows_of(const OpCall& call, const Trait& trait) {
  if (call.inputs.empty() || call.outputs.empty()) return 1;
  if (trait.category == Category::kNorm) return rows_of_norm(call);
  if (trait.out < trait.in) return trait.out;
  return trait.in / size_of_dim(call.inputs[0], call.integer("dim"));
}

// Windows overlap or lie side by side; only one that takes in everything folds rows.
bool pools_all(const OpCall& call, const Trait& trait) {
  return !call.outputs.empty() && call.name().find("backward") == std::string_view::npos &&
         call.outputs[0].rank() >= 3 && trait.out < trait.in && call.outputs[0].dim(-1) == 1 &&
         (call.outputs[0].rank() == 3 || call.outputs[0].dim(-2) == 1) &&
         call.name().find("adaptive") != std::string_view::npos;
}

bool is_gather(Category category) {
  return category == Category::kEmbedding || category == Category::kIndex || category == Category::kResize;
}

// How many elements a mask picks is known only after it was read.
Role gather_role(const OpCall& call) {
  const auto is_mask = [](const TensorView& in) { return in.dtype == DType::kBool; };
  const auto indices = call.inputs.subspan(std::min<std::size_t>(1, call.inputs.size()));
  return std::ranges::any_of(indices, is_mask) ? Role::kBarrier : Role::kGather;
}

Role role_of(const OpCall& call, const OpRule& rule, const Trait& trait) {
  switch (rule.fusion) {
    case Fusion::kAnchor:
      return Role::kAnchor;
    case Fusion::kView:  // one that copies
    case Fusion::kPointwise:
      return is_gather(trait.category) ? gather_role(call) : Role::kPointwise;
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

}  // namespace

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

}  // namespace opscope
