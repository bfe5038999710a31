// Interning, and the names of the enums as files spell them.
#include "graph/graph.h"

#include <algorithm>
#include <array>
#include <limits>

namespace opscope {

TargetId Graph::add_target(std::string_view name, std::string_view overload) {
  const Target target{intern(name), intern(overload)};
  const auto key = (static_cast<std::uint64_t>(target.name) << 32) | target.overload;
  const auto [entry, is_new] = target_ids_.try_emplace(key, static_cast<TargetId>(targets.size()));
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

std::string_view name(ValueKind kind) {
  static constexpr std::array<std::string_view, kValueKinds> kNames{
      "input", "parameter", "buffer", "constant", "activation", "output", "gradient", "optimizer_state"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(ArgumentKind kind) {
  static constexpr std::array<std::string_view, 11> kNames{
      "none", "tensor", "tensors", "int", "float", "bool", "string", "dtype", "ints", "floats", "bools"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string_view name(NodeKind kind) {
  static constexpr std::array<std::string_view, 6> kNames{"placeholder",   "get_attr",    "call_module",
                                                          "call_function", "call_method", "output"};
  return kNames[static_cast<std::size_t>(kind)];
}

}  // namespace opscope
