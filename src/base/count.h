// A saturating unsigned count: sums and products stick at the maximum instead of wrapping, so that a
// hostile or enormous graph gives "at least 2^64 - 1" and never a small wrong number.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <limits>

namespace opscope {

class Count {
 public:
  static constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

  constexpr Count() = default;
  template <std::integral T>
  constexpr Count(T value) : value_(value < T{0} ? 0 : static_cast<std::uint64_t>(value)) {}

  constexpr std::uint64_t value() const { return value_; }
  constexpr bool saturated() const { return value_ == kMax; }
  constexpr explicit operator bool() const { return value_ != 0; }
  constexpr explicit operator double() const { return static_cast<double>(value_); }

  constexpr Count& operator+=(Count other) {
    if (__builtin_add_overflow(value_, other.value_, &value_)) value_ = kMax;
    return *this;
  }
  constexpr Count& operator*=(Count other) {
    if (__builtin_mul_overflow(value_, other.value_, &value_)) value_ = kMax;
    return *this;
  }
  friend constexpr Count operator+(Count a, Count b) { return a += b; }
  friend constexpr Count operator*(Count a, Count b) { return a *= b; }
  // Differences stop at zero; dividing by zero gives zero. A saturated count stays saturated.
  friend constexpr Count operator-(Count a, Count b) {
    if (a.saturated()) return a;
    return a.value_ < b.value_ ? Count{} : Count{a.value_ - b.value_};
  }
  friend constexpr Count operator/(Count a, Count b) {
    if (a.saturated()) return a;
    return b.value_ == 0 ? Count{} : Count{a.value_ / b.value_};
  }
  friend constexpr auto operator<=>(Count, Count) = default;

 private:
  std::uint64_t value_ = 0;
};

// total * part / whole, without leaving the range on the way.
constexpr Count share_of(Count total, Count part, Count whole) {
  if (!whole || total.saturated()) return whole ? total : Count{};
  const auto share = static_cast<unsigned __int128>(total.value()) * part.value() / whole.value();
  return share < Count::kMax ? Count{static_cast<std::uint64_t>(share)} : Count{Count::kMax};
}

// Stops at the end of 64 bits with a sign.
constexpr std::int64_t as_signed(Count count) {
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return count > Count{kMost} ? kMost : static_cast<std::int64_t>(count.value());
}
// As a real number; 0 of nothing.
constexpr double ratio(Count part, Count whole) {
  return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace opscope
