// The arithmetic on shapes that exporters leave in the graph: Shape -> Gather -> Concat -> Reshape and the
// like, on tensors of few numbers. What is folded costs nothing worth counting and becomes no op.
#include <algorithm>
#include <array>
#include <cmath>

#include "graph/graph.h"
#include "readers/onnx/folding.h"
#include "readers/onnx/model.h"
#include "readers/onnx/proto_wire.h"

namespace opscope {
namespace {

constexpr std::size_t kMostIntegers = kMostFolded, kMostReals = 8;

using MaybeInfo = std::optional<OnnxInfo>;
using folding::make;

MaybeInfo integers(std::vector<std::int64_t> items, Shape shape, DType dtype = DType::kInt64) {
  return make(std::move(shape), dtype, {.integers = std::move(items)});
}

MaybeInfo shape_of(const OnnxCall& call) {
  const auto* info = call.info(0);
  if (info == nullptr || !info->shape) return std::nullopt;
  const auto rank = static_cast<std::int64_t>(info->shape->size());
  const auto bound = [&](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  const auto first = bound(call.integer("start", 0)), last = bound(call.integer("end", rank));
  std::vector<std::int64_t> items;
  for (auto i = first; i < last; ++i) items.push_back((*info->shape)[static_cast<std::size_t>(i)]);
  const auto count = static_cast<std::int64_t>(items.size());
  return integers(std::move(items), {count});
}

MaybeInfo size_of(const OnnxCall& call) {
  const auto* info = call.info(0);
  if (info == nullptr || !info->shape) return std::nullopt;
  return integers({clamp_size(static_cast<__int128>(numel(*info->shape).value()))}, {});
}

// The same numbers in another shape.
MaybeInfo reshaped(const OnnxCall& call, Shape shape) {
  return make(std::move(shape), call.dtype(0), *call.numbers(0));
}

MaybeInfo identity(const OnnxCall& call) { return reshaped(call, call.shape(0)); }
MaybeInfo squeeze(const OnnxCall& call) {
  const auto axes = call.integers("axes", 1);
  Shape shape;
  for (std::size_t i = 0; i < call.shape(0).size(); ++i) {
    const bool named = axes && std::ranges::any_of(*axes, [&](std::int64_t axis) {
                         return axis_of(axis, call.shape(0).size()) == i;
                       });
    if (axes ? !named : call.shape(0)[i] != 1) shape.push_back(call.shape(0)[i]);
  }
  return reshaped(call, shape);
}
MaybeInfo unsqueeze(const OnnxCall& call) {
  const auto axes = call.integers("axes", 1);
  if (!axes || axes->size() > 8) return std::nullopt;
  const Shape& shape = call.shape(0);
  const auto rank = shape.size() + axes->size();
  std::vector<bool> is_new(rank);
  for (const auto axis : *axes) {
    const auto at = axis_of(axis, rank);
    if (!at || is_new[*at]) return std::nullopt;
    is_new[*at] = true;
  }
  Shape out;
  for (std::size_t i = 0, from = 0; i < rank; ++i) out.push_back(is_new[i] ? 1 : shape[from++]);
  return reshaped(call, out);
}
MaybeInfo reshape(const OnnxCall& call) {
  const auto* target = call.numbers(1);
  if (target == nullptr || target->is_real || target->size() > 8) return std::nullopt;
  Shape shape = target->integers;
  Count known = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0 && i < call.shape(0).size()) shape[i] = call.shape(0)[i];
    if (shape[i] >= 0) known *= Count{shape[i]};
  }
  const auto count = Count{call.numbers(0)->size()};
  for (auto& size : shape)
    if (size < 0) size = static_cast<std::int64_t>((count / known).value());
  return reshaped(call, shape);
}

Numbers cast(const Numbers& from, bool to_real) {
  Numbers out{.is_real = to_real};
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (to_real)
      out.reals.push_back(from.real(i));
    else
      out.integers.push_back(from.integer(i));
  }
  return out;
}
MaybeInfo cast_to(const OnnxCall& call) {
  const auto to = onnx_dtype(call.integer("to", 0));
  if (to == DType::kUndefined || info(to).is_complex) return std::nullopt;
  auto numbers = cast(*call.numbers(0), info(to).is_float);
  if (to == DType::kBool)
    for (auto& item : numbers.integers) item = item != 0;
  return make(call.shape(0), to, std::move(numbers));
}

void append(Numbers& into, const Numbers& from, std::size_t i) {
  into.is_real = from.is_real;
  if (from.is_real)
    into.reals.push_back(from.reals[i]);
  else
    into.integers.push_back(from.integers[i]);
}

MaybeInfo gather(const OnnxCall& call) {
  const auto* from = call.numbers(0);
  const auto* at = call.numbers(1);
  if (call.shape(0).size() != 1 || at->is_real || call.integer("axis", 0) > 0) return std::nullopt;
  Numbers out{.is_real = from->is_real};
  for (const auto index : at->integers) {
    const auto place = axis_of(index, from->size());
    if (!place) return std::nullopt;
    append(out, *from, *place);
  }
  return make(call.shape(1), call.dtype(0), std::move(out));
}

MaybeInfo concat(const OnnxCall& call) {
  Numbers out{.is_real = call.numbers(0)->is_real};
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const auto* part = call.numbers(i);
    if (part == nullptr || part->is_real != out.is_real || call.shape(i).size() != 1) return std::nullopt;
    for (std::size_t k = 0; k < part->size() && out.size() <= kMostIntegers; ++k) append(out, *part, k);
  }
  const auto count = static_cast<std::int64_t>(out.size());
  return make({count}, call.dtype(0), std::move(out));
}

// Numbers in another order: output place (i, j, ..) takes the input's at first + i*steps[0] + j*steps[1] + ..
MaybeInfo picked(const OnnxCall& call, Shape shape, std::int64_t first,
                 const std::vector<std::int64_t>& steps) {
  const auto& from = *call.numbers(0);
  if (numel(shape) > Count{kMostIntegers}) return std::nullopt;
  Numbers out{.is_real = from.is_real};
  std::vector<std::int64_t> place(shape.size());
  for (auto left = numel(shape).value(); left > 0; --left) {
    auto at = first;
    for (std::size_t i = 0; i < place.size(); ++i) at += place[i] * steps[i];
    if (at < 0 || at >= static_cast<std::int64_t>(from.size())) return std::nullopt;
    append(out, from, static_cast<std::size_t>(at));
    for (auto i = place.size(); i-- > 0;) {
      if (++place[i] < shape[i]) break;
      place[i] = 0;
    }
  }
  return make(std::move(shape), call.dtype(0), std::move(out));
}

MaybeInfo slice(const OnnxCall& call) {
  const auto starts = call.integers("starts", 1), ends = call.integers("ends", 2),
             axes = call.integers("axes", 3);
  const auto* steps = call.has(4) ? call.numbers(4) : nullptr;
  if (!starts || !ends || starts->size() != ends->size() || (axes && axes->size() != starts->size()) ||
      (steps != nullptr && steps->size() != starts->size()))
    return std::nullopt;
  Shape shape = call.shape(0);
  auto strides = contiguous_strides(shape);
  std::int64_t first = 0;
  std::vector<bool> cut(shape.size());
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = axis_of(axes ? (*axes)[i] : static_cast<std::int64_t>(i), shape.size());
    const auto step = steps != nullptr ? steps->integer(i) : 1;
    if (!axis || cut[*axis] || step == 0 || step > 4096 || step < -4096) return std::nullopt;
    cut[*axis] = true;
    const auto size = shape[*axis];
    const auto bound = [&](std::int64_t at, std::int64_t low, std::int64_t high) {
      return std::clamp<std::int64_t>(at < 0 ? std::max<std::int64_t>(at, -size - 1) + size : at, low, high);
    };
    if (size == 0) return std::nullopt;
    const auto from = step > 0 ? bound((*starts)[i], 0, size) : bound((*starts)[i], -1, size - 1);
    const auto to = step > 0 ? bound((*ends)[i], 0, size) : bound((*ends)[i], -1, size - 1);
    const auto room = step > 0 ? to - from : from - to, by = step > 0 ? step : -step;
    shape[*axis] = room > 0 ? (room + by - 1) / by : 0;
    first += from * strides[*axis];
    strides[*axis] *= step;
  }
  return picked(call, shape, first, strides);
}

MaybeInfo transpose(const OnnxCall& call) {
  auto order = call.integers("perm");
  const auto& from = call.shape(0);
  if (order.empty())
    for (auto i = from.size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  const auto strides = contiguous_strides(from);
  Shape shape, steps;
  for (const auto axis : order) {
    const auto at = axis_of(axis, from.size());
    if (!at) return std::nullopt;
    shape.push_back(from[*at]);
    steps.push_back(strides[*at]);
  }
  return order.size() == from.size() ? picked(call, shape, 0, steps) : std::nullopt;
}

MaybeInfo expand(const OnnxCall& call) {
  const auto* target = call.numbers(1);
  if (target == nullptr || target->is_real || target->size() > 8) return std::nullopt;
  const auto shape = broadcast(call.shape(0), target->integers);
  if (!shape || std::ranges::any_of(*shape, [](std::int64_t size) { return size < 0; })) return std::nullopt;
  if (numel(*shape) > Count{64}) return std::nullopt;  // longer ones are data
  const auto strides = contiguous_strides(call.shape(0));
  Shape steps(shape->size());
  const auto lead = shape->size() - strides.size();
  for (std::size_t i = 0; i < strides.size(); ++i) steps[lead + i] = call.shape(0)[i] == 1 ? 0 : strides[i];
  return picked(call, *shape, 0, steps);
}

MaybeInfo where(const OnnxCall& call) {
  const auto &test = *call.numbers(0), &a = *call.numbers(1), &b = *call.numbers(2);
  const auto count = std::max({test.size(), a.size(), b.size()});
  const auto fits = [&](const Numbers& n) { return n.size() == count || n.size() == 1; };
  if (!fits(test) || !fits(a) || !fits(b) || test.is_real || a.is_real != b.is_real) return std::nullopt;
  const auto pair = broadcast(call.shape(1), call.shape(2));
  const auto shape = pair ? broadcast(*pair, call.shape(0)) : std::nullopt;
  if (!shape) return std::nullopt;
  Numbers out{.is_real = a.is_real};
  for (std::size_t i = 0; i < count; ++i) {
    const auto& from = test.integers[test.size() == 1 ? 0 : i] != 0 ? a : b;
    append(out, from, from.size() == 1 ? 0 : i);
  }
  return make(*shape, call.dtype(1), std::move(out));
}

MaybeInfo range(const OnnxCall& call) {
  const auto &from = *call.numbers(0), &to = *call.numbers(1), &step = *call.numbers(2);
  if (from.is_real || from.size() != 1 || to.size() != 1 || step.size() != 1) return std::nullopt;
  const __int128 by = step.integer(0), first = from.integer(0), last = to.integer(0);
  if (by == 0) return std::nullopt;
  const __int128 count = by > 0 ? (last - first + by - 1) / by : (first - last - by - 1) / -by;
  if (count > 64) return std::nullopt;  // longer ones are data
  std::vector<std::int64_t> items;
  for (__int128 i = 0; i < count; ++i) items.push_back(static_cast<std::int64_t>(first + i * by));
  const auto made = static_cast<std::int64_t>(items.size());
  return integers(std::move(items), {made}, call.dtype(0));
}

MaybeInfo constant_of_shape(const OnnxCall& call) {
  const auto* shape = call.numbers(0);
  if (shape->is_real || numel(shape->integers) > Count{64} || shape->size() > 8) return std::nullopt;
  for (const auto size : shape->integers)
    if (size < 0) return std::nullopt;
  const auto count = numel(shape->integers).value();
  const auto* value = call.attribute("value");
  if (value == nullptr || value->tensor.empty())
    return make(shape->integers, DType::kFloat32, {.reals = std::vector<double>(count), .is_real = true});
  const auto tensor = parse_onnx_tensor(value->tensor, call.state().where);
  const auto filled = onnx_numbers(tensor, 1);
  if (!filled || filled->integers.size() + filled->reals.size() != 1) return std::nullopt;
  Numbers out{.is_real = filled->is_real};
  if (out.is_real)
    out.reals.assign(count, filled->reals[0]);
  else
    out.integers.assign(count, filled->integers[0]);
  return make(shape->integers, tensor.dtype, std::move(out));
}

struct Row {
  std::string_view type;
  MaybeInfo (*fold)(const OnnxCall&);
};
constexpr auto kRows = std::to_array<Row>({
    {"Abs", folding::absolute},
    {"Add", folding::add},
    {"And", folding::both},
    {"Cast", cast_to},
    {"Ceil", folding::ceil_of},
    {"Concat", concat},
    {"ConstantOfShape", constant_of_shape},
    {"Div", folding::divide},
    {"Equal", folding::equal},
    {"Expand", expand},
    {"Floor", folding::floor_of},
    {"Gather", gather},
    {"Greater", folding::greater},
    {"Identity", identity},
    {"Less", folding::less},
    {"Max", folding::larger},
    {"Min", folding::smaller},
    {"Mod", folding::modulo},
    {"Mul", folding::multiply},
    {"Neg", folding::negate},
    {"Not", folding::inverted},
    {"Or", folding::either},
    {"Range", range},
    {"ReduceMax", folding::highest},
    {"ReduceMin", folding::lowest},
    {"ReduceProd", folding::product},
    {"ReduceSum", folding::sum},
    {"Reshape", reshape},
    {"Slice", slice},
    {"Sqrt", folding::root},
    {"Squeeze", squeeze},
    {"Sub", folding::subtract},
    {"Transpose", transpose},
    {"Unsqueeze", unsqueeze},
    {"Where", where},
});
static_assert(std::ranges::is_sorted(kRows, {}, &Row::type));

bool is_small(const OnnxInfo* info) {
  if (info == nullptr) return true;
  return info->numbers && info->shape &&
         info->numbers->size() <= (info->numbers->is_real ? kMostReals : kMostIntegers);
}

}  // namespace

std::optional<OnnxInfo> fold_onnx(const OnnxCall& call) {
  const auto& node = call.node();
  if (!node.domain.empty() || node.outputs.size() != 1) return std::nullopt;
  if (node.op_type == "Shape") return shape_of(call);
  if (node.op_type == "Size") return size_of(call);
  const auto found = std::ranges::lower_bound(kRows, node.op_type, {}, &Row::type);
  if (found == kRows.end() || found->type != node.op_type || call.input_count() == 0) return std::nullopt;
  for (std::size_t i = 0; i < call.input_count(); ++i)
    if (!is_small(call.info(i)) || (i < 3 && node.op_type == "Where" && !call.has(i))) return std::nullopt;
  if (!call.has(0) || (call.input_count() > 1 && !call.has(1))) return std::nullopt;
  // A rule of three takes three.
  if ((node.op_type == "Where" || node.op_type == "Range") && call.input_count() != 3) return std::nullopt;
  if (node.op_type == "Range" && !call.has(2)) return std::nullopt;
  if (node.op_type == "Gather" && call.input_count() < 2) return std::nullopt;
  return found->fold(call);
}

namespace {

float half_to_float(std::uint16_t bits) {
  const int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  float value = exponent == 0    ? std::ldexp(static_cast<float>(mantissa), -24)
                : exponent == 31 ? std::numeric_limits<float>::infinity()
                                 : std::ldexp(static_cast<float>(mantissa + 1024), exponent - 25);
  return (bits & 0x8000) != 0 ? -value : value;
}

// One little-endian number of raw_data.
void add_raw(OnnxNumbers& numbers, DType dtype, std::uint64_t bits) {
  switch (dtype) {
    case DType::kFloat32:
      return numbers.reals.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DType::kFloat64:
      return numbers.reals.push_back(std::bit_cast<double>(bits));
    case DType::kFloat16:
      return numbers.reals.push_back(half_to_float(static_cast<std::uint16_t>(bits)));
    case DType::kBFloat16:
      return numbers.reals.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16));
    case DType::kInt8:
      return numbers.integers.push_back(static_cast<std::int8_t>(bits));
    case DType::kInt16:
      return numbers.integers.push_back(static_cast<std::int16_t>(bits));
    case DType::kInt32:
      return numbers.integers.push_back(static_cast<std::int32_t>(bits));
    default:
      return numbers.integers.push_back(static_cast<std::int64_t>(bits));
  }
}

bool is_real(DType dtype) {
  return dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kFloat16 ||
         dtype == DType::kBFloat16;
}
bool is_whole(DType dtype) { return dtype >= DType::kBool && dtype <= DType::kInt64; }

// The typed lists: floats in 4, ints and halves in 5, int64 in 7, doubles in 10, uint64 in 11.
void add_listed(OnnxNumbers& numbers, DType dtype, const ProtoReader& in) {
  if (in.field != 4 && in.field != 5 && in.field != 7 && in.field != 10 && in.field != 11) return;
  const std::size_t width = in.field == 4 ? 4 : in.field == 10 ? 8 : 0;
  if (in.wire != ProtoReader::kBytes) return add_raw(numbers, dtype, in.number);
  ProtoReader list(in.bytes);
  while (!list.empty()) {
    const auto bits = width != 0 ? list.read_fixed(width) : list.read_varint();
    if (!list.bad()) add_raw(numbers, dtype, bits);
  }
}

}  // namespace

std::optional<OnnxNumbers> onnx_numbers(const OnnxTensor& tensor, std::size_t limit) {
  const auto count = numel(tensor.dims);
  OnnxNumbers numbers{.is_real = is_real(tensor.dtype)};
  if (count > Count{limit} || tensor.external || tensor.bytes.empty()) return std::nullopt;
  if (!numbers.is_real && !is_whole(tensor.dtype)) return std::nullopt;
  ProtoReader in(tensor.bytes);
  const auto width = element_bytes(tensor.dtype);
  while (in.next()) {
    if (in.field == 9 && in.wire == ProtoReader::kBytes) {
      if (in.bytes.size() != count.value() * width) return std::nullopt;
      ProtoReader raw(in.bytes);
      while (!raw.empty()) add_raw(numbers, tensor.dtype, raw.read_fixed(width));
    } else if (in.wire == ProtoReader::kBytes && in.bytes.size() > limit * 10) {
      return std::nullopt;
    } else {
      add_listed(numbers, tensor.dtype, in);
    }
  }
  const auto found = numbers.is_real ? numbers.reals.size() : numbers.integers.size();
  if (found != count.value()) return std::nullopt;
  return numbers;
}

}  // namespace opscope
