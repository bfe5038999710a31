// A graph's ops as rows of numbers, and the figures that follow from such rows: captured points and points
// that polynomials tell come through the same sums. A surface fits every number of every op over a grid of
// captures, keeps each polynomial once, and of the ops' memory only what can be the peak.
#include "analyse/sweep/surface.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analyse/profile/rollup.h"
#include "base/groups.h"
#include "graph/graph.h"
#include "hardware/predict/predictor.h"
#include "hardware/predict/simulate.h"

namespace opscope {
namespace {

// Ops that are the same.
struct CountedOp {
  const SweptOp* op = nullptr;
  std::uint64_t count = 1;
  OpCost cost{};
};

// From kCostNumbers numbers, in the order of a sample's.
OpCost cost_of(const SweptOp& op, std::span<const std::uint64_t> numbers) {
  OpCost cost;
  cost.work = {numbers[0], numbers[1], numbers[2]};
  cost.flops = numbers[3];
  cost.traffic = {numbers[4], numbers[5], numbers[6]};
  cost.confidence = op.confidence;
  return cost;
}

const Peak* peak_of(std::span<const CountedOp> ops, const Device& device, Float32 float32) {
  std::map<const Peak*, Count> macs;
  for (const CountedOp& each : ops)
    if (each.cost.work.macs)
      macs[product_peak(device, each.op->category, each.op->dtype, float32)] +=
          each.cost.work.macs * Count{each.count};
  return main_peak(device, macs);
}

void add_times(std::span<CountedOp> ops, const Device& device, const ProfileOptions& options) {
  for (CountedOp& each : ops) {
    OpRule rule;  // of which the roofline asks the category alone
    rule.category = each.op->category;
    each.cost.rule = &rule;
    set_roofline(each.cost, roofline_time(device, each.cost, each.op->dtype, options.float32), options);
    each.cost.rule = nullptr;
  }
}

Metrics times(const OpCost& cost, std::uint64_t count) {
  Metrics one;
  one += cost;
  one.each_count([&](Count& each) { each *= Count{count}; });
  one.ops *= count, one.roofline_unknown *= count;
  return one;
}

// All but parameters and memory, as make_profile adds them, with equal ops counted at once.
SweepFigures sum_up(std::span<CountedOp> ops, const ProfileOptions& options) {
  SweepFigures figures;
  figures.ridge = options.ridge;
  if (options.hardware) {
    const Device& device = *options.hardware;
    add_times(ops, device, options);
    if (!options.ridge_is_given)
      figures.ridge = peak_of(ops, device, options.float32)->rate.value / device.memory_bandwidth.value;
  }
  for (const CountedOp& each : ops) {
    const Metrics metrics = times(each.cost, each.count);
    figures.totals += metrics;
    if (is_compute_bound(each.cost, figures.ridge)) figures.compute_bound_flops += metrics.flops;
    if (each.op->products == Products::kLinear) figures.linear_flops += metrics.flops;
    if (each.op->products == Products::kAttention) figures.attention_flops += metrics.flops;
  }
  return figures;
}

Products products_of(const Graph& graph, const Op& op, Category category, Count weight_bytes) {
  if (category == Category::kAttention) return Products::kAttention;
  if (category != Category::kMatmul) return Products::kOther;
  bool reads_weights = static_cast<bool>(weight_bytes);
  each_read(graph, op, [&](ValueId id) { reads_weights |= graph.values[id].kind == ValueKind::kParameter; });
  return reads_weights ? Products::kLinear : Products::kAttention;
}

void note_peak(SweepFigures& figures, const MemorySplit& split) {
  if (const Count total = split.total(); total > figures.peak_memory_bytes)
    figures.peak_memory_bytes = total, figures.at_peak = split;
}

// Of one number's values at the grid's points.
struct SeriesHash {
  std::size_t operator()(const std::vector<std::uint64_t>& values) const {
    std::uint64_t state = 0xcbf29ce484222325u;
    for (const std::uint64_t each : values) state = (state ^ each) * 0x100000001b3u, state ^= state >> 29;
    return state;
  }
};

bool same_ops(std::span<const SweepSample* const> samples) {
  return std::ranges::all_of(samples, [&](const SweepSample* each) {
    return each->ops == samples[0]->ops && each->numbers.size() == samples[0]->numbers.size();
  });
}

}  // namespace

SweepSample sample_of(const Graph& graph, const ProfileOptions& options) {
  SweepSample sample;
  const auto costs = estimate(graph, options.convention, Experts(graph, options.routing));
  const auto splits = memory_splits(graph, memory_pieces(graph));
  sample.numbers.reserve(graph.ops.size() * kOpNumbers + kParameterNumbers);
  const auto add = [&](const auto& counts) {
    for (const Count each : counts) sample.numbers.push_back(each.value());
  };
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const OpCost& cost = costs[i];
    const Category category = cost.rule != nullptr ? cost.rule->category : Category::kCustom;
    sample.ops.push_back({category, product_dtype(graph, op), cost.confidence,
                          products_of(graph, op, category, cost.traffic.weight_bytes)});
    add(std::array{cost.work.macs, cost.work.other_flops, cost.work.specials, cost.flops,
                   cost.traffic.input_bytes, cost.traffic.output_bytes, cost.traffic.weight_bytes});
    add(splits[i].bytes);
  }
  const Parameters own = all_parameters(graph);
  add(std::array{own.total, own.trainable, own.bytes, own.buffers, own.buffer_bytes});
  return sample;
}

SweepFigures figures_of(const SweepSample& sample, const ProfileOptions& options) {
  std::vector<CountedOp> ops;
  ops.reserve(sample.ops.size());
  const std::span<const std::uint64_t> numbers(sample.numbers);
  for (std::size_t i = 0; i < sample.ops.size(); ++i)
    ops.push_back({&sample.ops[i], 1, cost_of(sample.ops[i], numbers.subspan(i * kOpNumbers, kOpNumbers))});
  SweepFigures figures = sum_up(ops, options);
  const auto own = numbers.last(kParameterNumbers);
  figures.parameters = {own[0], own[1], own[2], own[3], own[4]};
  for (std::size_t i = 0; i < sample.ops.size(); ++i) {
    MemorySplit split;
    std::ranges::copy(numbers.subspan(i * kOpNumbers + kCostNumbers, kMemoryKinds), split.bytes.begin());
    note_peak(figures, split);
  }
  return figures;
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
                            .has_device = static_cast<bool>(figures.totals.roofline_time),
                            .is_predicted = !figures.times.empty()});
}

std::vector<SweepTime> times_of(const Graph& graph, const ProfileOptions& options,
                                std::span<const ProfileOptions> others, std::vector<std::string>* notes) {
  std::vector<SweepTime> times;
  if (!options.hardware) return times;
  std::vector<OpCost> costs = estimate(graph, options.convention, Experts(graph, options.routing));
  std::optional<Partition> partition;
  if (options.mode == RunMode::kCompiled) partition = make_partition(graph, costs, options.partition);
  const auto add = [&](const ProfileOptions& each) {
    const PredictedRun run =
        simulate(graph, costs, predictor_for(each.hardware, each.calibration),
                 {.mode = each.mode, .host_speed = each.host_speed, .float32 = each.float32},
                 partition ? &*partition : nullptr);
    SweepTime& time = times.emplace_back(SweepTime{.run_spread = run.run_spread});
    for (OpId i = 0; i < graph.ops.size(); ++i)
      set_prediction(costs[i], run.ops[i]), time.metrics += costs[i];
    if (notes == nullptr) return;
    for (std::string& note : prediction_notes(run))
      if (std::ranges::find(*notes, note) == notes->end()) notes->push_back(std::move(note));
  };
  add(options);
  for (const ProfileOptions& each : others) add(each);
  return times;
}

void SweepFigures::add_times(std::vector<SweepTime> found) {
  times = std::move(found);
  if (!times.empty()) take_prediction(times.front().metrics);
}

void SweepFigures::take_prediction(const Metrics& own) {
  totals.predicted_time = own.predicted_time, totals.predicted_wait = own.predicted_wait;
  totals.predicted_variance = own.predicted_variance, totals.predicted_unknown = own.predicted_unknown;
}

std::optional<SweepSurface> SweepSurface::fit(const Grid& grid, std::span<const SweepSample* const> samples,
                                              std::span<const Graph* const> graphs) {
  if (samples.empty() || !same_ops(samples)) return std::nullopt;
  SweepSurface surface;
  surface.ops_ = samples[0]->ops;
  const Interpolation interpolation(grid);
  std::unordered_map<std::vector<std::uint64_t>, std::uint32_t, SeriesHash> known;
  std::vector<std::uint64_t> values(samples.size());
  for (std::size_t i = 0; i < samples[0]->numbers.size(); ++i) {
    for (std::size_t s = 0; s < samples.size(); ++s) values[s] = samples[s]->numbers[i];
    const auto next = static_cast<std::uint32_t>(surface.polynomials_.size());
    const auto [found, is_new] = known.emplace(values, next);
    surface.series_.push_back(found->second);
    if (!is_new) continue;
    auto polynomial = interpolation.fit(values);
    if (!polynomial || std::ranges::find(values, Count::kMax) != values.end()) return std::nullopt;
    surface.polynomials_.push_back(*std::move(polynomial));
  }
  surface.group_ops();
  surface.find_peaks();
  if (!graphs.empty()) surface.graph_ = SizedGraph::fit(grid, graphs);
  return surface;
}

void SweepSurface::group_ops() {
  std::map<std::pair<SweptOp, std::array<std::uint32_t, kCostNumbers>>, std::size_t> known;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    OpClass made{.op = ops_[i]};
    std::ranges::copy(std::span(series_).subspan(i * kOpNumbers, kCostNumbers), made.numbers.begin());
    const auto [found, is_new] = known.try_emplace({made.op, made.numbers}, classes_.size());
    if (is_new) classes_.push_back(made);
    ++classes_[found->second].count;
  }
}

// An op whose memory another's is never below is no peak. Of equals the first stays, as the timeline has it.
void SweepSurface::find_peaks() {
  std::set<Split> seen;
  std::vector<Polynomial> totals;
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    Split split;
    std::ranges::copy(std::span(series_).subspan(i * kOpNumbers + kCostNumbers, kMemoryKinds), split.begin());
    if (!seen.insert(split).second) continue;
    std::optional<Polynomial> total = polynomials_[split[0]];
    for (std::size_t kind = 1; kind < kMemoryKinds && total; ++kind)
      total = Polynomial::sum(*total, polynomials_[split[kind]]);
    if (!total ||
        std::ranges::any_of(totals, [&](const Polynomial& each) { return each.is_never_below(*total); }))
      continue;
    totals.push_back(*std::move(total)), peaks_.push_back(split);
  }
  for (const OpClass& each : classes_) used_.insert(used_.end(), each.numbers.begin(), each.numbers.end());
  for (const Split& each : peaks_) used_.insert(used_.end(), each.begin(), each.end());
  used_.insert(used_.end(), series_.end() - kParameterNumbers, series_.end());
  sort_unique(used_);
}

bool SweepSurface::agrees(std::span<const std::int64_t> place, const SweepSample& sample) const {
  if (sample.ops != ops_ || sample.numbers.size() != series_.size()) return false;
  const auto x = variables_of(place);
  std::vector<std::optional<std::uint64_t>> values;
  for (const Polynomial& each : polynomials_) values.push_back(each.at(x));
  for (std::size_t i = 0; i < series_.size(); ++i)
    if (values[series_[i]] != sample.numbers[i]) return false;
  return true;
}

std::optional<SweepFigures> SweepSurface::at(std::span<const std::int64_t> place,
                                             const ProfileOptions& options) const {
  const auto x = variables_of(place);
  std::vector<std::uint64_t> values(polynomials_.size());
  for (const std::uint32_t id : used_) {
    const auto value = polynomials_[id].at(x);
    if (!value) return std::nullopt;
    values[id] = *value;
  }
  std::vector<CountedOp> ops(classes_.size());
  std::array<std::uint64_t, kCostNumbers> numbers;
  for (std::size_t c = 0; c < classes_.size(); ++c) {
    for (std::size_t n = 0; n < kCostNumbers; ++n) numbers[n] = values[classes_[c].numbers[n]];
    ops[c] = {&classes_[c].op, classes_[c].count, cost_of(classes_[c].op, numbers)};
  }
  SweepFigures figures = sum_up(ops, options);
  const auto own = std::span(series_).last(kParameterNumbers);
  figures.parameters = {values[own[0]], values[own[1]], values[own[2]], values[own[3]], values[own[4]]};
  for (const Split& candidate : peaks_) {
    MemorySplit split;
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) split.bytes[kind] = values[candidate[kind]];
    note_peak(figures, split);
  }
  return figures;
}

void SweepSurface::check_times(std::span<const std::int64_t> place, const Graph& graph) {
  if (graph_ && !graph_->agrees(variables_of(place), graph)) graph_.reset();
}

std::vector<SweepTime> SweepSurface::times_at(std::span<const std::int64_t> place,
                                              const ProfileOptions& options,
                                              std::span<const ProfileOptions> others) const {
  const Graph* graph = graph_ ? graph_->at(variables_of(place)) : nullptr;
  return graph != nullptr ? times_of(*graph, options, others) : std::vector<SweepTime>();
}

void SweepSurface::hold_within(std::vector<Bound> bounds, std::span<const std::int64_t> farthest) {
  bounds_ = std::move(bounds);
  for (Polynomial& each : polynomials_) each.promise_within(farthest);
  if (graph_) graph_->promise_within(farthest);
}

bool SweepSurface::holds(std::span<const std::int64_t> place) const {
  return std::ranges::equal(place, bounds_, [](std::int64_t at, const Bound& bound) {
    return bound.low <= at && at <= bound.high && (at - bound.low) % bound.step == 0;
  });
}

std::vector<std::int64_t> SweepSurface::variables_of(std::span<const std::int64_t> place) const {
  std::vector<std::int64_t> x;
  for (std::size_t axis = 0; axis < place.size(); ++axis)
    if (bounds_[axis].varies) x.push_back(place[axis]);
  return x;
}

}  // namespace opscope
