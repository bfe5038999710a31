// A graph's ops as rows of numbers, and the figures that follow from such rows. Captured points and points
// that polynomials tell come through the same sums.
#include <algorithm>

#include "analyse/profile/rollup.h"
#include "analyse/sweep/surface.h"
#include "graph/reads.h"

namespace opscope {
namespace {

bool reads_weights(const Graph& graph, const Op& op) {
  bool any = false;
  each_read(graph, op, [&](ValueId id) { any |= graph.values[id].kind == ValueKind::kParameter; });
  return any;
}

Products products_of(const Graph& graph, const Op& op, Category category, Count weight_bytes) {
  if (category == Category::kConv) return Products::kConvolution;
  if (category == Category::kAttention) return Products::kAttention;
  if (category != Category::kMatmul) return Products::kOther;
  return weight_bytes || reads_weights(graph, op) ? Products::kLinear : Products::kAttention;
}

Parameters parameters_of(std::span<const std::uint64_t> numbers) {
  return {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
}

}  // namespace

SweepSample sample_of(const Graph& graph, Convention convention) {
  SweepSample sample;
  const auto costs = estimate(graph, convention);
  const auto pieces = memory_pieces(graph);
  const auto splits = memory_splits(graph, pieces);
  sample.numbers.reserve(graph.ops.size() * kOpNumbers + kParameterNumbers);
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const OpCost& cost = costs[i];
    const Category category = cost.rule != nullptr ? cost.rule->category : Category::kCustom;
    sample.ops.push_back({category, product_dtype(graph, op), cost.confidence,
                          products_of(graph, op, category, cost.traffic.weight_bytes)});
    for (const Count each : {cost.work.macs, cost.work.other_flops, cost.work.specials, cost.flops,
                             cost.traffic.input_bytes, cost.traffic.output_bytes, cost.traffic.weight_bytes})
      sample.numbers.push_back(each.value());
    for (const Count bytes : splits[i].bytes) sample.numbers.push_back(bytes.value());
  }
  const Parameters parameters = all_parameters(graph);
  for (const Count each : {parameters.total, parameters.trainable, parameters.bytes, parameters.buffers,
                           parameters.buffer_bytes})
    sample.numbers.push_back(each.value());
  return sample;
}

SweepFigures figures_of(const SweepSample& sample, const ProfileOptions& options) {
  std::vector<CountedOp> ops;
  ops.reserve(sample.ops.size());
  MemorySplit peak;
  Count most;
  const std::span<const std::uint64_t> numbers(sample.numbers);
  for (std::size_t i = 0; i < sample.ops.size(); ++i) {
    const auto row = numbers.subspan(i * kOpNumbers, kOpNumbers);
    ops.push_back({&sample.ops[i], 1, cost_of(sample.ops[i], row)});
    MemorySplit split;
    std::copy(row.begin() + kCostNumbers, row.end(), split.bytes.begin());
    if (const Count total = split.total(); i == 0 || total > most) most = total, peak = split;
  }
  SweepFigures figures = sum_up(ops, options);
  figures.parameters = parameters_of(numbers.last(kParameterNumbers));
  figures.at_peak = peak, figures.peak_memory_bytes = most;
  return figures;
}

}  // namespace opscope
