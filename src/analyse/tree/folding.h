// What equal blocks that are built in a loop have in common: names that count up ("layer1", "layer2", ...),
// and a key of what they show.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace opscope {

// "layer12" -> {"layer", 12}; no number: nullopt.
inline std::optional<std::pair<std::string_view, std::uint64_t>> numbered(std::string_view name) {
  std::size_t digits = name.size();
  while (digits > 0 && name[digits - 1] >= '0' && name[digits - 1] <= '9') --digits;
  std::uint64_t number = 0;
  const auto end = name.data() + name.size();
  if (digits == name.size() || std::from_chars(name.data() + digits, end, number).ec != std::errc{})
    return std::nullopt;
  return std::pair(name.substr(0, digits), number);
}

inline bool follows(std::string_view name, std::string_view previous, std::uint64_t by = 1) {
  const auto a = numbered(previous), b = numbered(name);
  return a && b && a->first == b->first && a->second + by == b->second;
}

// "layer0..layer11" for 12 of them, beginning with "layer0".
inline std::string numbered_range(std::string_view first, std::uint64_t count) {
  const auto [prefix, number] = *numbered(first);
  return std::string(first) + ".." + std::string(prefix) + std::to_string(number + count - 1);
}

// 64 bits that are equal for equal blocks, and in practice for no others.
class FoldKey {
 public:
  FoldKey& add(std::uint64_t value) {
    state_ ^= value + 0x9e3779b97f4a7c15ULL + (state_ << 6) + (state_ >> 2);
    state_ *= 0xff51afd7ed558ccdULL;
    return *this;
  }
  FoldKey& add(std::string_view text) {
    for (const char c : text) add(std::uint64_t{static_cast<unsigned char>(c)});
    return add(std::uint64_t{text.size()});
  }
  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 1;
};

}  // namespace opscope
