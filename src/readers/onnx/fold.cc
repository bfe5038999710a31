// The arithmetic on shapes that exporters leave in the graph: Shape -> Gather -> Concat -> Reshape and the
// like, on tensors of few numbers. What is folded costs nothing worth counting and becomes no op. Integers
// wrap around as they do in ONNX; a division by zero gives zero.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "readers/onnx/call.h"

namespace opscope {
namespace {

constexpr std::size_t kMostFolded = 4096, kMostReals = 8;  // numbers
constexpr Count kMostSpread = 64;                          // that few numbers make: longer ones are data

using MaybeInfo = std::optional<OnnxInfo>;

// nullopt where there are too many numbers, or not as many as the shape says.
MaybeInfo make(Shape shape, DType dtype, Numbers numbers) {
  if (numbers.size() > kMostFolded || numel(shape) != Count{numbers.size()}) return std::nullopt;
  return OnnxInfo{.shape = std::move(shape), .dtype = dtype, .numbers = std::move(numbers)};
}
MaybeInfo integers(std::vector<std::int64_t> items, Shape shape, DType dtype = DType::kInt64) {
  return make(std::move(shape), dtype, {.integers = std::move(items)});
}
MaybeInfo list(Numbers numbers, DType dtype) {
  const auto count = static_cast<std::int64_t>(numbers.size());
  return make({count}, dtype, std::move(numbers));
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
  return list({.integers = std::move(items)}, DType::kInt64);
}

MaybeInfo size_of(const OnnxCall& call) {
  const auto* info = call.info(0);
  if (info == nullptr || !info->shape) return std::nullopt;
  return integers({clamp_size(static_cast<__int128>(numel(*info->shape).value()))}, {});
}

// The same numbers in another shape.
MaybeInfo identity(const OnnxCall& call) { return make(call.shape(0), call.dtype(0), *call.numbers(0)); }
MaybeInfo reshape(const OnnxCall& call) {
  const auto shape = reshaped(call);
  return shape ? make(*shape, call.dtype(0), *call.numbers(0)) : std::nullopt;
}

Numbers cast(const Numbers& from, bool to_real) {
  Numbers out{.is_real = to_real};
  for (std::size_t i = 0; i < from.size(); ++i)
    to_real ? out.reals.push_back(from.real(i)) : out.integers.push_back(from.integer(i));
  return out;
}
MaybeInfo cast_as(const OnnxCall& call, DType to) {
  if (to == DType::kUndefined || to == DType::kString || info(to).is_complex) return std::nullopt;
  auto numbers = cast(*call.numbers(0), info(to).is_float);
  if (to == DType::kBool)
    for (auto& item : numbers.integers) item = item != 0;
  return make(call.shape(0), to, std::move(numbers));
}
MaybeInfo cast_to(const OnnxCall& call) { return cast_as(call, onnx_dtype(call.integer("to", 0))); }

MaybeInfo gather(const OnnxCall& call) {
  const auto* from = call.numbers(0);
  const auto* at = call.numbers(1);
  if (call.shape(0).size() != 1 || at->is_real || call.integer("axis", 0) > 0) return std::nullopt;
  Numbers out{.is_real = from->is_real};
  for (const auto index : at->integers) {
    const auto place = axis_of(index, from->size());
    if (!place) return std::nullopt;
    out.add(*from, *place);
  }
  return make(call.shape(1), call.dtype(0), std::move(out));
}

MaybeInfo concat(const OnnxCall& call) {
  Numbers out{.is_real = call.numbers(0)->is_real};
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const auto* part = call.numbers(i);
    if (part == nullptr || part->is_real != out.is_real || call.shape(i).size() != 1) return std::nullopt;
    for (std::size_t k = 0; k < part->size() && out.size() <= kMostFolded; ++k) out.add(*part, k);
  }
  return list(std::move(out), call.dtype(0));
}

// Numbers in another order: place (i, j, ..) takes the input's at first + i*strides[0] + j*strides[1] + ..
MaybeInfo picked(const OnnxCall& call, const OnnxView& view) {
  const auto& from = *call.numbers(0);
  if (numel(view.shape) > Count{kMostFolded}) return std::nullopt;
  Numbers out{.is_real = from.is_real};
  std::vector<std::int64_t> place(view.shape.size());
  for (auto left = numel(view.shape).value(); left > 0; --left) {
    auto at = view.first;
    for (std::size_t i = 0; i < place.size(); ++i) at += place[i] * view.strides[i];
    if (at < 0 || at >= static_cast<std::int64_t>(from.size())) return std::nullopt;
    out.add(from, static_cast<std::size_t>(at));
    for (auto i = place.size(); i-- > 0;) {
      if (++place[i] < view.shape[i]) break;
      place[i] = 0;
    }
  }
  return make(view.shape, call.dtype(0), std::move(out));
}
template <auto see>
MaybeInfo view(const OnnxCall& call) {
  const auto seen = see(call, contiguous_strides(call.shape(0)));
  return seen ? picked(call, *seen) : std::nullopt;
}
MaybeInfo slice(const OnnxCall& call) { return numel(call.shape(0)) ? view<sliced>(call) : std::nullopt; }
MaybeInfo expand(const OnnxCall& call) {
  const auto seen = expanded(call, contiguous_strides(call.shape(0)));
  return seen && numel(seen->shape) <= kMostSpread ? picked(call, *seen) : std::nullopt;
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
    out.add(from, from.size() == 1 ? 0 : i);
  }
  return make(*shape, call.dtype(1), std::move(out));
}

MaybeInfo range(const OnnxCall& call) {
  const auto &from = *call.numbers(0), &to = *call.numbers(1), &step = *call.numbers(2);
  if (from.is_real || from.size() != 1 || to.size() != 1 || step.size() != 1) return std::nullopt;
  const __int128 by = step.integer(0), first = from.integer(0), last = to.integer(0);
  if (by == 0) return std::nullopt;
  const __int128 count = by > 0 ? (last - first + by - 1) / by : (first - last - by - 1) / -by;
  if (count > kMostSpread.value()) return std::nullopt;
  std::vector<std::int64_t> items;
  for (__int128 i = 0; i < count; ++i) items.push_back(static_cast<std::int64_t>(first + i * by));
  return list({.integers = std::move(items)}, call.dtype(0));
}

MaybeInfo constant_of_shape(const OnnxCall& call) {
  const auto* shape = call.numbers(0);
  if (shape->is_real || shape->size() > 8 || has_negative(shape->integers)) return std::nullopt;
  if (numel(shape->integers) > kMostSpread) return std::nullopt;
  const auto count = numel(shape->integers).value();
  const auto* value = call.attribute("value");
  if (value == nullptr || value->tensor.empty())
    return make(shape->integers, DType::kFloat32, {.reals = std::vector<double>(count), .is_real = true});
  const auto tensor = parse_onnx_tensor(value->tensor, call.state().where);
  const auto filled = onnx_numbers(tensor, 1);
  if (!filled || filled->size() != 1) return std::nullopt;
  Numbers out{.is_real = filled->is_real};
  for (std::uint64_t i = 0; i < count; ++i) out.add(*filled, 0);
  return make(shape->integers, tensor.dtype, std::move(out));
}

// --- Arithmetic. Integers are worked out in a wider type, of which the lower half is kept.

using Wide = __int128;

// Elementwise, with the broadcasting that shape arithmetic needs: equal sizes, or one number on one side.
template <auto of>
MaybeInfo binary(const OnnxCall& call) {
  if (call.input_count() != 2) return std::nullopt;
  const auto &a = *call.numbers(0), &b = *call.numbers(1);
  const auto shape = broadcast(call.shape(0), call.shape(1));
  if (!shape || a.is_real != b.is_real) return std::nullopt;
  const auto count = std::max(a.size(), b.size());
  if ((a.size() != count && a.size() != 1) || (b.size() != count && b.size() != 1)) return std::nullopt;
  if (a.size() == 0 || b.size() == 0 || numel(*shape) != Count{count}) return std::nullopt;
  constexpr bool kToBool = std::same_as<decltype(of(1.0, 1.0)), bool>;
  Numbers out{.is_real = a.is_real && !kToBool};
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = a.size() == 1 ? 0 : i, y = b.size() == 1 ? 0 : i;
    if (!a.is_real)
      out.integers.push_back(static_cast<std::int64_t>(of(Wide{a.integers[x]}, Wide{b.integers[y]})));
    else if constexpr (kToBool)
      out.integers.push_back(of(a.reals[x], b.reals[y]));
    else
      out.reals.push_back(of(a.reals[x], b.reals[y]));
  }
  return make(*shape, kToBool ? DType::kBool : call.dtype(0), std::move(out));
}
template <auto on_integers, auto on_reals>
MaybeInfo unary(const OnnxCall& call) {
  Numbers out = *call.numbers(0);
  for (auto& item : out.integers) item = static_cast<std::int64_t>(on_integers(Wide{item}));
  for (auto& item : out.reals) item = on_reals(item);
  return make(call.shape(0), call.dtype(0), std::move(out));
}
// Of a list, to one number.
template <std::int64_t start, auto fold>
MaybeInfo reduce(const OnnxCall& call) {
  const auto& from = *call.numbers(0);
  if (from.is_real || from.size() == 0 || call.shape(0).size() > 1) return std::nullopt;
  auto total = start;
  for (const auto item : from.integers) total = static_cast<std::int64_t>(fold(Wide{total}, Wide{item}));
  const bool keeps = call.integer("keepdims", 1) != 0 && call.shape(0).size() == 1;
  return integers({total}, keeps ? Shape{1} : Shape{}, call.dtype(0));
}

constexpr auto kSame = [](auto a) { return a; };
constexpr auto kSmaller = [](auto a, auto b) { return std::min(a, b); };
constexpr auto kLarger = [](auto a, auto b) { return std::max(a, b); };
constexpr auto kQuotient = [](auto a, auto b) { return b == 0 ? 0 : a / b; };
struct Remainder {
  constexpr Wide operator()(Wide a, Wide b) const { return b == 0 ? 0 : (a % b + b) % b; }
  double operator()(double a, double b) const { return b == 0 ? 0 : std::fmod(a, b); }
};
constexpr auto kMagnitude = [](Wide a) { return a < 0 ? -a : a; };
constexpr auto kAbsolute = [](double a) { return std::abs(a); };
constexpr auto kCeil = [](double a) { return std::ceil(a); };
constexpr auto kFloor = [](double a) { return std::floor(a); };
constexpr auto kRoot = [](double a) { return std::sqrt(a); };
constexpr auto kRest = [](Wide a) { return std::max<Wide>(a, 0); };
constexpr auto kPositive = [](double a) { return std::max(a, 0.0); };
constexpr auto kIsZero = [](Wide a) { return a == 0; };

struct Row {
  std::string_view type;
  MaybeInfo (*fold)(const OnnxCall&);
  std::size_t needs = 1;  // inputs, from the first on; a rule of three takes three
};
constexpr auto kRows = std::to_array<Row>({
    {"Abs", unary<kMagnitude, kAbsolute>},
    {"Add", binary<std::plus{}>},
    {"And", binary<std::logical_and{}>},
    {"Cast", cast_to},
    {"Ceil", unary<kSame, kCeil>},
    {"Concat", concat},
    {"ConstantOfShape", constant_of_shape},
    {"Div", binary<kQuotient>},
    {"Equal", binary<std::equal_to{}>},
    {"Expand", expand},
    {"Floor", unary<kSame, kFloor>},
    {"Gather", gather, 2},
    {"Greater", binary<std::greater{}>},
    {"Identity", identity},
    {"Less", binary<std::less{}>},
    {"Max", binary<kLarger>},
    {"Min", binary<kSmaller>},
    {"Mod", binary<Remainder{}>},
    {"Mul", binary<std::multiplies{}>},
    {"Neg", unary<std::negate{}, std::negate{}>},
    {"Not", unary<kIsZero, kSame>},
    {"Or", binary<std::logical_or{}>},
    {"Range", range, 3},
    {"ReduceMax", reduce<INT64_MIN, kLarger>},
    {"ReduceMin", reduce<INT64_MAX, kSmaller>},
    {"ReduceProd", reduce<1, std::multiplies{}>},
    {"ReduceSum", reduce<0, std::plus{}>},
    {"Relu", unary<kRest, kPositive>},
    {"Reshape", reshape},
    {"Slice", slice},
    {"Sqrt", unary<kSame, kRoot>},
    {"Squeeze", view<squeezed>},
    {"Sub", binary<std::minus{}>},
    {"Transpose", view<transposed>},
    {"Unsqueeze", view<unsqueezed>},
    {"Where", where, 3},
});
static_assert(std::ranges::is_sorted(kRows, {}, &Row::type));

bool is_small(const OnnxInfo* info) {
  if (info == nullptr) return true;
  return info->numbers && info->shape &&
         info->numbers->size() <= (info->numbers->is_real ? kMostReals : kMostFolded);
}

}  // namespace

std::optional<OnnxInfo> fold_onnx(const OnnxCall& call) {
  const auto& node = call.node();
  if (!node.domain.empty() || node.outputs.size() != 1) return std::nullopt;
  if (node.op_type == "Shape") return shape_of(call);
  if (node.op_type == "Size") return size_of(call);
  if (node.op_type == "CastLike" && call.has_first(2) && is_small(call.info(0)))
    return cast_as(call, call.dtype(1));
  const auto found = std::ranges::lower_bound(kRows, node.op_type, {}, &Row::type);
  if (found == kRows.end() || found->type != node.op_type) return std::nullopt;
  const auto count = call.input_count();
  for (std::size_t i = 0; i < count; ++i)
    if (!is_small(call.info(i))) return std::nullopt;
  if (!call.has_first(found->needs) || (count > 1 && !call.has(1))) return std::nullopt;
  return found->needs == 3 && count != 3 ? std::nullopt : found->fold(call);
}

}  // namespace opscope
