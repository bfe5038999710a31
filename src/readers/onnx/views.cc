// ONNX ops that look at the same memory in another way, as far as ATen has them as views; with their strides,
// which decide whether a later reshape copies.
#include <algorithm>
#include <array>
#include <cstdlib>

#include "readers/onnx/call.h"

namespace opscope {

std::optional<OnnxView> squeezed(const OnnxCall& call, const Shape& strides) {
  const auto axes = call.integers("axes", 1);
  if (call.has(1) && !axes) return std::nullopt;
  const auto& from = call.shape(0);
  OnnxView view;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto is_i = [&](std::int64_t axis) { return axis_of(axis, from.size()) == i; };
    if (axes ? std::ranges::any_of(*axes, is_i) : from[i] == 1) continue;
    view.shape.push_back(from[i]);
    view.strides.push_back(strides[i]);
  }
  return view;
}

std::optional<OnnxView> unsqueezed(const OnnxCall& call, const Shape& strides) {
  const auto axes = call.integers("axes", 1);
  if (!axes || axes->size() > 16) return std::nullopt;
  const auto rank = call.shape(0).size() + axes->size();
  std::vector<bool> is_new(rank);
  for (const auto axis : *axes) {
    const auto at = axis_of(axis, rank);
    if (!at || is_new[*at]) return std::nullopt;
    is_new[*at] = true;
  }
  OnnxView view;
  for (std::size_t i = 0, from = 0; i < rank; ++i) {
    view.shape.push_back(is_new[i] ? 1 : call.shape(0)[from]);
    view.strides.push_back(is_new[i] ? 1 : strides[from]);
    if (!is_new[i]) ++from;
  }
  return view;
}

std::optional<OnnxView> transposed(const OnnxCall& call, const Shape& strides) {
  auto order = call.integers("perm");
  const auto rank = call.shape(0).size();
  if (order.empty())
    for (auto i = rank; i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  if (order.size() != rank) return std::nullopt;
  const auto axes = axes_of(order, rank);
  if (!axes) return std::nullopt;
  OnnxView view;
  for (const auto at : *axes) {
    view.shape.push_back(call.shape(0)[at]);
    view.strides.push_back(strides[at]);
  }
  return view;
}

std::optional<OnnxView> expanded(const OnnxCall& call, const Shape& strides) {
  const auto* target = call.numbers(1);
  const auto& from = call.shape(0);
  const bool is_known = target != nullptr && !target->is_real && target->size() <= 64;
  const auto shape = is_known ? broadcast(from, target->integers) : call.declared_shape(0, false);
  if (!shape || has_negative(*shape) || shape->size() < from.size()) return std::nullopt;
  OnnxView view{.shape = *shape, .strides = Shape(shape->size())};
  const auto lead = shape->size() - from.size();
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i] == (*shape)[lead + i]) view.strides[lead + i] = strides[i];
  return view;
}

std::optional<OnnxView> sliced(const OnnxCall& call, const Shape& strides) {
  const auto starts = call.integers("starts", 1), ends = call.integers("ends", 2),
             axes = call.integers("axes", 3);
  const auto* steps = call.has(4) ? call.numbers(4) : nullptr;
  if (!starts || !ends || starts->size() != ends->size()) return std::nullopt;
  if ((call.has(3) && !axes) || (axes && axes->size() != starts->size())) return std::nullopt;
  if (call.has(4) && (steps == nullptr || steps->size() != starts->size())) return std::nullopt;
  OnnxView view{.shape = call.shape(0), .strides = strides};
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto at = axis_of(axes ? (*axes)[i] : static_cast<std::int64_t>(i), view.shape.size());
    const __int128 step = steps != nullptr ? steps->integer(i) : 1;
    if (!at || step == 0) return std::nullopt;
    const __int128 size = view.shape[*at], by = step < 0 ? -step : step;
    const auto place = [&](std::int64_t index) {
      const __int128 from = index < 0 ? index + size : __int128{index};
      return step > 0 ? std::clamp<__int128>(from, 0, size) : std::clamp<__int128>(from, -1, size - 1);
    };
    const __int128 first = place((*starts)[i]), last = place((*ends)[i]);
    const __int128 room = step > 0 ? last - first : first - last;
    view.shape[*at] = room > 0 ? clamp_size((room + by - 1) / by) : 0;
    view.first = clamp_size(view.first + first * view.strides[*at]);
    view.strides[*at] = clamp_size(view.strides[*at] * by) * (step < 0 ? -1 : 1);
    view.turned = view.turned || step < 0;
  }
  return view;
}

std::optional<Shape> reshaped(const OnnxCall& call) {
  auto shape = call.integers("shape", 1);
  if (!shape || shape->size() > 64) return std::nullopt;
  const bool keeps_zero = call.integer("allowzero", 0) != 0;
  std::int64_t* open = nullptr;
  Count known = 1;
  for (std::size_t i = 0; i < shape->size(); ++i) {
    auto& size = (*shape)[i];
    if (size == 0 && !keeps_zero) size = i < call.shape(0).size() ? call.shape(0)[i] : 1;
    if (size < -1 || (size == -1 && open != nullptr)) return std::nullopt;
    size == -1 ? void(open = &size) : void(known *= Count{size});
  }
  if (open != nullptr) *open = clamp_size(static_cast<__int128>((numel(call.shape(0)) / known).value()));
  return shape;
}

namespace {

Shape strides_of(const OnnxCall& call, std::size_t i) {
  const auto& graph = call.state().out.graph;
  const auto strides = graph.strides(graph.values[call.value(i)]);
  return {strides.begin(), strides.end()};
}

bool reshape_to(OnnxCall& call, const Shape& shape) {
  auto strides = call.state().out.view_strides(call.value(0), shape);
  return call.answer("aten::reshape", {call.tensor("self", 0), call.list("shape", shape)},
                     {shape, call.dtype(0), std::move(strides)});
}

bool reshape(OnnxCall& call, std::string_view) {
  const auto shape = call.integers("shape", 1) ? reshaped(call) : call.declared_shape(0, false);
  return shape && reshape_to(call, *shape);
}

bool flatten(OnnxCall& call, std::string_view) {
  auto axis = call.integer("axis", 1);
  if (axis < 0) axis += call.rank(0);
  if (axis < 0 || axis > call.rank(0)) return false;
  const auto at = static_cast<std::size_t>(axis);
  const auto all = std::span(call.shape(0));
  const auto size = [](std::span<const std::int64_t> part) {
    return clamp_size(static_cast<__int128>(numel(part).value()));
  };
  return reshape_to(call, {size(all.first(at)), size(all.subspan(at))});
}

template <auto see>
bool view(OnnxCall& call, std::string_view aten) {
  const auto seen = see(call, strides_of(call, 0));
  if (!seen) {  // which axes is not known: as far as the file says what comes out
    const auto shape = call.declared_shape(0, false);
    return shape && numel(*shape) == numel(call.shape(0)) && reshape_to(call, *shape);
  }
  return call.answer(aten, {call.tensor("self", 0)}, {seen->shape, call.dtype(0), seen->strides});
}

bool transpose(OnnxCall& call, std::string_view aten) {
  const auto seen = transposed(call, strides_of(call, 0));
  if (!seen) return false;
  auto order = call.integers("perm");
  for (auto i = order.empty() ? call.rank(0) : 0; i-- > 0;) order.push_back(i);
  return call.answer(aten, {call.tensor("self", 0), call.list("dims", order)},
                     {seen->shape, call.dtype(0), seen->strides});
}

bool expand(OnnxCall& call, std::string_view aten) {
  const auto seen = expanded(call, strides_of(call, 0));
  return seen && call.answer(aten, {call.tensor("self", 0), call.list("size", seen->shape)},
                             {seen->shape, call.dtype(0), seen->strides});
}

bool slice(OnnxCall& call, std::string_view aten) {
  const auto starts = call.integers("starts", 1), ends = call.integers("ends", 2);
  if (!starts || !ends || starts->size() != ends->size()) {
    const auto shape = call.declared_shape(0, false);
    return shape && call.answer(aten, {call.tensor("self", 0)}, {*shape, call.dtype(0), strides_of(call, 0)});
  }
  auto seen = sliced(call, strides_of(call, 0));
  if (!seen) return false;
  for (auto& stride : seen->strides) stride = std::abs(stride);
  return call.answer(seen->turned ? "aten::flip" : aten, {call.tensor("self", 0)},
                     {seen->shape, call.dtype(0), seen->strides});
}

// Arithmetic on shapes, as in fold.cc.
bool split_numbers(OnnxCall& call, const Numbers& all, const Shape& sizes) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    Numbers part{.is_real = all.is_real};
    for (std::int64_t k = 0; k < sizes[i] && next < all.size(); ++k) part.add(all, next++);
    if (Count{part.size()} != Count{sizes[i]}) return false;
    call.give(i, call.state().add({.shape = Shape{sizes[i]}, .dtype = call.dtype(0), .numbers = part}));
  }
  return true;
}

bool split(OnnxCall& call, std::string_view aten) {
  const auto axis = call.axis(0);
  auto sizes = call.integers("split", 1);
  if (!axis) return false;
  const auto count = call.node().outputs.size();
  if (call.has(1) && !sizes) {  // as the file declares the parts
    sizes.emplace();
    for (std::size_t i = 0; i < count; ++i) {
      const auto shape = call.declared_shape(i, false);
      if (!shape || shape->size() != call.shape(0).size()) return false;
      sizes->push_back((*shape)[*axis]);
    }
  }
  if (!sizes || sizes->empty()) {
    const auto parts = static_cast<std::int64_t>(count);
    const auto whole = call.shape(0)[*axis];
    const auto each = whole / parts + (whole % parts != 0 ? 1 : 0);
    sizes.emplace();
    for (std::int64_t i = 0, left = whole; i < parts; ++i, left -= sizes->back())
      sizes->push_back(std::min(each, left));
  }
  if (sizes->size() != count || has_negative(*sizes)) return false;
  if (const auto* all = call.numbers(0); all != nullptr && call.shape(0).size() == 1)
    return split_numbers(call, *all, *sizes);
  std::vector<OnnxOutput> outputs(count, {call.shape(0), call.dtype(0), strides_of(call, 0)});
  for (std::size_t i = 0; i < count; ++i) outputs[i].shape[*axis] = (*sizes)[i];
  return call.answer_all(
      aten, {call.tensor("self", 0), call.list("split_sizes", *sizes), call.number("dim", *axis)}, outputs);
}

bool gather(OnnxCall& call, std::string_view) {
  const auto axis = call.axis(0);
  if (!axis) return false;
  const auto& from = call.shape(0);
  const auto cut = from.begin() + static_cast<std::ptrdiff_t>(*axis);
  Shape shape(from.begin(), cut);
  shape.insert(shape.end(), call.shape(1).begin(), call.shape(1).end());
  shape.insert(shape.end(), cut + 1, from.end());
  const OnnxOutput out{shape};
  if (call.shape(1).empty()) {
    auto strides = strides_of(call, 0);
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(*axis));
    return call.answer("aten::select", {call.tensor("self", 0), call.number("dim", *axis)},
                       {shape, call.dtype(0), strides});
  }
  if (call.is_weight(0) && from.size() == 2 && *axis == 0)
    return call.answer("aten::embedding", {call.tensor("weight", 0), call.tensor("indices", 1)}, out);
  return call.answer("aten::index_select",
                     {call.tensor("self", 0), call.number("dim", *axis), call.tensor("index", 1)}, out);
}

constexpr auto kViewsRules = std::to_array<OnnxRule>({
    {"Expand", expand, "aten::expand"},
    {"Flatten", flatten},
    {"Gather", gather, {}, 2},
    {"Reshape", reshape},
    {"Slice", slice, "aten::slice"},
    {"Split", split, "aten::split_with_sizes"},
    {"Squeeze", view<squeezed>, "aten::squeeze"},
    {"Transpose", transpose, "aten::permute"},
    {"Unsqueeze", view<unsqueezed>, "aten::unsqueeze"},
});
static_assert(std::ranges::is_sorted(kViewsRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_view_rules() { return kViewsRules; }

}  // namespace opscope
