// The layers as CSV (RFC 4180, but with plain line ends): one row each, one column per quantity, raw numbers.
#include <fmt/format.h>

#include <array>
#include <iterator>
#include <optional>

#include "base/text.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::string_view kHeader =
    "name,type,module,params,trainable_params,buffers,macs,other_flops,specials,flops,input_bytes,output_"
    "bytes,"
    "weight_bytes,memory_bytes,ops,arithmetic_intensity,bottleneck,confidence,output_shape";
constexpr std::string_view kTimes =
    ",time_seconds,flops_per_second,bytes_per_second,median_seconds,mean_seconds,"
    "standard_deviation_seconds,p95_seconds,minimum_seconds,maximum_seconds,outliers";

// What the layer took, over all runs.
void add_times(const OpTimes& times, const Profile& profile, std::size_t layer, std::string& out) {
  const Metrics& metrics = profile.layers[layer].metrics;
  const Statistics of = times.of_layer(layer);
  for (const double number : {metrics.time_seconds(), flops_per_second(metrics), bytes_per_second(metrics),
                              of.median, of.mean, of.standard_deviation, of.p95, of.minimum, of.maximum})
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
  std::string out(kHeader);
  out.append(times ? kTimes : "").append(has_device(profile) ? ",roofline_seconds,bound" : "").append("\n");
  for (std::size_t i = 0; i < profile.layers.size(); ++i) {
    const LayerRow& layer = profile.layers[i];
    const Metrics& m = layer.metrics;
    const std::array numbers{layer.parameters.total,
                             layer.parameters.trainable,
                             layer.parameters.buffers,
                             m.work.macs,
                             m.work.other_flops,
                             m.work.specials,
                             m.flops,
                             m.traffic.input_bytes,
                             m.traffic.output_bytes,
                             m.traffic.weight_bytes,
                             m.memory_bytes(),
                             Count{m.ops}};
    out += csv_field(layer.name) + "," + csv_field(layer.type) + "," +
           csv_field(graph.path(graph.modules[layer.module]));
    for (const Count number : numbers) fmt::format_to(std::back_inserter(out), ",{}", number.value());
    fmt::format_to(std::back_inserter(out), ",{},{},{},{}", m.arithmetic_intensity(), name(layer.bottleneck),
                   name(m.confidence), shape_text(graph, layer.output));
    if (times) add_times(*times, profile, i, out);
    if (has_device(profile)) out += csv_roofline(m);
    out += '\n';
  }
  return out;
}

}  // namespace opscope
