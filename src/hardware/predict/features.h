// An op as predictions see it: what it computes and moves, and the sizes that decide how well a device does
// it, as logarithms, so that ops of like sizes lie near each other.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "cost/cost.h"
#include "graph/graph.h"

namespace opscope {

// Ops whose times follow one rule.
enum class OpFamily : std::uint8_t {
  kMatmul,
  kConv,
  kAttention,
  kRecurrent,
  kNorm,
  kSoftmax,
  kReduction,
  kPool,
  kPointwise,
  kCopy,
  kGather,
  kCreate,
  kSort,
  kOther,
};
inline constexpr std::size_t kFamilies = 14;
std::string_view name(OpFamily family);
std::optional<OpFamily> family_named(std::string_view text);
OpFamily family_of(Category category);
// Of an op by its name alone; kOther where the cost table has no row for it.
OpFamily family_of(std::string_view op_name);

// Within a family, ops that run by kernels of their own kind, and so at rates of their own.
enum class OpGroup : std::uint8_t {
  kPlain,
  kBackward,
  kUnaligned8,  // products: rows of a matrix begin at multiples of so many bytes only, not of 16
  kUnaligned4,
  kUnaligned2,
  kExperts,
  kPoint,  // convolutions: of one place
  kPointBackward,
  kFirst,  // of a few channels
  kFirstBackward,
  kGrouped,
  kGroupedBackward,
  kDepthwise,
  kDepthwiseBackward,
  kTransposed,
  kTransposedBackward,
  kBatchNorm,
  kBatchNormBackward,
  kGroupNorm,
  kGroupNormBackward,
  kLinearResize,
  kCubicResize,
  kLstm,
  kGru,
  kForeach,
  kUnfused,  // attention that no fused kernel takes: products and a softmax
  kPadded,   // whose heads are filled up to a multiple of 8 first
  kMasked,   // of halves with a mask
};
std::string_view name(OpGroup group);
std::optional<OpGroup> group_named(std::string_view text);

inline constexpr double kProcessors = 132;  // as a large GPU has them: what tiles of products take turns at

struct OpFeatures {
  static constexpr std::size_t kSizes = 20, kKinds = 16;
  // Another number where what is read off an op has changed: files hold features.
  static constexpr int kVersion = 3;

  OpFamily family = OpFamily::kOther;
  OpGroup group = OpGroup::kPlain;
  DType dtype = DType::kUndefined;  // that it computes in
  std::uint64_t op = 0;             // its type: a hash of "conv2d"
  double products = 0;              // FLOPs of its products
  double others = 0;                // all other arithmetic
  double bytes = 0;                 // moved
  double steps = 0;        // that follow one another, whatever the device has: of a recurrence, a row;
                           // bytes that a product copies before and after
  double chain = 0;        // steps of a recurrent layer in all directions, each with kernels of its own
  std::uint32_t kind = 0;  // bits: layout, alignment, what else is there or not
  std::uint32_t size_count = 0;
  std::array<float, kSizes> sizes{};  // log2

  double work() const { return products > 0 ? products : others; }
};

// `dtype`: product_dtype's.
OpFeatures features_of(const OpCall& call, const OpCost& cost, DType dtype);

}  // namespace opscope
