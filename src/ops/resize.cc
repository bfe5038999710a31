// Resampling. Nearest copies; linear interpolation is one (multiply, multiply, add) per axis folded in: 1, 3
// and 7 of them for 1, 2 and 3 axes. Antialiased kernels grow with the shrink factor, and run axis by axis.
//
// torchvision's own ops. Region ops sample an unknown number of points unless told, and suppression ends at
// an unknown pair: estimates and upper bounds.
#include "ops/rules.h"

namespace opscope {
namespace {

// kWidth: taps at no shrink, 2 for linear and 4 for cubic.
template <unsigned kWidth>
MaybeWork antialiased(const OpCall& call) {
  if (call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  const TensorView &x = call.inputs[0], &out = call.outputs[0];
  if (x.rank() != 4 || out.rank() != 4) return std::nullopt;
  const auto taps = [](std::int64_t from, std::int64_t to) {
    return from > to && to > 0 ? Count{kWidth} * Count{from} / Count{to} + 1 : Count{kWidth};
  };
  const Count planes = Count{x.dim(0)} * Count{x.dim(1)};
  const Count across = planes * Count{x.dim(2)} * Count{out.dim(3)} * taps(x.dim(3), out.dim(3));
  const Count down = out.numel * taps(x.dim(2), out.dim(2));
  return Work{.other_flops = (across + down) * 2};
}

struct Sampling {
  Count n, places, axes, taps;
  // Each output weighs its taps; each place's coordinates are scaled (4 flops) and split into whole and part
  // (2), and each tap's weight is a product over the axes.
  Work work() const { return {.other_flops = n * (taps * 2 - 1) + places * (axes * 6 + taps * (axes - 1))}; }
  Letters letters() const { return {{"n", n}, {"t", taps}, {"p", places}, {"d", axes}}; }
};

// grid: [N, places..., axes]. Modes: 0 linear, 1 nearest, 2 cubic.
std::optional<Sampling> sampling_of(const OpCall& call) {
  const TensorView* grid = call.tensor("grid");
  const auto mode = call.integer("interpolation_mode").value_or(0);
  if (grid == nullptr || grid->rank() < 4 || grid->rank() > 5 || call.outputs.empty()) return std::nullopt;
  const std::int64_t axes = grid->dim(-1);
  if (axes < 2 || axes > 3 || mode < 0 || mode > 2) return std::nullopt;
  const Count taps = mode == 1 ? 1 : mode == 2 ? 16 : Count{1 << axes};
  return Sampling{call.outputs[0].numel, grid->numel / Count{axes}, axes, taps};
}

// theta [N, d, d+1] times a base grid of `places`.
MaybeWork affine_grid(const OpCall& call) {
  const TensorView* theta = call.tensor("theta");
  if (theta == nullptr || theta->rank() != 3 || call.outputs.empty()) return std::nullopt;
  return Work{.macs = call.outputs[0].numel * Count{theta->dim(2)}};
}

constexpr Family row{.category = Category::kResize, .fusion = Fusion::kPointwise};

constexpr OpRow antialiased_row(std::string_view name, WorkFunction work) {
  return row(name, work, "2 flops for each tap of each pass") | Confidence::kEstimated;
}

constexpr OpRow grid_row(std::string_view name) {
  return row(name, work_from<sampling_of>, "n*(2*t-1) + p*(6*d + t*(d-1)) flops") | letters_from<sampling_of>;
}

// Every pair of N boxes: four bounds, two sides, two clamps, two areas, a union, a ratio, a compare.
constexpr unsigned kPerPair = 13;

MaybeWork nms(const OpCall& call) {
  const TensorView* boxes = call.tensor("dets");
  if (boxes == nullptr || boxes->rank() != 2) return std::nullopt;
  const Count n = boxes->dim(0);
  return Work{.other_flops = n * (n - 1) / 2 * kPerPair};
}

Letters nms_letters(const OpCall& call) {
  const TensorView* boxes = call.tensor("dets");
  if (boxes == nullptr) return {};
  return {{"N", boxes->dim(0)}};
}

// Each output averages s*s bilinear samples of 4 taps (7 flops); s is 2 where it follows the region's size.
MaybeWork roi_align(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const auto ratio = call.integer("sampling_ratio").value_or(0);
  const Count s = ratio > 0 ? ratio : 2;
  return Work{.other_flops = call.outputs[0].numel * s * s * 8};
}

// A bin's size follows the region's: as many elements as the input has per output, on average one per
// element.
MaybeWork roi_pool(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  return Work{.other_flops = call.inputs[0].numel};
}

// A convolution whose taps are sampled bilinearly (7 flops), then weighed by the mask.
struct Deformed {
  Count macs, samples, out, masked, biased;
  Work work() const { return {.macs = macs, .other_flops = samples * (masked + 7) + out * biased}; }
  Letters letters() const { return {{"c", macs}, {"s", samples}, {"u", masked}, {"y", out}, {"b", biased}}; }
};

std::optional<Deformed> deformed(const OpCall& call) {
  const TensorView *x = call.tensor("input"), *weight = call.tensor("weight");
  if (x == nullptr || weight == nullptr || x->rank() != 4 || weight->rank() != 4 || call.outputs.empty())
    return std::nullopt;
  const TensorView& out = call.outputs[0];
  if (out.rank() != 4 || out.dim(1) != weight->dim(0) || weight->dim(0) <= 0) return std::nullopt;
  const Count taps = Count{weight->dim(2)} * Count{weight->dim(3)};
  const Count places = Count{out.dim(0)} * Count{out.dim(2)} * Count{out.dim(3)};
  const bool masked = call.boolean("use_mask").value_or(false);
  return Deformed{.macs = out.numel * (weight->numel / Count{weight->dim(0)}),
                  .samples = places * Count{x->dim(1)} * taps,
                  .out = out.numel,
                  .masked = masked ? 1 : 0,
                  .biased = call.tensor("bias") != nullptr ? 1 : 0};
}

constexpr Family roi_row{
    .category = Category::kPool, .fusion = Fusion::kBarrier, .confidence = Confidence::kEstimated};
constexpr Family deform_row{
    .category = Category::kConv, .fusion = Fusion::kAnchor, .letters = letters_from<deformed>};
constexpr Family nms_row{.category = Category::kSort,
                         .fusion = Fusion::kBarrier,
                         .confidence = Confidence::kUpperBound,
                         .letters = nms_letters};

constexpr OpRow kRows[] = {
    grid_row("aten::_grid_sampler_2d_cpu_fallback aten::grid_sampler_2d aten::grid_sampler_3d"),
    antialiased_row("aten::_upsample_bicubic2d_aa", antialiased<4>),
    antialiased_row("aten::_upsample_bilinear2d_aa", antialiased<2>),
    row("aten::_upsample_nearest_exact1d aten::_upsample_nearest_exact2d aten::_upsample_nearest_exact3d "
        "aten::upsample_nearest1d aten::upsample_nearest3d",
        no_work, "none"),
    row("aten::affine_grid_generator", affine_grid, "n MACs for each of the d+1 columns of theta"),
    grid_row("aten::grid_sampler") | fvcore(fvcore_elements<0, 4>),
    row("aten::upsample_bicubic2d", pointwise<35>, "35*n flops (five cubics of four taps)"),
    row("aten::upsample_bilinear2d", pointwise<9>, "9*n flops") | fvcore(fvcore_elements<0, 4>),
    row("aten::upsample_linear1d", pointwise<3>, "3*n flops"),
    row("aten::upsample_nearest2d", no_work, "none") | fvcore(fvcore_elements<0, 1>),
    row("aten::upsample_trilinear3d", pointwise<21>, "21*n flops"),
    deform_row("torchvision::deform_conv2d", work_from<deformed>,
               "c MACs + s*(7+u) flops (sampling, mask) + b*y adds (bias)"),
    nms_row("torchvision::nms", nms, "13*N*(N-1)/2 flops") | kSizedByData | limited_by("nms"),
    roi_row("torchvision::ps_roi_align torchvision::roi_align", roi_align, "8*n*s*s flops for s*s samples"),
    roi_row("torchvision::ps_roi_pool", roi_pool, "m adds"),
    roi_row("torchvision::roi_pool", roi_pool, "m compares"),
};

}  // namespace

std::span<const OpRow> resize_rules() { return kTable<kRows>; }

}  // namespace opscope
