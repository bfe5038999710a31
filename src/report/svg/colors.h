// The colours of every picture. Categories, kinds of memory and bounds keep theirs from picture to picture,
// and are told apart also by people who do not see red or green: under simulated protanopia and deuteranopia
// categories are at least 20 apart in CIE Lab, bounds 45, kinds of memory 17.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "cost/liveness.h"
#include "ops/op_rule.h"

namespace opscope {

inline constexpr std::string_view kInk = "#1f2430", kQuietInk = "#5c6370", kAxis = "#8a919c",
                                  kGrid = "#e4e7eb";
inline constexpr std::string_view kPaper = "#ffffff", kPanel = "#f6f7f9";

inline constexpr std::string_view kComputeBoundColor = "#2f6db5", kMemoryBoundColor = "#d55e00";

// Categories that go together have one colour: there are more of them than colours that an eye keeps apart.
struct ColorGroup {
  std::string_view name;         // "conv", "softmax, reduction"
  std::string_view color;        // "#2f4a92"
  std::uint32_t categories = 0;  // a bit for each
};
std::span<const ColorGroup> color_groups();  // in the order of legends
std::string_view color_of(Category category);
std::string_view color_of(MemoryKind kind);

// From nearly white for 0 to dark for 1, ever darker, so that it survives a copy in grey.
std::string sequential_color(double share);
std::span<const std::string_view> sequential_stops();

// Between a colour and white: 0 is the colour, 1 is white.
std::string tinted(std::string_view color, double white);
// Black or white, whichever reads better on it.
std::string_view ink_on(std::string_view color);

}  // namespace opscope
