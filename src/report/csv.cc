// The layers as CSV (RFC 4180, but with plain line ends): one row each, one column per quantity, raw numbers.
#include <fmt/format.h>

#include <array>
#include <iterator>

#include "base/text.h"
#include "report/document.h"

namespace opscope {
namespace {

constexpr std::string_view kHeader =
    "name,type,module,params,trainable_params,buffers,macs,other_flops,specials,flops,input_bytes,output_"
    "bytes,"
    "weight_bytes,memory_bytes,ops,arithmetic_intensity,bottleneck,confidence,output_shape\n";

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
  std::string out(kHeader);
  for (const LayerRow& layer : profile.layers) {
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
    fmt::format_to(std::back_inserter(out), ",{},{},{},{}\n", m.arithmetic_intensity(),
                   name(layer.bottleneck), name(m.confidence), shape_text(graph, layer.output));
  }
  return out;
}

}  // namespace opscope
