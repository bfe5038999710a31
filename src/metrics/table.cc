// The metrics, in the order in which files list them: everything that any command can show, sort by, plot,
// sweep, hold to a budget or complete.
#include "metrics/metric.h"

namespace opscope {
namespace {

using Text = std::string_view;

// Of what modules own.
template <Count Parameters::*member>
constexpr Metric owned(Text key, Text title, Text words, Text aliases, bool is_detail = true) {
  return {.key = key,
          .title = title,
          .words = words,
          .aliases = aliases,
          .unit = Unit::kParams,
          .of = [](const Costs& c) { return counted(c.parameters->*member); },
          .need = kNeedsParameters,
          .basis = Basis::kModules,
          .is_detail = is_detail};
}
// Counted over ops.
template <auto get>
constexpr Metric summed(Text key, Text title, Text words, Unit unit = Unit::kCount, bool is_detail = true) {
  return {.key = key,
          .title = title,
          .words = words,
          .unit = unit,
          .of = [](const Costs& c) { return counted(get(c.sums)); },
          .basis = unit == Unit::kBytes ? Basis::kBytes : Basis::kWork,
          .is_detail = is_detail};
}
// In a second of the time that was measured.
template <auto get>
constexpr Metric rate(Text key, Text title, Text words, Unit unit) {
  return {.key = key,
          .title = title,
          .words = words,
          .unit = unit,
          .of =
              [](const Costs& c) {
                return Amount{{}, c.sums.time ? static_cast<double>(get(c.sums)) / c.sums.time_seconds() : 0};
              },
          .need = kNeedsMeasurement,
          .better = Better::kMore,
          .is_detail = true};
}
// Of a whole model's FLOPs.
template <auto member>
constexpr Metric model_flops(Text key, Text title, Text words) {
  return {.key = key,
          .title = title,
          .words = words,
          .of = [](const Costs& c) { return counted(*(c.model->*member)); },
          .need = kNeedsProducts,
          .is_detail = true};
}
Amount quotient(Count part, Count whole) {
  return {{}, whole ? static_cast<double>(part) / static_cast<double>(whole) : 0};
}
template <auto member>
constexpr Metric model_share(Text key, Text title, Text words, Need need) {
  return {.key = key,
          .title = title,
          .words = words,
          .unit = Unit::kShare,
          .of = [](const Costs& c) { return quotient(*(c.model->*member), c.sums.flops); },
          .need = need,
          .better = Better::kNeither,
          .is_detail = true};
}
// Of the memory at the peak, what is of one kind.
template <MemoryKind kind>
constexpr Metric peak_part(Text key, Text title, Text words, Text aliases) {
  return {.key = key,
          .title = title,
          .words = words,
          .aliases = aliases,
          .unit = Unit::kBytes,
          .of = [](const Costs& c) { return counted((*c.model->at_peak)[kind]); },
          .need = kNeedsPeakParts,
          .basis = Basis::kBytes,
          .is_detail = true};
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
