// The metrics, in the order in which files list them; how people name them, and what is known of which.
#include "metrics/metric.h"

#include <algorithm>

#include "base/error.h"

namespace opscope {
namespace {

constexpr std::size_t kShortName = 4;  // worth telling beside the whole one

// Every name that a metric goes by, its key first.
std::vector<std::string_view> names_of(const Metric& metric) {
  std::vector<std::string_view> names{metric.key};
  for (const std::string_view alias : split_by(metric.aliases, ','))
    if (!alias.empty()) names.push_back(alias);
  return names;
}

// Whether a row has what a metric needs.
Needs needs_met(const Costs& costs) {
  Needs given = 0;
  const auto add = [&](bool has, Need need) { given |= has ? need : 0u; };
  add(costs.parameters, kNeedsParameters);
  add(costs.is_measured, kNeedsMeasurement);
  add(costs.has_device, kNeedsDevice);
  add(costs.is_predicted, kNeedsPrediction);
  add(costs.has_wall, kNeedsWall);
  add(costs.saved_bytes.has_value(), kNeedsFusion);
  if (!costs.model) return given;
  add(costs.model->peak_memory_bytes.has_value(), kNeedsPeak);
  add(costs.model->at_peak.has_value(), kNeedsPeakParts);
  add(costs.model->compute_bound_flops.has_value(), kNeedsBounds);
  add(costs.model->attention_flops && costs.model->linear_flops, kNeedsProducts);
  return given;
}

// The nearest of what people mostly ask for, else of all.
std::string hint_for(std::string_view asked, Needs given) {
  std::vector<std::string_view> usual, all;
  for (const Metric* metric : metrics_given(given)) {
    all.push_back(metric->key);
    if (!metric->is_detail) usual.push_back(metric->key);
  }
  for (const auto& names : {usual, all})
    if (const std::string near = did_you_mean(asked, names); !near.empty()) return near;
  return "choose " + metric_choices(given);
}

using Text = std::string_view;

Amount quotient(Count part, Count whole) { return {{}, ratio(part, whole)}; }

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
constexpr Metric summed(Text key, Text title, Text words, Unit unit = Unit::kCount, bool is_detail = true,
                        Text aliases = "") {
  constexpr auto of = [](const Costs& c) { return counted(get(c.sums)); };
  const Basis basis = unit == Unit::kBytes ? Basis::kBytes : Basis::kWork;
  Metric metric = detail(key, title, words, unit, of, kNeedsNothing, basis);
  metric.aliases = aliases, metric.is_detail = is_detail;
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
    summed<kBytesMoved>("memory_bytes", "Bytes", "bytes moved", Unit::kBytes, false,
                        "mem,memory,bytes_moved"),
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
    {.key = "wall_seconds",
     .title = "Wall",
     .words = "wall time",
     .aliases = "wall",
     .unit = Unit::kSeconds,
     .of = [](const Costs& c) { return timed(c.sums.wall_time); },
     .need = kNeedsWall,
     .basis = Basis::kModules},
    {.key = "outside_seconds",
     .title = "Outside ops",
     .words = "time outside ops",
     .aliases = "outside",
     .unit = Unit::kSeconds,
     .of = [](const Costs& c) { return timed(c.sums.outside_time); },
     .need = kNeedsWall,
     .basis = Basis::kModules,
     .is_detail = true},
    rate<kFlops>("flops_per_second", "FLOP/s", "FLOPs a second", Unit::kFlopRate),
    rate<kBytesMoved>("bytes_per_second", "Bytes/s", "bytes a second", Unit::kBandwidth),
    {.key = "roofline_seconds",
     .title = "Roofline",
     .words = "roofline time",
     .aliases = "roofline",
     .unit = Unit::kSeconds,
     .of = [](const Costs& c) { return timed(c.sums.roofline_time); },
     .need = kNeedsDevice},
    {.key = "predicted_seconds",
     .title = "Predicted",
     .words = "predicted time",
     .aliases = "predicted",
     .unit = Unit::kSeconds,
     .of = [](const Costs& c) { return timed(c.sums.predicted_time); },
     .need = kNeedsPrediction},
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

const Metric& metric_at(std::string_view key) {
  const auto found = std::ranges::find(metrics(), key, &Metric::key);
  OPSCOPE_CHECK(found != metrics().end());
  return *found;
}

const Metric* find_metric(std::string_view text) {
  std::string asked = lower_case(text);
  std::ranges::replace(asked, '-', '_');
  for (const Metric& metric : metrics())
    if (std::ranges::count(names_of(metric), asked) > 0) return &metric;
  return nullptr;
}

const Metric& metric_named(std::string_view text, const std::string& where, Needs given) {
  const Metric* metric = find_metric(text);
  if (!metric) throw Error("no metric called '" + std::string(text) + "'", where, hint_for(text, given));
  if (is_given(*metric, given)) return *metric;
  throw Error(std::string(why_missing(*metric).reason), where, "choose " + metric_choices(given));
}

std::vector<const Metric*> metrics_named(std::string_view text, const std::string& where, Needs given) {
  std::vector<const Metric*> chosen;
  for (const std::string_view name : split_by(text, ',')) {
    const Metric* metric = &metric_named(name, where, given);
    if (std::ranges::find(chosen, metric) == chosen.end()) chosen.push_back(metric);
  }
  return chosen;
}

std::vector<const Metric*> metrics_given(Needs given) {
  std::vector<const Metric*> chosen;
  for (const Metric& metric : metrics())
    if (is_given(metric, given)) chosen.push_back(&metric);
  return chosen;
}

std::string flag_name(const Metric& metric) {
  std::string text(metric.key);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string metric_choices(Needs given) {
  std::string usual, details;
  for (const Metric* metric : metrics_given(given)) {
    std::string& list = metric->is_detail ? details : usual;
    if (!list.empty()) list += ", ";
    list += flag_name(*metric);
    const auto names = names_of(*metric);
    if (names.size() > 1 && names[1].size() <= kShortName) list.append(" (").append(names[1]).append(")");
  }
  return details.empty() ? usual : usual + "; also " + details;
}

std::string metric_words(Needs given, char gap) {
  std::string list;
  for (const Metric* metric : metrics_given(given))
    list.append(list.empty() ? 0 : 1, gap).append(flag_name(*metric));
  return list;
}

std::string heading(const Metric& metric) {
  std::string text(metric.words);
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::optional<Amount> amount_of(const Metric& metric, const Costs& costs) {
  if (!is_given(metric, needs_met(costs))) return std::nullopt;
  return metric.of(costs);
}

double value_of(const Metric& metric, const Costs& costs) {
  return amount_of(metric, costs).value_or(Amount{}).real;
}

Missing why_missing(const Metric& metric) {
  switch (metric.need) {
    case kNeedsMeasurement:
      return {"no time was measured", "opscope measure MODEL --save FILE.json, then name the file"};
    case kNeedsWall:
      return {"this time is of modules, in a measured model",
              "opscope measure MODEL --save FILE.json, then opscope plot flame FILE.json"};
    case kNeedsPrediction:
      return {"a predicted time is of a device, and none is named",
              "for example --hardware h200; `opscope devices` lists them"};
    case kNeedsDevice:
      return {"a roofline is of a device, and none is named",
              "for example --hardware h200; `opscope devices` lists them"};
    case kNeedsParameters:
      return {"op types have no parameters", "modules and layers have them"};
    case kNeedsPeak:
    case kNeedsPeakParts:
      return {"a part of a model has no peak memory of its own", "opscope memory shows who holds it"};
    case kNeedsBounds:
    case kNeedsProducts:
      return {"this metric is of a whole model", "opscope sweep shows it"};
    case kNeedsFusion:
      return {"this metric is of fused subgraphs", "opscope fuse shows it"};
    case kNeedsNothing:
      break;
  }
  return {"the saved profile does not say", ""};
}

void require_known(const Metric& metric, const Costs& costs, const std::string& where) {
  if (amount_of(metric, costs)) return;
  const Missing missing = why_missing(metric);
  throw Error(std::string(missing.reason), where, std::string(missing.hint));
}

std::string text(const Metric& metric, const Amount& amount, Zero zero) {
  return text(metric.unit, amount, zero);
}

Amount parse_amount(const Metric& metric, std::string_view text, const std::string& where) {
  return parse_amount(metric.unit, text, where, metric.key);
}

std::span<const Metric> metrics() { return kMetrics; }

}  // namespace opscope
