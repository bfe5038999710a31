// The cost table: one row per op, one file per family. "Costs nothing" is a row with no_work; "we do not
// know" is no row. In-place ops ("aten::relu_") use the row of their functional twin unless they have one.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/count.h"
#include "ops/op_call.h"

namespace opscope {

// Kept apart until a convention is applied: multiply-accumulates, other arithmetic (one per add, multiply,
// compare, ...), and specials (exp, tanh, rsqrt, division excluded: one each).
struct Work {
  Count macs = {}, other_flops = {}, specials = {};
  Work& operator+=(const Work& o) {
    macs += o.macs, other_flops += o.other_flops, specials += o.specials;
    return *this;
  }
  friend bool operator==(const Work&, const Work&) = default;
};

// Activation bytes read and written, parameter and buffer bytes read.
struct Traffic {
  Count input_bytes = {}, output_bytes = {}, weight_bytes = {};
  Count total() const { return input_bytes + output_bytes + weight_bytes; }
  Traffic& operator+=(const Traffic& o) {
    input_bytes += o.input_bytes, output_bytes += o.output_bytes, weight_bytes += o.weight_bytes;
    return *this;
  }
  friend bool operator==(const Traffic&, const Traffic&) = default;
};

enum class Category : std::uint8_t {
  kConv,
  kMatmul,
  kAttention,
  kNorm,
  kActivation,
  kPointwise,
  kSoftmax,
  kReduction,
  kPool,
  kEmbedding,
  kRecurrent,
  kResize,
  kIndex,
  kSort,
  kCopy,
  kCreate,
  kRandom,
  kView,
  kMetadata,
  kFft,
  kQuantised,
  kLoss,
  kCustom,
};
std::string_view name(Category category);

// What a fusing compiler may do with the op.
enum class Fusion : std::uint8_t { kAnchor, kPointwise, kReduction, kView, kBarrier };
std::string_view name(Fusion fusion);

// How far a number can be trusted, best first.
enum class Confidence : std::uint8_t { kExact, kEstimated, kUpperBound, kUnknown };
std::string_view name(Confidence confidence);  // "exact", "estimated", "upper_bound", "unknown"

struct OpRule {
  std::string_view name;  // "aten::conv2d"
  Category category = Category::kPointwise;
  Fusion fusion = Fusion::kBarrier;
  // nullopt: this call is not one the row understands; the estimator says unknown.
  std::optional<Work> (*work)(const OpCall&) = nullptr;
  // nullptr: every input read once, every output written once.
  std::optional<Traffic> (*traffic)(const OpCall&) = nullptr;
  // What fvcore 0.1.5 counts for the same call, in its own unit; nullptr: nothing.
  Count (*fvcore)(const OpCall&) = nullptr;
  // FlopCounterMode counts 2 per MAC of this op; false: it does not see it.
  bool in_torch_counter = false;
  // Where what it counts is not 2 per MAC (a matmul that runs as mv, a complex product): its own count.
  Count (*torch)(const OpCall&) = nullptr;
  Confidence confidence = Confidence::kExact;
  // Where it is not the same for every call; nullptr: as above.
  Confidence (*confidence_of)(const OpCall&) = nullptr;
  // "m*k*n MACs + m*n adds", and the letters' values for one call; without a function of its own, n is the
  // elements of the first output and m those of the first input.
  std::string_view formula;
  std::vector<std::pair<std::string_view, Count>> (*letters)(const OpCall&) = nullptr;
};

// The row for an op's name, or nullptr.
const OpRule* find_rule(std::string_view op_name);
// Every input read once, every output written once: what a row without a traffic function moves.
Traffic default_traffic(const OpCall& call);
// Every row, sorted by name.
std::span<const OpRule* const> all_rules();

}  // namespace opscope
