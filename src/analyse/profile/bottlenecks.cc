// Which ops would be limited by arithmetic and which by memory, at the ridge and in the usual bands of
// arithmetic intensity. Ops that do no work and move no bytes are in neither. On a device: the roofline time
// of every op and of the subgraphs, and the ridge of the units that do most of the work.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <tuple>
#include <unordered_map>

#include "analyse/profile/rollup.h"
#include "base/text.h"
#include "hardware/predict/predictor.h"
#include "hardware/predict/simulate.h"

namespace opscope {

Band& operator+=(Band& band, const OpCost& cost) {
  ++band.ops;
  band.flops += cost.flops;
  band.memory_bytes += cost.traffic.total();
  band.roofline_time += cost.roofline_time;
  return band;
}

std::string_view name(Bottleneck bottleneck) {
  return bottleneck == Bottleneck::kComputeBound ? "compute-bound" : "memory-bound";
}

std::string_view word(Bottleneck bottleneck) {
  return name(bottleneck).substr(0, name(bottleneck).find('-'));
}

Bottleneck bottleneck_of(const Metrics& metrics, double ridge) {
  if (!metrics.roofline_time) return bottleneck_of(metrics.flops, metrics.memory_bytes(), ridge);
  const bool compute = metrics.compute_bound_time + metrics.compute_bound_time > metrics.roofline_time;
  return compute ? Bottleneck::kComputeBound : Bottleneck::kMemoryBound;
}

std::string bottleneck_legend(double ridge) {
  return fmt::format("memory-bound up to {:.4g} FLOPs per byte, compute-bound above", ridge);
}

BottleneckSummary sum_bottlenecks(const Profile& profile) {
  BottleneckSummary summary;
  summary.ridge = profile.options.ridge;
  for (const OpCost& cost : profile.costs) {
    const Count bytes = cost.traffic.total();
    if (!cost.flops && !bytes) continue;
    const double intensity = ratio(cost.flops, bytes);
    (is_compute_bound(cost, summary.ridge) ? summary.compute_bound : summary.memory_bound) += cost;
    (intensity > 100   ? summary.over_100
     : intensity >= 50 ? summary.from_50_to_100
     : intensity >= 10 ? summary.from_10_to_50
                       : summary.under_10) += cost;
  }
  return summary;
}

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

// By Confidence.
constexpr std::array kCounters{&Coverage::exact, &Coverage::estimated, &Coverage::upper_bound,
                               &Coverage::unknown};
static_assert(static_cast<std::size_t>(Confidence::kUnknown) + 1 == kCounters.size());

struct UnknownOp {
  OpId first = kNone;
  std::uint64_t count = 0;
};

std::string how_to_declare(std::string_view op, std::uint64_t count) {
  return fmt::format(
      "{} {} not counted: the cost table has no formula for this op; declare one with "
      "opscope.register_op(\"{}\", macs=..., flops=..., bytes=...)",
      count, count == 1 ? "call" : "calls", op);
}

// In the order of first sight. Overloads of one op are one kind; targets of the same name share the string.
std::vector<UnknownOp> unknown_ops(const Graph& graph, Profile& profile) {
  std::vector<UnknownOp> found;
  std::unordered_map<StringId, std::size_t> index;
  for (OpId op = 0; op < profile.costs.size(); ++op) {
    const Confidence confidence = profile.costs[op].confidence;
    ++(profile.coverage.*kCounters[static_cast<std::size_t>(confidence)]);
    if (confidence != Confidence::kUnknown) continue;
    const StringId name = graph.targets[graph.ops[op].target].name;
    const auto [known, is_new] = index.try_emplace(name, found.size());
    if (is_new) found.push_back({.first = op});
    ++found[known->second].count;
  }
  return found;
}

const Peak* peak_of(const Graph& graph, const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  std::map<const Peak*, Count> macs;
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    const OpCost& cost = profile.costs[i];
    if (!cost.work.macs) continue;
    const Category category = cost.rule != nullptr ? cost.rule->category : Category::kCustom;
    macs[product_peak(*roofline.device, category, product_dtype(graph, graph.ops[i]), roofline.float32)] +=
        cost.work.macs;
  }
  return main_peak(*roofline.device, macs);
}

}  // namespace

std::vector<Advice> advise(const Profile& profile) {
  std::vector<Advice> found;
  const Count all = profile.totals.flops;
  for (const Finding& finding : kFindings) {
    Count flops;
    for (const TypeRow& row : profile.types())
      if (std::ranges::count(finding.categories, row.category) > 0) flops += row.metrics.flops;
    if (!all || static_cast<double>(flops) <= finding.above * static_cast<double>(all)) continue;
    std::string text = std::string(finding.label) + " " + format_percent(flops, all) + " of FLOPs";
    // What decides in general comes first; on a device its roofline knows better.
    const auto suggestions = finding.suggestions.subspan(profile.roofline.device != nullptr ? 1 : 0);
    found.push_back({std::move(text), {suggestions.begin(), suggestions.end()}});
  }
  return found;
}

void assess_coverage(const Graph& graph, Profile& profile) {
  profile.coverage.ops = profile.costs.size();
  for (const UnknownOp& entry : unknown_ops(graph, profile)) {
    const Op& op = graph.ops[entry.first];
    const std::string name(graph.op_name(op));
    profile.coverage.unknown_ops.push_back({name, entry.count});
    profile.diagnostics.push_back({"unknown_op", name, std::string(graph.path(graph.module_of(op))),
                                   how_to_declare(name, entry.count)});
  }
  std::ranges::sort(profile.coverage.unknown_ops, [](const SlowOp& a, const SlowOp& b) {
    return std::tie(b.count, a.op) < std::tie(a.count, b.op);
  });
}

OpTypes::OpTypes(const Graph& graph) {
  std::unordered_map<std::string_view, std::uint32_t> ids;
  of_target.reserve(graph.targets.size());
  for (const Target& target : graph.targets) {
    const std::string_view type = op_type(graph.text(target.name));
    const auto [found, added] = ids.try_emplace(type, static_cast<std::uint32_t>(names.size()));
    if (added) names.push_back(type);
    of_target.push_back(found->second);
  }
}

std::vector<TypeRow> type_rows(const Profile& profile) {
  const OpTypes types(*profile.graph);
  std::vector<TypeRow> rows(types.names.size());
  for (std::size_t i = 0; i < profile.costs.size(); ++i) {
    TypeRow& row = rows[types.of_target[profile.graph->ops[i].target]];
    row.metrics += profile.costs[i];
    if (const OpRule* rule = profile.costs[i].rule) row.category = rule->category;
  }
  for (std::size_t t = 0; t < rows.size(); ++t) rows[t].type = types.names[t];
  std::erase_if(rows, [](const TypeRow& row) { return row.metrics.ops == 0; });
  std::ranges::sort(rows, [](const TypeRow& a, const TypeRow& b) {
    return std::tuple(b.metrics.flops, b.metrics.memory_bytes(), std::string_view(a.type)) <
           std::tuple(a.metrics.flops, a.metrics.memory_bytes(), std::string_view(b.type));
  });
  return rows;
}

void set_roofline(OpCost& cost, const RooflineTime& time, const ProfileOptions& options) {
  cost.roofline_known = time.known;
  if (!time.known) return;
  cost.roofline_time = picoseconds(time.seconds());
  cost.compute_bound = options.ridge_is_given
                           ? is_compute_bound(cost.flops, cost.traffic.total(), options.ridge)
                           : time.compute_seconds() > time.memory_seconds;
}

void assess_roofline(const Graph& graph, Profile& profile) {
  ProfileOptions& options = profile.options;
  // What was asked for, or what the times were measured on.
  if (!options.hardware && !graph.measurement.empty())
    options.hardware = measured_device(graph.measurement.environment);
  if (!options.hardware) return;
  RooflineSummary& roofline = profile.roofline;
  roofline.device = options.hardware.get();
  // float32_matmul_precision "high" and "medium" let matmuls use TF32.
  const std::string& measured = graph.measurement.environment.precision;
  const bool lowered = measured == "high" || measured == "medium";
  roofline.float32 = lowered && options.float32 == Float32::kTorch ? Float32::kTf32 : options.float32;
  roofline.peak = peak_of(graph, profile);
  roofline.ridge = roofline.peak->rate.value / roofline.device->memory_bandwidth.value;
  if (!options.ridge_is_given) options.ridge = roofline.ridge;
  roofline.limits.resize(graph.ops.size());
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    OpCost& cost = profile.costs[i];
    const RooflineTime time =
        roofline_time(*roofline.device, cost, product_dtype(graph, graph.ops[i]), roofline.float32);
    set_roofline(cost, time, options);
    roofline.limits[i] = limit_of(*roofline.device, time);
    roofline.kernels += cost.roofline_time || !time.known;
    roofline.by_limit[static_cast<std::size_t>(roofline.limits[i])] += cost;
  }
}

void assess_prediction(const Graph& graph, Profile& profile) {
  const ProfileOptions& options = profile.options;
  if (!options.hardware) return;
  const PredictorPointer predictor = predictor_for(options.hardware, options.calibration);
  std::optional<Partition> partition;
  if (options.mode == RunMode::kCompiled) partition = make_partition(graph, profile.costs, options.partition);
  profile.predicted =
      simulate(graph, profile.costs, predictor,
               {.mode = options.mode, .host_speed = options.host_speed, .float32 = profile.roofline.float32},
               partition ? &*partition : nullptr);
  for (OpId i = 0; i < graph.ops.size(); ++i) set_prediction(profile.costs[i], profile.predicted.ops[i]);
}

void set_prediction(OpCost& cost, const OpShare& share) {
  cost.predicted_known = share.is_idle || share.source != TimeSource::kUnknown;
  cost.predicted_time = picoseconds(share.seconds);
  cost.predicted_wait = picoseconds(std::max(share.seconds - share.device_seconds, 0.0));
  const double nanoseconds = share.own_spread / kNanosecond;
  cost.predicted_variance = Count{static_cast<std::uint64_t>(std::min(nanoseconds * nanoseconds, 1e18))};
}

// Arithmetic as of the ops, bytes as of the one kernel.
FusedRoofline fuse_roofline(const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  FusedRoofline fused;
  if (roofline.device == nullptr) return fused;
  const Graph& graph = *profile.graph;
  for (const Subgraph& subgraph : profile.partition().subgraphs) {
    RooflineTime time;
    for (const OpId op : profile.partition().ops_of(subgraph))
      time += roofline_time(*roofline.device, profile.costs[op], product_dtype(graph, graph.ops[op]),
                            roofline.float32);
    time.memory_seconds = memory_seconds(*roofline.device, subgraph.memory_bytes());
    if (time.known)
      fused.time += picoseconds(time.seconds());
    else
      ++fused.unknown;
    fused.subgraphs.push_back(time);
  }
  return fused;
}

}  // namespace opscope
