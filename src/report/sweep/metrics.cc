// The columns that a sweep can show, from which --metric, tables, files and pictures come.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

template <auto Get>
std::optional<Count> counted(const SweepFigures& figures) {
  return Get(figures);
}
template <auto Get>
std::optional<double> as_value(const SweepFigures& figures) {
  return static_cast<double>(Get(figures));
}
template <auto Get>
std::string as_count(const SweepFigures& figures) {
  return format_count(Get(figures));
}
template <auto Get>
std::string as_bytes(const SweepFigures& figures) {
  return format_bytes(Get(figures));
}

Count params(const SweepFigures& f) { return f.parameters.total; }
Count macs(const SweepFigures& f) { return f.totals.work.macs; }
Count flops(const SweepFigures& f) { return f.totals.flops; }
Count memory_bytes(const SweepFigures& f) { return f.totals.memory_bytes(); }
Count peak(const SweepFigures& f) { return f.peak_memory_bytes; }
Count activations(const SweepFigures& f) { return f.at_peak[MemoryKind::kActivations]; }
Count weights(const SweepFigures& f) { return f.at_peak[MemoryKind::kWeights]; }
Count workspace(const SweepFigures& f) { return f.at_peak[MemoryKind::kWorkspace]; }
Count cache(const SweepFigures& f) { return f.at_peak[MemoryKind::kKvCache]; }
Count gradients(const SweepFigures& f) { return f.at_peak[MemoryKind::kGradients]; }
Count optimizer(const SweepFigures& f) { return f.at_peak[MemoryKind::kOptimizerState]; }
Count attention(const SweepFigures& f) { return f.attention_flops; }
Count linear(const SweepFigures& f) { return f.linear_flops; }
Count ops(const SweepFigures& f) { return Count{f.totals.ops}; }

std::optional<Count> none(const SweepFigures&) { return std::nullopt; }
std::optional<double> intensity(const SweepFigures& f) { return f.totals.arithmetic_intensity(); }
std::string intensity_text(const SweepFigures& f) { return format_ratio(f.totals.arithmetic_intensity()); }
std::optional<double> share(const SweepFigures& f) { return f.compute_bound_share(); }
std::string share_text(const SweepFigures& f) {
  return format_percent(f.compute_bound_flops, f.totals.flops);
}
std::optional<double> attention_share(const SweepFigures& f) {
  return f.totals.flops ? static_cast<double>(f.attention_flops) / static_cast<double>(f.totals.flops) : 0;
}
std::string attention_text(const SweepFigures& f) {
  return format_percent(f.attention_flops, f.totals.flops);
}
std::optional<double> roofline_seconds(const SweepFigures& f) {
  return f.totals.roofline_time ? std::optional(f.totals.roofline_seconds()) : std::nullopt;
}
std::string seconds_text(const SweepFigures& f) {
  return f.totals.roofline_time ? format_time(f.totals.roofline_seconds()) : "-";
}

template <auto Get>
constexpr SweepMetric count_metric(std::string_view key, std::string_view title) {
  return {key, title, as_value<Get>, as_count<Get>, counted<Get>, Unit::kCount};
}
template <auto Get>
constexpr SweepMetric bytes_metric(std::string_view key, std::string_view title) {
  return {key, title, as_value<Get>, as_bytes<Get>, counted<Get>, Unit::kBytes};
}

constexpr std::array kMetrics{
    count_metric<params>("params", "Params"),
    count_metric<macs>("macs", "MACs"),
    count_metric<flops>("flops", "FLOPs"),
    bytes_metric<memory_bytes>("memory_bytes", "Memory"),
    SweepMetric{"arithmetic_intensity", "AI", intensity, intensity_text, none, Unit::kPlain},
    SweepMetric{"compute_bound_share", "Compute-bound", share, share_text, none, Unit::kShare},
    SweepMetric{"attention_share", "Attention", attention_share, attention_text, none, Unit::kShare},
    count_metric<attention>("attention_flops", "Attention FLOPs"),
    count_metric<linear>("linear_flops", "Linear FLOPs"),
    bytes_metric<peak>("peak_memory_bytes", "Peak"),
    bytes_metric<weights>("weights_bytes", "Weights"),
    bytes_metric<activations>("activations_bytes", "Activations"),
    bytes_metric<workspace>("workspace_bytes", "Workspace"),
    bytes_metric<cache>("kv_cache_bytes", "KV cache"),
    bytes_metric<gradients>("gradients_bytes", "Gradients"),
    bytes_metric<optimizer>("optimizer_state_bytes", "Optimizer"),
    SweepMetric{"roofline_seconds", "Roofline", roofline_seconds, seconds_text, none, Unit::kPlain},
    count_metric<ops>("ops", "Ops"),
};

// "peak-memory-bytes" and the short words of --sort.
std::string canonical(std::string_view text) {
  std::string key = lower_case(text);
  std::ranges::replace(key, '-', '_');
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kShort{
      {{"ai", "arithmetic_intensity"},
       {"mem", "memory_bytes"},
       {"memory", "memory_bytes"},
       {"peak", "peak_memory_bytes"},
       {"roofline", "roofline_seconds"},
       {"time", "roofline_seconds"},
       {"parameters", "params"}}};
  for (const auto& [word, full] : kShort)
    if (key == word) return std::string(full);
  return key;
}

const SweepMetric& metric_named(const char* flag, std::string_view text) {
  const std::string key = canonical(text);
  const auto found = std::ranges::find(kMetrics, key, &SweepMetric::key);
  if (found != kMetrics.end()) return *found;
  std::vector<std::string_view> keys;
  std::string all;
  for (const SweepMetric& each : kMetrics)
    keys.push_back(each.key), all += (all.empty() ? "" : ", ") + std::string(each.key);
  const std::string near = did_you_mean(key, keys);
  throw Error("no metric called '" + std::string(text) + "'", flag, near.empty() ? "choose of " + all : near);
}

const SweepMetric* at(std::string_view key) { return &*std::ranges::find(kMetrics, key, &SweepMetric::key); }

}  // namespace

std::span<const SweepMetric> sweep_metrics() { return kMetrics; }

std::vector<const SweepMetric*> sweep_metrics_from(const char* flag, std::string_view text) {
  std::vector<const SweepMetric*> metrics;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    more = comma != std::string_view::npos;
    const SweepMetric* metric = &metric_named(flag, text.substr(0, comma));
    if (std::ranges::find(metrics, metric) == metrics.end()) metrics.push_back(metric);
    text.remove_prefix(more ? comma + 1 : text.size());
  }
  return metrics;
}

std::vector<const SweepMetric*> usual_sweep_metrics(const SweepResult& result) {
  std::vector<const SweepMetric*> metrics{at("macs"), at("flops"), at("memory_bytes"),
                                          at("arithmetic_intensity"), at("compute_bound_share")};
  const auto any = [&](auto has) {
    return std::ranges::any_of(result.points, [&](const SweepPoint& point) { return has(point.figures); });
  };
  if (any([](const SweepFigures& f) { return static_cast<bool>(f.attention_flops); }))
    metrics.push_back(at("attention_share"));
  metrics.push_back(at("peak_memory_bytes"));
  if (result.options.profile.hardware) metrics.push_back(at("roofline_seconds"));
  return metrics;
}

}  // namespace opscope
