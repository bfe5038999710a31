// The totals of a point: as make_profile adds them, with equal ops counted at once.
#include "analyse/sweep/figures.h"

#include <map>

namespace opscope {
namespace {

// The units that most of the products are done by: see roofline.cc.
const Peak* main_peak(std::span<const CountedOp> ops, const Device& device, Float32 float32) {
  std::map<const Peak*, Count> macs;
  for (const CountedOp& each : ops)
    if (each.cost.work.macs)
      macs[product_peak(device, each.op->category, each.op->dtype, float32)] +=
          each.cost.work.macs * Count{each.count};
  const Peak* best = device.peak(Units::kVector, "float32");
  Count most;
  for (const Peak& peak : device.peaks)
    if (const auto found = macs.find(&peak); found != macs.end() && found->second > most)
      best = &peak, most = found->second;
  return best;
}

void add_times(std::span<CountedOp> ops, const Device& device, const ProfileOptions& options) {
  for (CountedOp& each : ops) {
    OpCost& cost = each.cost;
    OpRule rule;  // of which the roofline asks the category alone
    rule.category = each.op->category;
    cost.rule = &rule;
    const RooflineTime time = roofline_time(device, cost, each.op->dtype, options.float32);
    cost.rule = nullptr;
    cost.roofline_known = time.known;
    if (!time.known) continue;
    cost.roofline_time = picoseconds(time.seconds());
    cost.compute_bound =
        options.ridge_is_given
            ? static_cast<double>(cost.flops) > options.ridge * static_cast<double>(cost.traffic.total())
            : time.compute_seconds() > time.memory_seconds;
  }
}

Metrics times(const OpCost& cost, std::uint64_t count) {
  Metrics one;
  one += cost;
  const Count n{count};
  for (Count* each : {&one.work.macs, &one.work.other_flops, &one.work.specials, &one.traffic.input_bytes,
                      &one.traffic.output_bytes, &one.traffic.weight_bytes, &one.flops, &one.roofline_time,
                      &one.compute_bound_time})
    *each *= n;
  one.ops *= count, one.roofline_unknown *= count;
  return one;
}

bool is_compute_bound(const OpCost& cost, double ridge) {
  const Count bytes = cost.traffic.total();
  if (cost.roofline_time) return cost.compute_bound;
  return bytes && static_cast<double>(cost.flops) / static_cast<double>(bytes) > ridge;
}

}  // namespace

double SweepFigures::compute_bound_share() const {
  return totals.flops ? static_cast<double>(compute_bound_flops) / static_cast<double>(totals.flops) : 0;
}

std::optional<Amount> amount_in(const SweepFigures& figures, const Metric& metric) {
  const ModelCosts model{.peak_memory_bytes = figures.peak_memory_bytes,
                         .at_peak = figures.at_peak,
                         .compute_bound_flops = figures.compute_bound_flops,
                         .attention_flops = figures.attention_flops,
                         .linear_flops = figures.linear_flops};
  return amount_of(metric, {.sums = figures.totals,
                            .parameters = &figures.parameters,
                            .model = &model,
                            .has_device = static_cast<bool>(figures.totals.roofline_time)});
}

OpCost cost_of(const SweptOp& op, std::span<const std::uint64_t> numbers) {
  OpCost cost;
  cost.work = {numbers[0], numbers[1], numbers[2]};
  cost.flops = numbers[3];
  cost.traffic = {numbers[4], numbers[5], numbers[6]};
  cost.confidence = op.confidence;
  return cost;
}

SweepFigures sum_up(std::span<CountedOp> ops, const ProfileOptions& options) {
  SweepFigures figures;
  figures.ridge = options.ridge;
  if (options.hardware) {
    const Device& device = *options.hardware;
    add_times(ops, device, options);
    if (!options.ridge_is_given)
      figures.ridge = main_peak(ops, device, options.float32)->rate.value / device.memory_bandwidth.value;
  }
  for (const CountedOp& each : ops) {
    const Metrics metrics = times(each.cost, each.count);
    figures.totals += metrics;
    if (is_compute_bound(each.cost, figures.ridge)) figures.compute_bound_flops += metrics.flops;
    if (each.op->products == Products::kLinear) figures.linear_flops += metrics.flops;
    if (each.op->products == Products::kAttention) figures.attention_flops += metrics.flops;
    if (each.op->products == Products::kConvolution) figures.convolution_flops += metrics.flops;
  }
  return figures;
}

}  // namespace opscope
