// ONNX ops that copy, choose, sort and make data, and detection's last steps.
#include <algorithm>
#include <array>

#include "readers/onnx/call.h"

namespace opscope {
namespace {

std::int64_t all_of(const Shape& shape) { return as_signed(numel(shape)); }

bool concat(OnnxCall& call, std::string_view aten) {
  const auto axis = call.axis(1);
  if (!axis) return false;
  Shape shape = call.shape(0);
  __int128 total = 0;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    if (!call.has(i) || call.shape(i).size() != shape.size()) return false;
    total += call.shape(i)[*axis];
  }
  shape[*axis] = clamp_size(total);
  return call.answer(aten, {call.tensors("tensors", call.values()), call.number("dim", *axis)}, {shape});
}

bool tile(OnnxCall& call, std::string_view aten) {
  const auto* repeats = call.numbers(1);
  std::optional<Shape> shape;
  if (repeats != nullptr && repeats->size() == call.shape(0).size()) {
    shape = call.shape(0);
    for (std::size_t i = 0; i < shape->size(); ++i)
      (*shape)[i] = clamp_size(__int128{(*shape)[i]} * repeats->integer(i));
  }
  shape = call.or_declared(shape);
  return shape && call.answer(aten, {call.tensor("self", 0)}, {*shape});
}

bool pad(OnnxCall& call, std::string_view aten) {
  const auto pads = call.integers("pads", 1);
  const auto rank = call.shape(0).size();
  const auto named = call.integers("axes", 3);
  const auto axes = named ? axes_of(*named, rank) : all_axes(rank);
  if (!axes) return false;
  std::optional<Shape> shape = call.declared_shape(0, false);
  if (pads && pads->size() == 2 * axes->size()) {
    shape = call.shape(0);
    for (std::size_t i = 0; i < axes->size(); ++i) {
      auto& size = (*shape)[(*axes)[i]];
      size = clamp_size(__int128{size} + (*pads)[i] + (*pads)[axes->size() + i]);
    }
  }
  return shape &&
         call.answer(aten, {call.tensor("self", 0), call.word("mode", call.text("mode", "constant"))},
                     {*shape});
}

// Cut off or filled up at both ends.
bool crop_or_pad(OnnxCall& call, std::string_view aten) {
  const auto rank = call.shape(0).size();
  const auto named = call.integers("axes");
  const auto axes = named.empty() ? all_axes(rank) : axes_of(named, rank);
  const auto* sizes = call.numbers(1);
  std::optional<Shape> shape;
  if (axes && sizes != nullptr && sizes->size() == axes->size()) {
    shape = call.shape(0);
    for (std::size_t i = 0; i < axes->size(); ++i)
      (*shape)[(*axes)[i]] = std::max<std::int64_t>(sizes->integer(i), 0);
  }
  shape = call.or_declared(shape);
  if (!shape || shape->size() != rank) return false;
  Shape kept = *shape;  // of the input
  for (std::size_t i = 0; i < rank; ++i) kept[i] = std::min(kept[i], call.shape(0)[i]);
  const auto part = call.op("aten::slice", {call.tensor("self", 0)},
                            {kept, call.dtype(0), contiguous_strides(call.shape(0))});
  return call.answer(aten, {call.tensor_of("self", part), call.word("mode", "constant")}, {*shape});
}

// Windows of values, added up where they overlap: [N, C * window, windows] -> [N, C, ..].
bool windows_to_image(OnnxCall& call, std::string_view aten) {
  const auto *image = call.numbers(1), *block = call.numbers(2);
  std::optional<Shape> shape;
  if (image != nullptr && block != nullptr && call.rank(0) == 3) {
    Count window = 1;
    for (std::size_t i = 0; i < block->size(); ++i) window *= Count{block->integer(i)};
    shape = Shape{call.dim(0, 0), as_signed(Count{call.dim(0, 1)} / window)};
    for (std::size_t i = 0; i < image->size(); ++i)
      shape->push_back(std::max<std::int64_t>(image->integer(i), 0));
  }
  shape = call.or_declared(shape);
  return shape && call.answer(aten, {call.tensor("self", 0)}, {*shape});
}

bool shuffle(OnnxCall& call, std::string_view aten) {
  if (call.rank(0) != 4) return false;
  const auto block = call.integer("blocksize", 0);
  if (block < 1 || block > (std::int64_t{1} << 20)) return false;
  Shape shape = call.shape(0);
  const bool spreads = call.node().op_type == "DepthToSpace";
  shape[1] = spreads ? shape[1] / (block * block) : clamp_size(__int128{shape[1]} * block * block);
  for (const std::size_t i : {2, 3})
    shape[i] = spreads ? clamp_size(__int128{shape[i]} * block) : shape[i] / block;
  return call.answer(aten, {call.tensor("self", 0)}, {shape});
}

bool triangle(OnnxCall& call, std::string_view) {
  return call.answer(call.integer("upper", 1) != 0 ? "aten::triu" : "aten::tril", {call.tensor("self", 0)});
}

// --- Choosing

bool gather_elements(OnnxCall& call, std::string_view aten) {
  return call.answer(
      aten, {call.tensor("self", 0), call.number("dim", call.integer("axis", 0)), call.tensor("index", 1)},
      {call.shape(1)});
}

bool gather_nd(OnnxCall& call, std::string_view aten) {
  if (call.shape(1).empty()) return false;
  const auto batch = call.integer("batch_dims", 0), depth = call.dim(1, -1);
  if (batch < 0 || depth < 1 || batch > call.rank(0) || depth > call.rank(0) - batch) return false;
  Shape shape(call.shape(1).begin(), call.shape(1).end() - 1);
  shape.insert(shape.end(), call.shape(0).begin() + batch + depth, call.shape(0).end());
  const ValueId indices[] = {call.value(1)};
  return call.answer(aten, {call.tensor("self", 0), call.tensors("indices", indices)}, {shape});
}

bool scatter_nd(OnnxCall& call, std::string_view aten) {
  const ValueId indices[] = {call.value(1)};
  return call.answer(aten,
                     {call.tensor("self", 0), call.tensors("indices", indices), call.tensor("values", 2),
                      call.flag("accumulate", call.text("reduction", "none") != "none")});
}

bool scatter(OnnxCall& call, std::string_view aten) {
  const auto reduction = call.text("reduction", "none");
  const auto dim = call.number("dim", call.integer("axis", 0));
  const auto self = call.tensor("self", 0), index = call.tensor("index", 1), src = call.tensor("src", 2);
  if (reduction == "none") return call.answer(aten, {self, dim, index, src});
  return call.answer("aten::scatter_reduce", {self, dim, index, src, call.word("reduce", reduction)});
}

// A cache with a part of it replaced.
bool scatter_part(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("self", 0), call.tensor("src", 1)});
}

// Values, where each was first, which one each element is, and how often each comes.
bool unique(OnnxCall& call, std::string_view) {
  const bool is_flat = call.attribute("axis") == nullptr;
  const auto axis = is_flat ? std::size_t{0} : call.axis(0);
  if (!axis) return false;
  Shape shape = is_flat ? Shape{0} : call.shape(0);
  const auto all = is_flat ? all_of(call.shape(0)) : shape[*axis];
  const auto count = shape[*axis] = call.size_from_data(0, *axis, all);
  std::vector<OnnxOutput> outputs{{shape, call.dtype(0)}};
  const std::int64_t sizes[] = {count, all, count};
  for (std::size_t i = 1; i < call.node().outputs.size() && i <= 3; ++i)
    outputs.push_back({{sizes[i - 1]}, DType::kInt64});
  return call.answer_all(is_flat ? "aten::_unique2" : "aten::unique_dim",
                         {call.tensor("self", 0), call.number("dim", *axis)}, outputs);
}

bool top_k(OnnxCall& call, std::string_view aten) {
  const auto* k = call.single_number(1);
  const auto axis = call.axis(-1);
  if (!axis) return false;
  Shape shape = call.shape(0);
  if (k != nullptr)
    shape[*axis] = std::max<std::int64_t>(k->integer(0), 0);
  else if (const auto* attribute = call.attribute("k"))
    shape[*axis] = std::max<std::int64_t>(attribute->integer.value_or(0), 0);
  else
    shape[*axis] = call.size_from_data(0, *axis, shape[*axis]);
  const OnnxOutput outputs[] = {{shape}, {shape, DType::kInt64}};
  return call.answer_all(
      aten, {call.tensor("self", 0), call.number("k", shape[*axis]), call.number("dim", *axis)}, outputs);
}

// --- Sizes that depend on data

bool non_zero(OnnxCall& call, std::string_view aten) {
  const auto count = call.size_from_data(0, 1, all_of(call.shape(0)));
  return call.answer(aten, {call.tensor("self", 0)}, {{call.rank(0), count}, DType::kInt64});
}

bool compress(OnnxCall& call, std::string_view aten) {
  const bool is_flat = call.attribute("axis") == nullptr;
  const auto axis = is_flat ? std::size_t{0} : call.axis(0);
  if (!axis) return false;
  Shape shape = is_flat ? Shape{0} : call.shape(0);
  if (const auto* chosen = call.numbers(1); chosen != nullptr && !chosen->is_real)
    shape[*axis] = static_cast<std::int64_t>(chosen->size()) - std::ranges::count(chosen->integers, 0);
  else
    shape[*axis] = call.size_from_data(0, *axis, is_flat ? all_of(call.shape(0)) : shape[*axis]);
  return call.answer(aten, {call.tensor("self", 0), call.tensor("mask", 1)}, {shape});
}

// Boxes [batch, n, 4] and scores [batch, classes, n] -> [chosen, 3].
bool non_max_suppression(OnnxCall& call, std::string_view aten) {
  if (call.rank(0) != 3 || call.rank(1) != 3) return false;
  auto each = call.dim(0, 1);
  if (const auto* most = call.single_number(2)) each = std::clamp<std::int64_t>(most->integer(0), 0, each);
  const auto all = clamp_size(__int128{call.dim(1, 0)} * call.dim(1, 1));
  const auto count = call.size_from_data(0, 0, clamp_size(__int128{all} * each));
  return call.answer(aten, {call.tensor("boxes", 0), call.tensor("scores", 1)}, {{count, 3}, DType::kInt64});
}

bool roi_align(OnnxCall& call, std::string_view aten) {
  if (call.rank(0) != 4 || call.rank(1) != 2) return false;
  const auto height = call.integer("output_height", 1), width = call.integer("output_width", 1);
  if (height < 0 || width < 0) return false;
  return call.answer(
      aten,
      {call.tensor("input", 0), call.tensor("rois", 1), call.number("pooled_height", height),
       call.number("pooled_width", width), call.number("sampling_ratio", call.integer("sampling_ratio", 0))},
      {{call.dim(1, 0), call.dim(0, 1), height, width}});
}

// --- Making

bool constant_of_shape(OnnxCall& call, std::string_view aten) {
  const auto* size = call.numbers(0);
  const bool is_known =
      size != nullptr && !size->is_real && size->size() <= 64 && !has_negative(size->integers);
  const auto shape = call.or_declared(is_known ? std::optional(size->integers) : std::nullopt);
  if (!shape) return false;
  const auto* value = call.attribute("value");
  const auto dtype = value != nullptr && !value->tensor.empty()
                         ? parse_onnx_tensor(value->tensor, call.state().where).dtype
                         : DType::kFloat32;
  return call.answer(aten, {call.list("size", *shape)}, {*shape, dtype});
}

bool range(OnnxCall& call, std::string_view aten) {
  std::optional<Shape> shape = call.declared_shape(0, false);
  const auto *from = call.single_number(0), *to = call.single_number(1), *step = call.single_number(2);
  if (from != nullptr && to != nullptr && step != nullptr && step->real(0) != 0) {
    const double count = (to->real(0) - from->real(0)) / step->real(0);
    const auto whole = count > 0 && count < 9e18 ? static_cast<std::int64_t>(count) : 0;
    shape = Shape{whole + (static_cast<double>(whole) < count ? 1 : 0)};
  }
  return shape && call.answer(aten, {}, {*shape});
}

bool one_hot(OnnxCall& call, std::string_view aten) {
  const auto* depth = call.single_number(1);
  const auto declared = call.declared_shape(0, false);
  Shape shape = call.shape(0);
  const auto axis = axis_of(call.integer("axis", -1), shape.size() + 1);
  if (!axis || !call.has(2)) return false;
  if (depth == nullptr && (!declared || declared->size() <= *axis)) return false;
  const auto classes = depth != nullptr ? depth->integer(0) : (*declared)[*axis];
  if (classes < 0) return false;
  shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(*axis), classes);
  return call.answer(aten, {call.tensor("self", 0), call.number("num_classes", classes)},
                     {shape, call.dtype(2)});
}

// [batch, classes] -> [batch, samples].
bool draw(OnnxCall& call, std::string_view aten) {
  if (call.rank(0) != 2) return false;
  return call.answer(aten, {call.tensor("self", 0)},
                     {{call.dim(0, 0), std::max<std::int64_t>(call.integer("sample_size", 1), 0)},
                      call.dtype_attribute("dtype", DType::kInt32)});
}

bool random(OnnxCall& call, std::string_view aten) {
  const auto shape = call.integers("shape");
  if (shape.size() > 64 || has_negative(shape)) return false;
  return call.answer(aten, {call.list("size", shape)}, {shape, onnx_dtype(call.integer("dtype", 1))});
}

constexpr auto kMovesRules = std::to_array<OnnxRule>({
    {"CenterCropPad", crop_or_pad, "aten::pad", 2},
    {"Col2Im", windows_to_image, "aten::col2im", 3},
    {"Compress", compress, "aten::masked_select", 2},
    {"Concat", concat, "aten::cat"},
    {"ConstantOfShape", constant_of_shape, "aten::full"},
    {"DepthToSpace", shuffle, "aten::pixel_shuffle"},
    {"GatherElements", gather_elements, "aten::gather", 2},
    {"GatherND", gather_nd, "aten::index", 2},
    {"Multinomial", draw, "aten::multinomial"},
    {"NonMaxSuppression", non_max_suppression, "onnx::NonMaxSuppression", 2},
    {"NonZero", non_zero, "aten::nonzero"},
    {"OneHot", one_hot, "aten::one_hot"},
    {"Pad", pad, "aten::pad"},
    {"RandomNormal", random, "aten::randn", 0},
    {"RandomUniform", random, "aten::rand", 0},
    {"Range", range, "aten::arange", 0},
    {"RoiAlign", roi_align, "torchvision::roi_align", 2},
    {"Scatter", scatter, "aten::scatter", 3},
    {"ScatterElements", scatter, "aten::scatter", 3},
    {"ScatterND", scatter_nd, "aten::index_put", 3},
    {"SpaceToDepth", shuffle, "aten::pixel_unshuffle"},
    {"TensorScatter", scatter_part, "aten::slice_scatter", 2},
    {"Tile", tile, "aten::repeat"},
    {"TopK", top_k, "aten::topk"},
    {"Trilu", triangle},
    {"Unique", unique},
});
static_assert(std::ranges::is_sorted(kMovesRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_move_rules() { return kMovesRules; }

}  // namespace opscope
