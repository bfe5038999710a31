// torchvision's own ops. Region ops sample an unknown number of points unless told, and suppression ends at
// an unknown pair: estimates and upper bounds.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

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

struct Deformed {
  Count macs, samples, out, masked, biased;
};

// A convolution whose taps are sampled bilinearly (7 flops), then weighed by the mask.
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

MaybeWork deform_conv(const OpCall& call) {
  const auto d = deformed(call);
  if (!d) return std::nullopt;
  return Work{.macs = d->macs, .other_flops = d->samples * (d->masked + 7) + d->out * d->biased};
}

Letters deform_letters(const OpCall& call) {
  const auto d = deformed(call);
  if (!d) return {};
  return {{"c", d->macs}, {"s", d->samples}, {"u", d->masked}, {"y", d->out}, {"b", d->biased}};
}

constexpr OpRule roi_row(std::string_view name, WorkFunction work, std::string_view formula) {
  return {.name = name,
          .category = Category::kPool,
          .fusion = Fusion::kBarrier,
          .work = work,
          .confidence = Confidence::kEstimated,
          .formula = formula};
}

constexpr OpRow kRules[] = {
    OpRule{.name = "torchvision::deform_conv2d",
           .category = Category::kConv,
           .fusion = Fusion::kAnchor,
           .work = deform_conv,
           .formula = "c MACs + s*(7+u) flops (sampling, mask) + b*y adds (bias)",
           .letters = deform_letters},
    OpRule{.name = "torchvision::nms",
           .category = Category::kSort,
           .fusion = Fusion::kBarrier,
           .work = nms,
           .confidence = Confidence::kUpperBound,
           .formula = "13*N*(N-1)/2 flops",
           .letters = nms_letters} |
        kSizedByData | limited_by("nms"),
    roi_row("torchvision::ps_roi_align", roi_align, "8*n*s*s flops for s*s samples"),
    roi_row("torchvision::ps_roi_pool", roi_pool, "m adds"),
    roi_row("torchvision::roi_align", roi_align, "8*n*s*s flops for s*s samples"),
    roi_row("torchvision::roi_pool", roi_pool, "m compares"),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> vision_rules() { return kRules; }

}  // namespace opscope
