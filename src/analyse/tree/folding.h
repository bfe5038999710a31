// Names that count up: "layer1", "layer2", ...: what blocks that are built in a loop are called.
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

}  // namespace opscope
