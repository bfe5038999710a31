// ONNX ops that look at the same memory in another way, as far as ATen has them as views; with their strides,
// which decide whether a later reshape copies.
#include <algorithm>
#include <array>

#include "readers/capture/argument_reader.h"
#include "readers/onnx/call.h"

namespace opscope {
namespace {

const Value& value_of(const OnnxCall& call, std::size_t i) {
  return call.state().out.graph.values[call.value(i)];
}

Shape strides_of(const OnnxCall& call, std::size_t i) {
  const auto strides = call.state().out.graph.strides(value_of(call, i));
  return {strides.begin(), strides.end()};
}

bool reshape_to(OnnxCall& call, const Shape& shape) {
  const auto& graph = call.state().out.graph;
  const auto& value = value_of(call, 0);
  const TensorLayout in{graph.shape(value), graph.strides(value), value.dtype, value.device};
  auto strides = view_strides(in, shape);
  return call.answer("aten::reshape", {call.tensor("self", 0), call.list("shape", shape)},
                     {shape, call.dtype(0), std::move(strides)});
}

bool reshape(OnnxCall& call, std::string_view) {
  if (!call.has(0)) return false;
  const auto target = call.integers("shape", 1);
  if (!target) {
    const auto shape = call.declared_shape(0, false);
    return shape && reshape_to(call, *shape);
  }
  Shape shape = *target;
  if (shape.size() > 64) return false;
  const bool keeps_zero = call.integer("allowzero", 0) != 0;
  std::size_t open = shape.size();
  Count known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && !keeps_zero) shape[i] = i < call.shape(0).size() ? call.shape(0)[i] : 1;
    if (shape[i] == -1 && open == shape.size())
      open = i;
    else if (shape[i] < 0)
      return false;
    else
      known *= Count{shape[i]};
  }
  if (open < shape.size())
    shape[open] = clamp_size(static_cast<__int128>((numel(call.shape(0)) / known).value()));
  return reshape_to(call, shape);
}

bool flatten(OnnxCall& call, std::string_view) {
  if (!call.has(0)) return false;
  const auto rank = call.rank(0);
  auto axis = call.integer("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) return false;
  const auto at = static_cast<std::size_t>(axis);
  const auto all = std::span(call.shape(0));
  const auto size = [](std::span<const std::int64_t> part) {
    return clamp_size(static_cast<__int128>(numel(part).value()));
  };
  return reshape_to(call, {size(all.first(at)), size(all.subspan(at))});
}

bool squeeze(OnnxCall& call, std::string_view aten) {
  if (!call.has(0)) return false;
  const auto axes = call.integers("axes", 1);
  if (call.has(1) && !axes) return false;
  const auto old = strides_of(call, 0);
  Shape shape, strides;
  for (std::size_t i = 0; i < call.shape(0).size(); ++i) {
    const bool named = axes && std::ranges::any_of(*axes, [&](std::int64_t axis) {
                         return axis_of(axis, call.shape(0).size()) == i;
                       });
    if (axes ? named : call.shape(0)[i] == 1) continue;
    shape.push_back(call.shape(0)[i]);
    if (old.size() == call.shape(0).size()) strides.push_back(old[i]);
  }
  return call.answer(aten, {call.tensor("self", 0)}, {shape, call.dtype(0), strides});
}

bool unsqueeze(OnnxCall& call, std::string_view aten) {
  const auto axes = call.integers("axes", 1);
  if (!call.has(0) || !axes || axes->size() > 16) return false;
  const auto rank = call.shape(0).size() + axes->size();
  std::vector<bool> is_new(rank);
  for (const auto axis : *axes) {
    const auto at = axis_of(axis, rank);
    if (!at || is_new[*at]) return false;
    is_new[*at] = true;
  }
  const auto old = strides_of(call, 0);
  Shape shape, strides;
  for (std::size_t i = 0, from = 0; i < rank; ++i) {
    shape.push_back(is_new[i] ? 1 : call.shape(0)[from]);
    if (old.size() == call.shape(0).size()) strides.push_back(is_new[i] ? 1 : old[from]);
    if (!is_new[i]) ++from;
  }
  return call.answer(aten, {call.tensor("self", 0)}, {shape, call.dtype(0), strides});
}

bool transpose(OnnxCall& call, std::string_view aten) {
  if (!call.has(0)) return false;
  auto order = call.integers("perm");
  const auto rank = call.shape(0).size();
  if (order.empty())
    for (auto i = rank; i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  if (order.size() != rank) return false;
  const auto old = strides_of(call, 0);
  Shape shape, strides;
  for (const auto axis : order) {
    const auto at = axis_of(axis, rank);
    if (!at) return false;
    shape.push_back(call.shape(0)[*at]);
    if (old.size() == rank) strides.push_back(old[*at]);
  }
  return call.answer(aten, {call.tensor("self", 0), call.list("dims", order)},
                     {shape, call.dtype(0), strides});
}

bool expand(OnnxCall& call, std::string_view aten) {
  const auto* target = call.numbers(1);
  if (!call.has(0)) return false;
  std::optional<Shape> shape;
  if (target != nullptr && !target->is_real && target->size() <= 64)
    shape = broadcast(call.shape(0), target->integers);
  else
    shape = call.declared_shape(0, false);
  if (!shape || std::ranges::any_of(*shape, [](std::int64_t size) { return size < 0; })) return false;
  if (shape->size() < call.shape(0).size()) return false;
  const auto old = strides_of(call, 0);
  const auto lead = shape->size() - call.shape(0).size();
  Shape strides(shape->size());
  for (std::size_t i = 0; i < old.size(); ++i)
    if (call.shape(0)[i] == (*shape)[lead + i]) strides[lead + i] = old[i];
  return call.answer(aten, {call.tensor("self", 0), call.list("size", *shape)},
                     {*shape, call.dtype(0), strides});
}

bool slice(OnnxCall& call, std::string_view aten) {
  const auto starts = call.integers("starts", 1), ends = call.integers("ends", 2),
             axes = call.integers("axes", 3);
  if (!call.has(0) || !starts || !ends || starts->size() != ends->size()) {
    const auto shape = call.has(0) ? call.declared_shape(0, false) : std::nullopt;
    return shape && call.answer(aten, {call.tensor("self", 0)}, {*shape, call.dtype(0), strides_of(call, 0)});
  }
  if ((call.has(3) && !axes) || (axes && axes->size() != starts->size())) return false;
  const auto* steps = call.has(4) ? call.numbers(4) : nullptr;
  if ((call.has(4) && steps == nullptr) || (steps != nullptr && steps->size() != starts->size()))
    return false;
  Shape shape = call.shape(0), strides = strides_of(call, 0);
  bool turns = false;
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto at = axis_of(axes ? (*axes)[i] : static_cast<std::int64_t>(i), shape.size());
    const auto step = steps != nullptr ? steps->integer(i) : 1;
    if (!at || step == 0) return false;
    const __int128 size = shape[*at];
    const auto place = [&](std::int64_t index, __int128 low, __int128 high) {
      const __int128 from = index < 0 ? __int128{index} + size : __int128{index};
      return std::clamp(from, low, high);
    };
    const __int128 by = step < 0 ? -__int128{step} : __int128{step};
    const __int128 room = step > 0 ? place((*ends)[i], 0, size) - place((*starts)[i], 0, size)
                                   : place((*starts)[i], -1, size - 1) - place((*ends)[i], -1, size - 1);
    shape[*at] = room > 0 ? clamp_size((room + by - 1) / by) : 0;
    if (*at < strides.size()) strides[*at] = clamp_size(__int128{strides[*at]} * by);
    turns = turns || step < 0;
  }
  return call.answer(turns ? "aten::flip" : aten, {call.tensor("self", 0)}, {shape, call.dtype(0), strides});
}

bool split(OnnxCall& call, std::string_view aten) {
  if (!call.has(0)) return false;
  const auto axis = axis_of(call.integer("axis", 0), call.shape(0).size());
  if (!axis) return false;
  const auto count = call.node().outputs.size();
  auto sizes = call.integers("split", 1);
  if (call.has(1) && !sizes) return false;
  if (!sizes || sizes->empty()) {
    const auto parts = static_cast<std::int64_t>(count);
    const auto whole = call.shape(0)[*axis];
    const auto each = whole / parts + (whole % parts != 0 ? 1 : 0);
    sizes.emplace();
    for (std::int64_t i = 0, left = whole; i < parts; ++i, left -= sizes->back())
      sizes->push_back(std::min(each, left));
  }
  if (sizes->size() != count) return false;
  std::vector<OnnxOutput> outputs;
  for (const auto size : *sizes) {
    if (size < 0) return false;
    outputs.push_back({call.shape(0), call.dtype(0), strides_of(call, 0)});
    outputs.back().shape[*axis] = size;
  }
  const Argument arguments[] = {call.tensor("self", 0), call.list("split_sizes", *sizes),
                                call.number("dim", static_cast<std::int64_t>(*axis))};
  const auto made = call.op(aten, arguments, outputs);
  for (std::size_t i = 0; i < made.size(); ++i) call.result(i, made[i]);
  return true;
}

bool gather(OnnxCall& call, std::string_view) {
  if (!call.has(0) || !call.has(1)) return false;
  const auto axis = axis_of(call.integer("axis", 0), call.shape(0).size());
  if (!axis) return false;
  const auto& from = call.shape(0);
  Shape shape(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(*axis));
  shape.insert(shape.end(), call.shape(1).begin(), call.shape(1).end());
  shape.insert(shape.end(), from.begin() + static_cast<std::ptrdiff_t>(*axis) + 1, from.end());
  const OnnxOutput out{shape, call.dtype(0)};
  if (call.shape(1).empty()) {
    auto strides = strides_of(call, 0);
    if (*axis < strides.size()) strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(*axis));
    return call.answer("aten::select",
                       {call.tensor("self", 0), call.number("dim", static_cast<std::int64_t>(*axis))},
                       {shape, call.dtype(0), strides});
  }
  if (call.is_weight(0) && from.size() == 2 && *axis == 0)
    return call.answer("aten::embedding", {call.tensor("weight", 0), call.tensor("indices", 1)}, out);
  return call.answer(
      "aten::index_select",
      {call.tensor("self", 0), call.number("dim", static_cast<std::int64_t>(*axis)), call.tensor("index", 1)},
      out);
}

constexpr auto kViewsRules = std::to_array<OnnxRule>({
    {"Expand", expand, "aten::expand"},
    {"Flatten", flatten},
    {"Gather", gather},
    {"Reshape", reshape},
    {"Slice", slice, "aten::slice"},
    {"Split", split, "aten::split_with_sizes"},
    {"Squeeze", squeeze, "aten::squeeze"},
    {"Transpose", transpose, "aten::permute"},
    {"Unsqueeze", unsqueeze, "aten::unsqueeze"},
});
static_assert(std::ranges::is_sorted(kViewsRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_view_rules() { return kViewsRules; }

}  // namespace opscope
