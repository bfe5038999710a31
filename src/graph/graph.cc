// Interning, and the names of the enums as files spell them.
#include "graph/graph.h"

#include <algorithm>
#include <limits>

#include "base/choices.h"

namespace opscope {
namespace {

constexpr auto kKindsOfValues = choices<ValueKind, ValueKind::kOptimizerState>(
    "input", "parameter", "buffer", "constant", "activation", "output", "gradient", "optimizer_state");
constexpr auto kKindsOfArguments = choices<ArgumentKind, ArgumentKind::kBoolList>(
    "none", "tensor", "tensors", "int", "float", "bool", "string", "dtype", "ints", "floats", "bools");
constexpr auto kKindsOfNodes = choices<NodeKind, NodeKind::kOutput>("placeholder", "get_attr", "call_module",
                                                                    "call_function", "call_method", "output");

}  // namespace

TargetId Graph::add_target(std::string_view name, std::string_view overload) {
  const Target target{intern(name), intern(overload)};
  const auto [entry, is_new] =
      target_ids_.try_emplace(pair_key(target.name, target.overload), static_cast<TargetId>(targets.size()));
  if (is_new) targets.push_back(target);
  return entry->second;
}

std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (auto i = shape.size(); i-- > 0;) {
    strides[i] = step;
    // Like PyTorch, an empty dimension counts as 1; a stride too large for its type stays at its maximum.
    if (__builtin_mul_overflow(step, std::max<std::int64_t>(shape[i], 1), &step))
      step = std::numeric_limits<std::int64_t>::max();
  }
  return strides;
}

const DeclaredCost* find_declared(const Graph& graph, OpId op) {
  const auto found = std::ranges::lower_bound(graph.declared, op, {}, &DeclaredCost::op);
  return found != graph.declared.end() && found->op == op ? &*found : nullptr;
}

Count numel(std::span<const std::int64_t> shape) {
  Count product{1};
  bool empty = false;
  for (const auto dim : shape) {
    product *= Count{dim};
    empty = empty || dim == 0;
  }
  // A zero wins over saturation: [2^40, 2^40, 0] holds nothing.
  return empty ? Count{} : product;
}

std::string_view name(ValueKind kind) { return kKindsOfValues[kind]; }
std::string_view name(ArgumentKind kind) { return kKindsOfArguments[kind]; }
std::string_view name(NodeKind kind) { return kKindsOfNodes[kind]; }

}  // namespace opscope
