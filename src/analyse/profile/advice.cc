// What the mix of work suggests about hardware and tuning: one row per finding, with the share of the FLOPs
// from which it holds.
#include <array>
#include <span>

#include "analyse/profile/rollup.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::array kConvolution{Category::kConv};
constexpr std::array kMatrices{Category::kMatmul, Category::kAttention, Category::kRecurrent};

constexpr std::array<std::string_view, 3> kConvolutionAdvice{
    "peak FLOP/s is the limit: GPUs and matrix units pay off",
    "int8 quantisation usually works well",
    "convolution, normalisation and activation fuse into one pass over memory",
};
constexpr std::array<std::string_view, 3> kMatrixAdvice{
    "memory bandwidth limits as much as FLOP/s: weights are read once per call",
    "attention moves many bytes for its FLOPs: use a fused kernel",
    "larger batches spread each weight read over more work",
};

struct Finding {
  std::string_view label;
  std::span<const Category> categories;
  double above;  // of all FLOPs
  std::span<const std::string_view> suggestions;
};

constexpr std::array kFindings{
    Finding{"convolution is", kConvolution, 0.7, kConvolutionAdvice},
    Finding{"matmul, linear and attention are", kMatrices, 0.5, kMatrixAdvice},
};

Count flops_in(const Profile& profile, std::span<const Category> categories) {
  Count sum;
  for (const TypeRow& row : profile.types())
    for (const Category category : categories)
      if (row.category == category) sum += row.metrics.flops;
  return sum;
}

}  // namespace

std::vector<Advice> advise(const Profile& profile) {
  std::vector<Advice> found;
  const Count all = profile.totals.flops;
  for (const Finding& finding : kFindings) {
    const Count flops = flops_in(profile, finding.categories);
    if (!all || static_cast<double>(flops) <= finding.above * static_cast<double>(all)) continue;
    std::string text = std::string(finding.label) + " " + format_percent(flops, all) + " of FLOPs";
    // What decides in general comes first; on a device its roofline knows better.
    const auto suggestions = finding.suggestions.subspan(profile.roofline.device != nullptr ? 1 : 0);
    found.push_back({std::move(text), {suggestions.begin(), suggestions.end()}});
  }
  return found;
}

}  // namespace opscope
