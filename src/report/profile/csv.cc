// The layers as CSV (RFC 4180, but with plain line ends): one row each, one column per quantity, raw numbers.
#include <fmt/format.h>

#include <iterator>
#include <optional>

#include "base/text.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::string_view kStatistics =
    ",median_seconds,mean_seconds,standard_deviation_seconds,p95_seconds,minimum_seconds,maximum_seconds,"
    "outliers";

// The metrics with this need, each with a comma before it.
void add_header(Needs need, std::string& out) {
  for (const Metric& metric : metrics())
    if (metric.need == need) out.append(",").append(metric.key);
}
void add_numbers(Needs need, const Costs& costs, std::string& out) {
  for (const Metric& metric : metrics())
    if (metric.need == need) out.append(",").append(number_text(metric, metric.of(costs)));
}

// What the layer took, over all runs.
void add_statistics(const Statistics& of, std::string& out) {
  for (const double number : {of.median, of.mean, of.standard_deviation, of.p95, of.minimum, of.maximum})
    fmt::format_to(std::back_inserter(out), ",{}", number);
  fmt::format_to(std::back_inserter(out), ",{}", of.outliers);
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

std::string to_csv(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::optional<OpTimes> times;
  if (is_measured(profile)) times.emplace(profile);
  std::string out = "name,type,module";
  add_header(kNeedsParameters, out), add_header(kNeedsNothing, out);
  out += ",bottleneck,confidence,output_shape";
  if (times) add_header(kNeedsMeasurement, out), out += kStatistics;
  out.append(has_device(profile) ? ",roofline_seconds,bound" : "").append("\n");
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const LayerRow& layer = profile.layers[i];
    const Metrics& m = layer.metrics;
    const Costs costs = costs_of(profile, m, &layer.parameters);
    out += csv_field(layer.name) + "," + csv_field(layer.type) + "," +
           csv_field(graph.path(graph.modules[layer.module]));
    add_numbers(kNeedsParameters, costs, out), add_numbers(kNeedsNothing, costs, out);
    fmt::format_to(std::back_inserter(out), ",{},{},{}", name(layer.bottleneck), name(m.confidence),
                   shape_text(graph, layer.output));
    if (times) add_numbers(kNeedsMeasurement, costs, out), add_statistics(times->of_layer(i), out);
    if (has_device(profile)) out += csv_roofline(m);
    out += '\n';
  }
  return out;
}

}  // namespace opscope
