// Takes a profile's figures out of it. What a saved profile does not hold by row is left out here too, so
// that both ways give the same.
#include "analyse/profile/figures.h"

#include <algorithm>

#include "analyse/explore/view.h"
#include "analyse/memory/memory.h"

namespace opscope {
namespace {

constexpr std::size_t kInputsNamed = 4;

Metrics without_bound(Metrics metrics) {
  metrics.compute_bound_time = metrics.predicted_wait = metrics.predicted_variance = {};
  return metrics;
}

Parameters counts_alone(Parameters parameters) {
  parameters.bytes = parameters.buffer_bytes = {};
  return parameters;
}

void add_rows(const Profile& profile, Figures& figures) {
  const Graph& graph = *profile.graph;
  for (const TypeRow& row : profile.types())
    figures.types.push_back({row.type, row.category, without_bound(row.metrics)});
  for (const ModuleRow& row : profile.modules()) {
    const Module& module = graph.modules[row.module];
    figures.modules.push_back({std::string(graph.path(module)), std::string(graph.text(module.type)),
                               shape_text(graph, row.output), row.depth, row.calls,
                               counts_alone(row.parameters), without_bound(row.metrics)});
  }
  for (const LayerRow& row : profile.layers())
    figures.layers.push_back({std::string(row.name), std::string(row.type), shape_text(graph, row.output), 0,
                              1, counts_alone(row.parameters), without_bound(row.metrics)});
}

BottleneckSummary without_times(BottleneckSummary summary) {
  for (Band* band : {&summary.compute_bound, &summary.memory_bound, &summary.over_100,
                     &summary.from_50_to_100, &summary.from_10_to_50, &summary.under_10})
    band->roofline_time = {};
  return summary;
}

}  // namespace

bool Figures::has(std::string_view field) const { return std::ranges::find(missing, field) == missing.end(); }

std::vector<std::string> labels_apart(const std::vector<std::vector<std::string>>& choices) {
  std::vector<std::string> labels;
  std::size_t most = 0;
  for (const auto& each : choices) labels.push_back(each.front()), most = std::max(most, each.size());
  for (std::size_t level = 1; level < most; ++level) {
    const std::vector<std::string> before = labels;
    for (std::size_t i = 0; i < labels.size(); ++i)
      if (std::ranges::count(before, before[i]) > 1)
        labels[i] = choices[i][std::min(level, choices[i].size() - 1)];
  }
  for (std::size_t i = labels.size(); i-- > 0;) {
    const auto earlier =
        std::count(labels.begin(), labels.begin() + static_cast<std::ptrdiff_t>(i), labels[i]);
    if (earlier > 0) labels[i] += " (" + std::to_string(earlier + 1) + ")";
  }
  return labels;
}

std::string inputs_text(std::span<const FigureInput> inputs) {
  std::string text;
  for (std::size_t i = 0; i < std::min(inputs.size(), kInputsNamed); ++i) {
    if (i > 0) text += ", ";
    if (!inputs[i].name.empty()) text.append(inputs[i].name).append(": ");
    text.append(inputs[i].shape).append(" ").append(inputs[i].dtype);
  }
  if (inputs.size() > kInputsNamed) text += ", " + std::to_string(inputs.size() - kInputsNamed) + " more";
  return text;
}

std::string inputs_text(const Graph& graph) {
  std::vector<FigureInput> inputs;
  for (const ValueId id : graph.inputs)
    inputs.push_back({std::string(graph.text(graph.values[id].name)), shape_text(graph, id),
                      std::string(name(graph.values[id].dtype))});
  return inputs_text(inputs);
}

std::optional<Amount> amount_in(const Figures& figures, const Metric& metric) {
  if (!figures.has(metric.key)) return std::nullopt;
  ModelCosts model{.peak_memory_bytes = figures.peak_memory_bytes};
  if (figures.has("bottlenecks")) model.compute_bound_flops = figures.bottlenecks.compute_bound.flops;
  return amount_of(metric, {.sums = figures.totals,
                            .parameters = &figures.parameters,
                            .model = &model,
                            .is_measured = figures.is_measured(),
                            .has_device = figures.has_device(),
                            .is_predicted = figures.has_device()});
}

std::optional<Amount> amount_in(const Figures& whole, const Metrics& sums, const Parameters* parameters,
                                const Metric& metric) {
  if (!whole.has(metric.key)) return std::nullopt;
  return amount_of(metric, {.sums = sums,
                            .parameters = parameters,
                            .is_measured = whole.is_measured(),
                            .has_device = whole.has_device(),
                            .is_predicted = whole.has_device()});
}

Figures figures_of(const Profile& profile) {
  const Graph& graph = *profile.graph;
  Figures figures;
  figures.model = graph.capture.model;
  if (figures.model.empty()) figures.model = graph.text(graph.modules[0].type);
  figures.source = graph.capture.source;
  figures.inputs = inputs_text(graph);
  figures.convention = name(profile.options.convention);
  if (const Device* device = profile.roofline.device)
    figures.device = device->name, figures.device_id = device->id;
  if (const auto& at = graph.measurement.environment; !graph.measurement.empty())
    figures.measured_on = at.device_name.empty() ? at.device : at.device_name;
  figures.is_training =
      std::ranges::any_of(graph.phases, [](const Phase& p) { return p.name == "backward"; });
  figures.totals = profile.totals;
  figures.totals.predicted_wait = figures.totals.predicted_variance = {};
  figures.parameters = profile.parameters;
  figures.peak_memory_bytes = profile.memory().peak_memory_bytes();
  if (profile.memory().peak_op != kNone) figures.peak_at = layer_name(profile, profile.memory().peak_op);
  figures.subgraphs = profile.partition().subgraphs.size();
  figures.fused_bytes = profile.partition().fused_bytes;
  figures.fused_roofline_time = profile.fused_roofline().time;
  figures.coverage = profile.coverage;
  figures.bottlenecks = without_times(profile.bottlenecks());
  add_rows(profile, figures);
  return figures;
}

}  // namespace opscope
