// ONNX ops that move, choose and make data: reshapes, gathers, pads, sorts, detection's last steps.
#include <algorithm>
#include <array>

#include "readers/aliasing.h"
#include "readers/onnx_call.h"

namespace opscope {
namespace {

const Value& value_of(const OnnxCall& call, std::size_t i) { return call.state().out.graph.values[call.value(i)]; }

Shape strides_of(const OnnxCall& call, std::size_t i) {
  const auto strides = call.state().out.graph.strides(value_of(call, i));
  return {strides.begin(), strides.end()};
}

// --- Views

bool reshape_to(OnnxCall& call, const Shape& shape) {
  const auto& graph = call.state().out.graph;
  const auto& value = value_of(call, 0);
  const Layout in{graph.shape(value), graph.strides(value), value.dtype, value.device};
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
  if (open < shape.size()) shape[open] = clamp_size(static_cast<__int128>((numel(call.shape(0)) / known).value()));
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
  return call.answer(aten, {call.tensor("self", 0), call.list("dims", order)}, {shape, call.dtype(0), strides});
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
  return call.answer(aten, {call.tensor("self", 0), call.list("size", *shape)}, {*shape, call.dtype(0), strides});
}

bool slice(OnnxCall& call, std::string_view aten) {
  const auto starts = call.integers("starts", 1), ends = call.integers("ends", 2), axes = call.integers("axes", 3);
  if (!call.has(0) || !starts || !ends || starts->size() != ends->size()) {
    const auto shape = call.has(0) ? call.declared_shape(0, false) : std::nullopt;
    return shape && call.answer(aten, {call.tensor("self", 0)}, {*shape, call.dtype(0), strides_of(call, 0)});
  }
  if ((call.has(3) && !axes) || (axes && axes->size() != starts->size())) return false;
  const auto* steps = call.has(4) ? call.numbers(4) : nullptr;
  if ((call.has(4) && steps == nullptr) || (steps != nullptr && steps->size() != starts->size())) return false;
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

// --- Copies

bool concat(OnnxCall& call, std::string_view aten) {
  if (!call.has(0)) return false;
  const auto axis = axis_of(call.integer("axis", 1), call.shape(0).size());
  if (!axis) return false;
  Shape shape = call.shape(0);
  std::vector<ValueId> ids;
  __int128 total = 0;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    if (!call.has(i) || call.shape(i).size() != shape.size()) return false;
    total += call.shape(i)[*axis];
  }
  for (std::size_t i = 0; i < call.input_count(); ++i) ids.push_back(call.value(i));
  shape[*axis] = clamp_size(total);
  return call.answer(aten, {call.tensors("tensors", ids), call.number("dim", static_cast<std::int64_t>(*axis))},
                     {shape, call.dtype(0)});
}

bool tile(OnnxCall& call, std::string_view aten) {
  const auto* repeats = call.numbers(1);
  if (!call.has(0) || repeats == nullptr || repeats->size() != call.shape(0).size()) return false;
  Shape shape = call.shape(0);
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = clamp_size(__int128{shape[i]} * repeats->integer(i));
  return call.answer(aten, {call.tensor("self", 0)}, {shape, call.dtype(0)});
}

bool pad(OnnxCall& call, std::string_view aten) {
  const auto pads = call.integers("pads", 1);
  if (!call.has(0)) return false;
  const auto rank = call.shape(0).size();
  std::vector<std::size_t> axes;
  if (const auto named = call.integers("axes", 3)) {
    for (const auto axis : *named) {
      const auto at = axis_of(axis, rank);
      if (!at) return false;
      axes.push_back(*at);
    }
  } else {
    for (std::size_t i = 0; i < rank; ++i) axes.push_back(i);
  }
  std::optional<Shape> shape = call.declared_shape(0, false);
  if (pads && pads->size() == 2 * axes.size()) {
    shape = call.shape(0);
    for (std::size_t i = 0; i < axes.size(); ++i)
      (*shape)[axes[i]] = clamp_size(__int128{(*shape)[axes[i]]} + (*pads)[i] + (*pads)[axes.size() + i]);
  }
  return shape && call.answer(aten, {call.tensor("self", 0), call.word("mode", call.text("mode", "constant"))},
                              {*shape, call.dtype(0)});
}

bool shuffle(OnnxCall& call, std::string_view aten) {
  if (!call.has(0) || call.rank(0) != 4) return false;
  const auto block = call.integer("blocksize", 0);
  if (block < 1 || block > (std::int64_t{1} << 20)) return false;
  Shape shape = call.shape(0);
  const bool spreads = call.node().op_type == "DepthToSpace";
  shape[1] = spreads ? shape[1] / (block * block) : clamp_size(__int128{shape[1]} * block * block);
  for (const std::size_t i : {std::size_t{2}, std::size_t{3}})
    shape[i] = spreads ? clamp_size(__int128{shape[i]} * block) : shape[i] / block;
  return call.answer(aten, {call.tensor("self", 0)}, {shape, call.dtype(0)});
}

bool triangle(OnnxCall& call, std::string_view) {
  return call.has(0) && call.answer(call.integer("upper", 1) != 0 ? "aten::triu" : "aten::tril",
                                    {call.tensor("self", 0)}, {call.shape(0), call.dtype(0)});
}

bool same_shape(OnnxCall& call, std::string_view aten) {
  return call.has(0) && call.answer(aten, {call.tensor("self", 0)}, {call.shape(0), call.dtype(0)});
}

// --- Choosing

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
  return call.answer("aten::index_select",
                     {call.tensor("self", 0), call.number("dim", static_cast<std::int64_t>(*axis)),
                      call.tensor("index", 1)},
                     out);
}

bool gather_elements(OnnxCall& call, std::string_view aten) {
  return call.has(0) && call.has(1) &&
         call.answer(aten, {call.tensor("self", 0), call.number("dim", call.integer("axis", 0)), call.tensor("index", 1)},
                     {call.shape(1), call.dtype(0)});
}

bool gather_nd(OnnxCall& call, std::string_view aten) {
  if (!call.has(0) || !call.has(1) || call.shape(1).empty()) return false;
  const auto batch = call.integer("batch_dims", 0), depth = call.dim(1, -1);
  if (batch < 0 || depth < 1 || batch > call.rank(0) || depth > call.rank(0) - batch) return false;
  Shape shape(call.shape(1).begin(), call.shape(1).end() - 1);
  shape.insert(shape.end(), call.shape(0).begin() + batch + depth, call.shape(0).end());
  const ValueId indices[] = {call.value(1)};
  return call.answer(aten, {call.tensor("self", 0), call.tensors("indices", indices)}, {shape, call.dtype(0)});
}

bool scatter_nd(OnnxCall& call, std::string_view aten) {
  if (!call.has(0) || !call.has(1) || !call.has(2)) return false;
  const ValueId indices[] = {call.value(1)};
  return call.answer(aten, {call.tensor("self", 0), call.tensors("indices", indices), call.tensor("values", 2)},
                     {call.shape(0), call.dtype(0)});
}

bool scatter(OnnxCall& call, std::string_view aten) {
  return call.has(0) && call.has(1) && call.has(2) &&
         call.answer(aten,
                     {call.tensor("self", 0), call.number("dim", call.integer("axis", 0)), call.tensor("index", 1),
                      call.tensor("src", 2)},
                     {call.shape(0), call.dtype(0)});
}

bool top_k(OnnxCall& call, std::string_view aten) {
  const auto* k = call.numbers(1);
  if (!call.has(0)) return false;
  const auto axis = axis_of(call.integer("axis", -1), call.shape(0).size());
  if (!axis) return false;
  Shape shape = call.shape(0);
  if (k != nullptr && k->size() == 1)
    shape[*axis] = std::max<std::int64_t>(k->integer(0), 0);
  else if (const auto* attribute = call.attribute("k"))
    shape[*axis] = std::max<std::int64_t>(attribute->integer, 0);
  else
    shape[*axis] = call.asked_size(0, *axis);
  const OnnxOutput outputs[] = {{shape, call.dtype(0)}, {shape, DType::kInt64}};
  const Argument arguments[] = {call.tensor("self", 0), call.number("k", shape[*axis]),
                                call.number("dim", static_cast<std::int64_t>(*axis))};
  const auto made = call.op(aten, arguments, outputs);
  call.result(0, made[0]);
  call.result(1, made[1]);
  return true;
}

// --- Sizes that depend on data

bool non_zero(OnnxCall& call, std::string_view aten) {
  return call.has(0) && call.answer(aten, {call.tensor("self", 0)}, {{call.rank(0), call.asked_size(0, 1)}, DType::kInt64});
}

bool compress(OnnxCall& call, std::string_view aten) {
  if (!call.has(0) || !call.has(1)) return false;
  const auto* named = call.attribute("axis");
  Shape shape{0};
  std::size_t at = 0;
  if (named != nullptr) {
    const auto axis = axis_of(named->integer, call.shape(0).size());
    if (!axis) return false;
    shape = call.shape(0);
    at = *axis;
  }
  shape[at] = call.asked_size(0, at);
  return call.answer(aten, {call.tensor("self", 0), call.tensor("mask", 1)}, {shape, call.dtype(0)});
}

// Boxes [batch, n, 4] and scores [batch, classes, n] -> [chosen, 3].
bool non_max_suppression(OnnxCall& call, std::string_view aten) {
  if (!call.has(0) || !call.has(1)) return false;
  return call.answer(aten, {call.tensor("dets", 0), call.tensor("scores", 1)},
                     {{call.asked_size(0, 0), 3}, DType::kInt64});
}

bool roi_align(OnnxCall& call, std::string_view aten) {
  if (!call.has(0) || !call.has(1) || call.rank(0) != 4 || call.rank(1) != 2) return false;
  const auto height = call.integer("output_height", 1), width = call.integer("output_width", 1);
  if (height < 0 || width < 0) return false;
  return call.answer(aten,
                     {call.tensor("input", 0), call.tensor("rois", 1), call.number("pooled_height", height),
                      call.number("pooled_width", width),
                      call.number("sampling_ratio", call.integer("sampling_ratio", 0))},
                     {{call.dim(1, 0), call.dim(0, 1), height, width}, call.dtype(0)});
}

// --- Making

bool constant_of_shape(OnnxCall& call, std::string_view aten) {
  const auto* size = call.numbers(0);
  if (size == nullptr || size->is_real || size->size() > 64) return false;
  for (const auto item : size->integers)
    if (item < 0) return false;
  const auto* value = call.attribute("value");
  const auto dtype = value != nullptr && !value->tensor.empty()
                         ? parse_onnx_tensor(value->tensor, call.state().where).dtype
                         : DType::kFloat32;
  return call.answer(aten, {call.list("size", size->integers)}, {size->integers, dtype});
}

bool range(OnnxCall& call, std::string_view aten) {
  std::optional<Shape> shape = call.declared_shape(0, false);
  const auto *from = call.numbers(0), *to = call.numbers(1), *step = call.numbers(2);
  const bool known = from != nullptr && to != nullptr && step != nullptr && from->size() == 1 && to->size() == 1 &&
                     step->size() == 1 && step->real(0) != 0;
  if (known) {
    const double count = (to->real(0) - from->real(0)) / step->real(0);
    const auto whole = count > 0 && count < 9e18 ? static_cast<std::int64_t>(count) : 0;
    shape = Shape{whole + (static_cast<double>(whole) < count ? 1 : 0)};
  }
  return shape && call.answer(aten, {}, {*shape, call.dtype(0)});
}

bool one_hot(OnnxCall& call, std::string_view aten) {
  const auto* depth = call.numbers(1);
  if (!call.has(0) || !call.has(2) || depth == nullptr || depth->size() != 1 || depth->integer(0) < 0) return false;
  Shape shape = call.shape(0);
  const auto axis = axis_of(call.integer("axis", -1), shape.size() + 1);
  if (!axis) return false;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), depth->integer(0));
  return call.answer(aten, {call.tensor("self", 0), call.number("num_classes", depth->integer(0))},
                     {shape, call.dtype(2)});
}

bool random(OnnxCall& call, std::string_view aten) {
  auto shape = call.integers("shape");
  if (shape.size() > 64 || std::ranges::any_of(shape, [](std::int64_t size) { return size < 0; })) return false;
  return call.answer(aten, {call.list("size", shape)}, {shape, onnx_dtype(call.integer("dtype", 1))});
}

constexpr auto kRules = std::to_array<OnnxRule>({
    {"Compress", compress, "aten::masked_select"},
    {"Concat", concat, "aten::cat"},
    {"ConstantOfShape", constant_of_shape, "aten::full"},
    {"DepthToSpace", shuffle, "aten::pixel_shuffle"},
    {"Expand", expand, "aten::expand"},
    {"EyeLike", same_shape, "aten::eye"},
    {"Flatten", flatten},
    {"Gather", gather},
    {"GatherElements", gather_elements, "aten::gather"},
    {"GatherND", gather_nd, "aten::index"},
    {"NonMaxSuppression", non_max_suppression, "torchvision::nms"},
    {"NonZero", non_zero, "aten::nonzero"},
    {"OneHot", one_hot, "aten::one_hot"},
    {"Pad", pad, "aten::pad"},
    {"RandomNormal", random, "aten::randn"},
    {"RandomUniform", random, "aten::rand"},
    {"Range", range, "aten::arange"},
    {"Reshape", reshape},
    {"ReverseSequence", same_shape, "aten::flip"},
    {"RoiAlign", roi_align, "torchvision::roi_align"},
    {"Scatter", scatter, "aten::scatter"},
    {"ScatterElements", scatter, "aten::scatter"},
    {"ScatterND", scatter_nd, "aten::index_put"},
    {"Slice", slice, "aten::slice"},
    {"SpaceToDepth", shuffle, "aten::pixel_unshuffle"},
    {"Split", split, "aten::split_with_sizes"},
    {"Squeeze", squeeze, "aten::squeeze"},
    {"Tile", tile, "aten::repeat"},
    {"TopK", top_k, "aten::topk"},
    {"Transpose", transpose, "aten::permute"},
    {"Trilu", triangle},
    {"Unsqueeze", unsqueeze, "aten::unsqueeze"},
});
static_assert(std::ranges::is_sorted(kRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_shape_rules() { return kRules; }

}  // namespace opscope
