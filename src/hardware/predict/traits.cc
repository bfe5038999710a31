#include "hardware/predict/traits.h"

#include <algorithm>
#include <cmath>

#include "hardware/predict/neighbours.h"

namespace opscope {
namespace {

class TraitWriter {
 public:
  void add(double value) {
    if (count_ < traits_.size()) traits_[count_++] = static_cast<float>(value);
  }
  void add_log(double value) { add(std::log2(std::max(value, 1e-9))); }
  // Sizes of a product as a kernel's tiles cut it: how many, how many turns of all processors, how full the
  // last of them is and the tiles at the edge.
  void add_tiles(double rows, double columns, double count, double tile_rows, double tile_columns) {
    const double down = std::ceil(rows / tile_rows), across = std::ceil(columns / tile_columns);
    const double turns = down * across * count / kProcessors;
    add(std::ceil(turns)), add(turns / std::max(std::ceil(turns), 1.0));
    add(rows * columns / std::max(down * across * tile_rows * tile_columns, 1.0));
  }
  void add_product(double rows, double columns, double inner, double count) {
    for (const auto& [down, across] :
         {std::pair{64.0, 64.0}, std::pair{128.0, 128.0}, std::pair{128.0, 256.0}})
      add_tiles(rows, columns, count, down, across);
    add(inner / (64 * std::max(std::ceil(inner / 64), 1.0)));
    add_log(std::min(rows, columns)), add_log(std::max(rows, columns)), add_log(rows * columns * count),
        add_log(inner);
  }
  const Traits& traits() const { return traits_; }

 private:
  Traits traits_{};
  std::size_t count_ = 0;
};

// A size as it was before its logarithm was taken.
double size_of(const OpFeatures& op, std::size_t i) {
  return std::round(std::exp2(static_cast<double>(op.sizes[i])));
}

}  // namespace

Traits traits_of(const OpFeatures& op, const FamilyRates& rates) {
  TraitWriter out;
  for (const float size : op.sizes) out.add(static_cast<double>(size));
  for (std::size_t i = 0; i < OpFeatures::kKinds; ++i) out.add(op.kind >> i & 1u);
  const double compute = rates.flop_rate > 0 ? op.work() / rates.flop_rate : 0;
  const double memory = rates.byte_rate > 0 ? op.bytes / rates.byte_rate : 0;
  out.add_log(seconds_by(rates, op)), out.add_log(compute), out.add_log(memory);
  out.add(std::log2(std::max(compute, 1e-9) / std::max(memory, 1e-9)));
  out.add_log(op.others), out.add_log(op.steps);
  out.add(static_cast<double>(element_bytes(op.dtype))), out.add(static_cast<double>(op.group));
  // Ops in an order that says nothing: enough for trees to tell them apart.
  out.add(static_cast<double>(op.op & 63u)), out.add(static_cast<double>(op.op >> 6 & 63u));
  switch (op.family) {
    case OpFamily::kMatmul:  // sizes: work, bytes, rows, columns, inner, count, ...
      out.add_product(size_of(op, 2), size_of(op, 3), size_of(op, 4), size_of(op, 5));
      break;
    case OpFamily::kConv:  // work, bytes, batch, places, filters, channels, kernel, stride, groups, ...
      out.add_product(size_of(op, 2) * size_of(op, 3), size_of(op, 4), size_of(op, 5) * size_of(op, 6),
                      size_of(op, 8));
      break;
    case OpFamily::kAttention:  // work, bytes, heads, places, keys, width, ...
      out.add_product(size_of(op, 3), size_of(op, 5), size_of(op, 4), size_of(op, 2));
      break;
    default:
      break;
  }
  return out.traits();
}

}  // namespace opscope
