// The metrics, in the order in which files list them: everything that any command can show, sort by, plot,
// sweep, hold to a budget or complete.
#include "metrics/metric.h"

namespace opscope {
namespace {

using Text = std::string_view;

Amount quotient(Count part, Count whole) {
  return {{}, whole ? static_cast<double>(part) / static_cast<double>(whole) : 0};
}

// A part of another metric.
constexpr Metric detail(Text key, Text title, Text words, Unit unit, Amount (*of)(const Costs&),
                        Need need = kNeedsNothing, Basis basis = Basis::kWork) {
  return {.key = key,
          .title = title,
          .words = words,
          .unit = unit,
          .of = of,
          .need = need,
          .basis = basis,
          .is_detail = true};
}
// Of what modules own.
template <Count Parameters::*member>
constexpr Metric owned(Text key, Text title, Text words, Text aliases, bool is_detail = true) {
  constexpr auto of = [](const Costs& c) { return counted(c.parameters->*member); };
  Metric metric = detail(key, title, words, Unit::kParams, of, kNeedsParameters, Basis::kModules);
  metric.aliases = aliases, metric.is_detail = is_detail;
  return metric;
}
// Counted over ops.
template <auto get>
constexpr Metric summed(Text key, Text title, Text words, Unit unit = Unit::kCount, bool is_detail = true) {
  constexpr auto of = [](const Costs& c) { return counted(get(c.sums)); };
  const Basis basis = unit == Unit::kBytes ? Basis::kBytes : Basis::kWork;
  Metric metric = detail(key, title, words, unit, of, kNeedsNothing, basis);
  metric.is_detail = is_detail;
  return metric;
}
// In a second of the time that was measured.
template <auto get>
constexpr Metric rate(Text key, Text title, Text words, Unit unit) {
  constexpr auto of = [](const Costs& c) {
    return Amount{{}, c.sums.time ? static_cast<double>(get(c.sums)) / c.sums.time_seconds() : 0};
  };
  Metric metric = detail(key, title, words, unit, of, kNeedsMeasurement);
  metric.better = Better::kMore;
  return metric;
}
// FLOPs that only a whole model has, and their share of all.
template <auto member>
constexpr Metric model_flops(Text key, Text title, Text words) {
  constexpr auto of = [](const Costs& c) { return counted(*(c.model->*member)); };
  return detail(key, title, words, Unit::kCount, of, kNeedsProducts);
}
template <auto member>
constexpr Metric model_share(Text key, Text title, Text words, Need need) {
  constexpr auto of = [](const Costs& c) { return quotient(*(c.model->*member), c.sums.flops); };
  Metric metric = detail(key, title, words, Unit::kShare, of, need);
  metric.better = Better::kNeither;
  return metric;
}
// Of the memory at the peak, what is of one kind.
template <MemoryKind kind>
constexpr Metric peak_part(Text key, Text title, Text words, Text aliases) {
  constexpr auto of = [](const Costs& c) { return counted((*c.model->at_peak)[kind]); };
  Metric metric = detail(key, title, words, Unit::kBytes, of, kNeedsPeakParts, Basis::kBytes);
  metric.aliases = aliases;
  return metric;
}

constexpr auto kFlops = [](const Metrics& m) { return m.flops; };
constexpr auto kBytesMoved = [](const Metrics& m) { return m.memory_bytes(); };

constexpr Metric kMetrics[] = {
    owned<&Parameters::total>("params", "Params", "parameters", "parameters", false),
    owned<&Parameters::trainable>("trainable_params", "Trainable", "trainable parameters", "trainable"),
    owned<&Parameters::buffers>("buffers", "Buffers", "elements of buffers", ""),
    summed<[](const Metrics& m) { return m.work.macs; }>("macs", "MACs", "MACs", Unit::kCount, false),
    summed<[](const Metrics& m) { return m.work.other_flops; }>("other_flops", "Other FLOPs",
                                                                "FLOPs beside MACs"),
    summed<[](const Metrics& m) { return m.work.specials; }>("specials", "Specials", "special functions"),
    summed<kFlops>("flops", "FLOPs", "FLOPs", Unit::kCount, false),
    summed<[](const Metrics& m) { return m.traffic.input_bytes; }>("input_bytes", "Input bytes", "bytes read",
                                                                   Unit::kBytes),
    summed<[](const Metrics& m) { return m.traffic.output_bytes; }>("output_bytes", "Output bytes",
                                                                    "bytes written", Unit::kBytes),
    summed<[](const Metrics& m) { return m.traffic.weight_bytes; }>("weight_bytes", "Weight bytes",
                                                                    "bytes of weights read", Unit::kBytes),
    {.key = "memory_bytes",
     .title = "Bytes",
     .words = "bytes moved",
     .aliases = "mem,memory,bytes_moved",
     .unit = Unit::kBytes,
     .of = [](const Costs& c) { return counted(c.sums.memory_bytes()); },
     .basis = Basis::kBytes},
    {.key = "peak_memory_bytes",
     .title = "Peak",
     .words = "peak memory",
     .aliases = "peak,peak_memory",
     .unit = Unit::kBytes,
     .of = [](const Costs& c) { return counted(*c.model->peak_memory_bytes); },
     .need = kNeedsPeak,
     .basis = Basis::kBytes},
    {.key = "ops",
     .title = "Ops",
     .words = "ops",
     .unit = Unit::kWhole,
     .of = [](const Costs& c) { return counted(Count{c.sums.ops}); },
     .better = Better::kNeither,
     .basis = Basis::kModules},
    {.key = "arithmetic_intensity",
     .title = "AI",
     .words = "FLOPs per byte",
     .aliases = "ai,intensity",
     .unit = Unit::kRatio,
     .of = [](const Costs& c) { return quotient(c.sums.flops, c.sums.memory_bytes()); },
     .better = Better::kMore},
    {.key = "time_seconds",
     .title = "Time",
     .words = "time",
     .aliases = "time",
     .unit = Unit::kSeconds,
     .of = [](const Costs& c) { return timed(c.sums.time); },
     .need = kNeedsMeasurement,
     .basis = Basis::kModules},
    rate<kFlops>("flops_per_second", "FLOP/s", "FLOPs a second", Unit::kFlopRate),
    rate<kBytesMoved>("bytes_per_second", "Bytes/s", "bytes a second", Unit::kBandwidth),
    {.key = "roofline_seconds",
     .title = "Roofline",
     .words = "roofline time",
     .aliases = "roofline",
     .unit = Unit::kSeconds,
     .of = [](const Costs& c) { return timed(c.sums.roofline_time); },
     .need = kNeedsDevice},
    {.key = "saved_bytes",
     .title = "Saved",
     .words = "bytes saved by fusing",
     .aliases = "saved",
     .unit = Unit::kBytes,
     .of = [](const Costs& c) { return counted(*c.saved_bytes); },
     .need = kNeedsFusion,
     .better = Better::kMore,
     .basis = Basis::kBytes},
    model_share<&ModelCosts::compute_bound_flops>("compute_bound_share", "Compute-bound",
                                                  "share of compute-bound FLOPs", kNeedsBounds),
    model_share<&ModelCosts::attention_flops>("attention_share", "Attention", "share of FLOPs in attention",
                                              kNeedsProducts),
    model_flops<&ModelCosts::attention_flops>("attention_flops", "Attention FLOPs", "FLOPs of attention"),
    model_flops<&ModelCosts::linear_flops>("linear_flops", "Linear FLOPs", "FLOPs of linear layers"),
    peak_part<MemoryKind::kWeights>("weights_bytes", "Weights", "weights at the peak", "weights"),
    peak_part<MemoryKind::kActivations>("activations_bytes", "Activations", "activations at the peak",
                                        "activations"),
    peak_part<MemoryKind::kWorkspace>("workspace_bytes", "Workspace", "workspace at the peak", "workspace"),
    peak_part<MemoryKind::kKvCache>("kv_cache_bytes", "KV cache", "KV cache at the peak", "kv_cache"),
    peak_part<MemoryKind::kGradients>("gradients_bytes", "Gradients", "gradients at the peak", "gradients"),
    peak_part<MemoryKind::kOptimizerState>("optimizer_state_bytes", "Optimizer",
                                           "optimizer state at the peak", "optimizer,optimizer_state"),
};

}  // namespace

std::span<const Metric> metrics() { return kMetrics; }

}  // namespace opscope
