// The tables behind svg_colors.h.
#include "report/svg/colors.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "base/error.h"

namespace opscope {
namespace {

using enum Category;

constexpr std::uint32_t bits(auto... categories) { return ((1U << static_cast<unsigned>(categories)) | ...); }

// The last is for all that no other has.
constexpr std::array<ColorGroup, 11> kGroups{{
    {"conv", "#2f4a92", bits(kConv)},
    {"matmul", "#e9a312", bits(kMatmul)},
    {"attention", "#6e2451", bits(kAttention)},
    {"norm", "#1eae8b", bits(kNorm)},
    {"activation", "#dd4e63", bits(kActivation)},
    {"pointwise", "#e9d58f", bits(kPointwise)},
    {"softmax, reduction", "#0b5924", bits(kSoftmax, kReduction, kLoss)},
    {"pool, resize", "#7bccff", bits(kPool, kResize)},
    {"embedding, index", "#9c7720", bits(kEmbedding, kIndex, kSort)},
    {"moves", "#c8ccd0", bits(kCopy, kCreate, kRandom, kView, kMetadata)},
    {"other", "#aa68e5", ~0U},
}};

constexpr std::array<std::string_view, kMemoryKinds> kMemoryColors{"#4477aa", "#bbbbbb", "#e69f00", "#ee6677",
                                                                   "#aa3377", "#228833", "#66ccee"};

// ColorBrewer's YlOrBr.
constexpr std::array<std::string_view, 9> kStops{"#ffffe5", "#fff7bc", "#fee391", "#fec44f", "#fe9929",
                                                 "#ec7014", "#cc4c02", "#993404", "#662506"};

using Rgb = std::array<double, 3>;

Rgb rgb_of(std::string_view color) {
  OPSCOPE_CHECK(color.size() == 7 && color[0] == '#');
  Rgb rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    unsigned part = 0;
    const char* begin = color.data() + 1 + 2 * i;
    OPSCOPE_CHECK(std::from_chars(begin, begin + 2, part, 16).ptr == begin + 2);
    rgb[i] = part;
  }
  return rgb;
}

std::string between(std::string_view from, std::string_view to, double share) {
  const Rgb a = rgb_of(from), b = rgb_of(to);
  const double t = std::clamp(share, 0.0, 1.0);
  std::string color = "#";
  for (std::size_t i = 0; i < 3; ++i)
    color += fmt::format("{:02x}", static_cast<unsigned>(std::lround(a[i] + t * (b[i] - a[i]))));
  return color;
}

// Relative luminance, as the guidelines for contrast on the web define it.
double luminance(std::string_view color) {
  constexpr Rgb kWeights{0.2126, 0.7152, 0.0722};
  const Rgb rgb = rgb_of(color);
  double sum = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    const double c = rgb[i] / 255;
    sum += kWeights[i] * (c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
  }
  return sum;
}

}  // namespace

std::span<const ColorGroup> color_groups() { return kGroups; }
std::string_view color_of(Category category) {
  const auto has = [&](const ColorGroup& group) { return group.categories & bits(category); };
  return std::ranges::find_if(kGroups, has)->color;
}
std::string_view color_of(MemoryKind kind) { return kMemoryColors[static_cast<std::size_t>(kind)]; }
std::span<const std::string_view> sequential_stops() { return kStops; }

std::string sequential_color(double share) {
  const double at = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0) * (kStops.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  return between(kStops[low], kStops[low + 1], at - static_cast<double>(low));
}

std::string tinted(std::string_view color, double white) { return between(color, kPaper, white); }

// The luminance at which black and white have the same contrast is about 0.18; ours is a little higher, since
// white reads better on strong colours than the formula says.
std::string_view ink_on(std::string_view color) { return luminance(color) > 0.3 ? kInk : kPaper; }

}  // namespace opscope
