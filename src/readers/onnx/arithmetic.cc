// Integers wrap around as they do in ONNX; a division by zero gives zero.
#include <algorithm>
#include <cmath>

#include "readers/onnx/folding.h"

namespace opscope::folding {

MaybeInfo make(Shape shape, DType dtype, Numbers numbers) {
  if (numbers.size() > kMostFolded || numel(shape) != Count{numbers.size()}) return std::nullopt;
  return OnnxInfo{.shape = std::move(shape), .dtype = dtype, .numbers = std::move(numbers)};
}
namespace {

using I = std::int64_t;

MaybeInfo integers(std::vector<std::int64_t> items, Shape shape, DType dtype) {
  return make(std::move(shape), dtype, {.integers = std::move(items)});
}

std::int64_t wrapping(__int128 value) { return static_cast<std::int64_t>(value); }

// Elementwise, with the broadcasting that shape arithmetic needs: equal sizes, or one number on one side.
template <class OnIntegers, class OnReals>
MaybeInfo binary(const OnnxCall& call, OnIntegers on_integers, OnReals on_reals, bool to_bool = false) {
  if (call.input_count() != 2) return std::nullopt;
  const auto &a = *call.numbers(0), &b = *call.numbers(1);
  const auto shape = broadcast(call.shape(0), call.shape(1));
  if (!shape || a.is_real != b.is_real) return std::nullopt;
  const auto count = std::max(a.size(), b.size());
  if ((a.size() != count && a.size() != 1) || (b.size() != count && b.size() != 1)) return std::nullopt;
  if (a.size() == 0 || b.size() == 0 || numel(*shape) != Count{count}) return std::nullopt;
  Numbers out{.is_real = a.is_real && !to_bool};
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = a.size() == 1 ? 0 : i, y = b.size() == 1 ? 0 : i;
    if (!a.is_real)
      out.integers.push_back(on_integers(a.integers[x], b.integers[y]));
    else if (to_bool)
      out.integers.push_back(on_reals(a.reals[x], b.reals[y]) != 0);
    else
      out.reals.push_back(static_cast<double>(on_reals(a.reals[x], b.reals[y])));
  }
  return make(*shape, to_bool ? DType::kBool : call.dtype(0), std::move(out));
}

template <class OnIntegers, class OnReals>
MaybeInfo unary(const OnnxCall& call, OnIntegers on_integers, OnReals on_reals) {
  Numbers out = *call.numbers(0);
  for (auto& item : out.integers) item = on_integers(item);
  for (auto& item : out.reals) item = on_reals(item);
  return make(call.shape(0), call.dtype(0), std::move(out));
}
template <class Fold>
MaybeInfo reduce(const OnnxCall& call, std::int64_t start, Fold fold) {
  const auto& from = *call.numbers(0);
  if (from.is_real || from.size() == 0 || call.shape(0).size() > 1) return std::nullopt;
  auto total = start;
  for (const auto item : from.integers) total = fold(total, item);
  const bool keeps = call.integer("keepdims", 1) != 0 && call.shape(0).size() == 1;
  return integers({total}, keeps ? Shape{1} : Shape{}, call.dtype(0));
}
}  // namespace

MaybeInfo add(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return wrapping(__int128{a} + b); }, [](double a, double b) { return a + b; });
}
MaybeInfo subtract(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return wrapping(__int128{a} - b); }, [](double a, double b) { return a - b; });
}
MaybeInfo multiply(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return wrapping(__int128{a} * b); }, [](double a, double b) { return a * b; });
}
MaybeInfo divide(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return b == 0 ? I{0} : wrapping(__int128{a} / b); },
      [](double a, double b) { return b == 0 ? 0.0 : a / b; });
}
MaybeInfo modulo(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return b == 0 ? I{0} : wrapping((__int128{a} % b + b) % b); },
      [](double a, double b) { return b == 0 ? 0.0 : std::fmod(a, b); });
}
MaybeInfo smaller(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return std::min(a, b); }, [](double a, double b) { return std::min(a, b); });
}
MaybeInfo larger(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return std::max(a, b); }, [](double a, double b) { return std::max(a, b); });
}
MaybeInfo equal(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return I{a == b}; }, [](double a, double b) { return a == b; }, true);
}
MaybeInfo less(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return I{a < b}; }, [](double a, double b) { return a < b; }, true);
}
MaybeInfo greater(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return I{a > b}; }, [](double a, double b) { return a > b; }, true);
}
MaybeInfo both(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return I{a != 0 && b != 0}; }, [](double, double) { return 0.0; }, true);
}
MaybeInfo either(const OnnxCall& call) {
  return binary(
      call, [](I a, I b) { return I{a != 0 || b != 0}; }, [](double, double) { return 0.0; }, true);
}

MaybeInfo negate(const OnnxCall& call) {
  return unary(
      call, [](I a) { return wrapping(-__int128{a}); }, [](double a) { return -a; });
}
MaybeInfo absolute(const OnnxCall& call) {
  return unary(
      call, [](I a) { return a < 0 ? wrapping(-__int128{a}) : a; }, [](double a) { return std::abs(a); });
}
MaybeInfo floor_of(const OnnxCall& call) {
  return unary(
      call, [](I a) { return a; }, [](double a) { return std::floor(a); });
}
MaybeInfo ceil_of(const OnnxCall& call) {
  return unary(
      call, [](I a) { return a; }, [](double a) { return std::ceil(a); });
}
MaybeInfo root(const OnnxCall& call) {
  return unary(
      call, [](I a) { return a; }, [](double a) { return std::sqrt(a); });
}
MaybeInfo inverted(const OnnxCall& call) {
  return unary(
      call, [](I a) { return I{a == 0}; }, [](double a) { return a; });
}

MaybeInfo product(const OnnxCall& call) {
  return reduce(call, 1, [](I a, I b) { return wrapping(__int128{a} * b); });
}
MaybeInfo sum(const OnnxCall& call) {
  return reduce(call, 0, [](I a, I b) { return wrapping(__int128{a} + b); });
}
MaybeInfo highest(const OnnxCall& call) {
  return reduce(call, INT64_MIN, [](I a, I b) { return std::max(a, b); });
}
MaybeInfo lowest(const OnnxCall& call) {
  return reduce(call, INT64_MAX, [](I a, I b) { return std::min(a, b); });
}

}  // namespace opscope::folding
