// Each part of a Profiler's file is one table. Times are in milliseconds with four decimals, so that columns
// can be read, cut and added up by other programs.
#include <fmt/format.h>

#include <limits>

#include "base/text.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesShown = 10;
constexpr int kAnyWidth = std::numeric_limits<int>::max();  // a file has no right edge
constexpr double kMillisecondsPerPicosecond = 1e-9;

std::string milliseconds(const std::optional<Count>& picoseconds) {
  if (!picoseconds) return "-";
  return fmt::format("{:.4f}", static_cast<double>(*picoseconds) * kMillisecondsPerPicosecond);
}

// "1x64x112x112 float32"
std::string tensor_text(const Graph& graph, ValueId id) {
  return id == kNone ? "-" : fmt::format("{} {}", shape_text(graph, id), name(graph.values[id].dtype));
}

std::string titled(std::string_view title, const Table& table) {
  std::string out(title), text = text_table(table, {.width = kAnyWidth});
  text.pop_back();
  for (const std::string_view row : split_by(text, '\n')) out.append("\n  ").append(row);
  return out + "\n";
}

std::string graph_words(const ProfilerGraph& graph) {
  return graph.granularity == Level::kOp ? "detail graph (ops)"
                                         : fmt::format("{} graph", name(graph.granularity));
}

std::string place_words(const Measurement& measured) {
  if (measured.empty()) return "not timed";
  const Environment& at = measured.environment;
  std::string text = at.device.empty() ? "unknown device" : at.device;
  if (!at.device_name.empty()) text += " (" + at.device_name + ")";
  return text;
}

std::string header(const ProfilerGraph& graph) {
  const Graph& source = *graph.profile->graph;
  std::string out = fmt::format("{}: {}   device {}   torch {}\n", model_name(source), graph_words(graph),
                                place_words(source.measurement), source.capture.torch);
  if (!graph.is_measured()) return out;
  out += source.measurement.on_device ? "forward ms: a node's ops on the device's own clock, one forward run"
                                      : "forward ms: a node's ops on the host's clock, one forward run";
  if (graph.granularity != Level::kOp)
    out += "; call ms: the module's call on the host, with Python and the recorder between its ops";
  return out + "\n";
}

Table node_table(const ProfilerGraph& graph) {
  using Row = const ProfilerNode&;
  const bool calls = graph.granularity != Level::kOp;
  Columns<ProfilerNode> columns{
      {number("id"), [&](Row node) { return &node - graph.nodes.data(); }},
      {words("name"), &ProfilerNode::name},
      {words("type"), &ProfilerNode::type},
      {number("params", Unit::kWhole), [](Row node) { return node.parameters.total; }},
      {number("bytes", Unit::kWhole), [](Row node) { return node.parameters.bytes; }},
      {number("forward ms"), [](Row node) { return milliseconds(node.time); }}};
  if (calls)
    columns += {{number("call ms"), [](Row node) { return milliseconds(node.call_time); }},
                {number("ops"), &ProfilerNode::ops}};
  columns += {{words("output"), [&](Row node) { return tensor_text(*graph.profile->graph, node.output); }}};
  return table_of(columns, graph.nodes);
}

std::string numbered(const ProfilerGraph& graph, std::span<const std::uint32_t> ids) {
  std::string text;
  for (const std::uint32_t id : ids)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", id, graph.nodes[id].name);
  return text.empty() ? "-" : text;
}

Table port_table(const ProfilerGraph& graph, const std::vector<ProfilerPort>& ports, std::string_view arrow,
                 std::string_view tokens = {}) {
  Table table{{words(""), words(""), words(""), words("")}, {}};
  for (const ProfilerPort& port : ports) {
    std::string shown = port.name.empty() ? "output" : std::string(port.name);
    if (!tokens.empty() && port.name == tokens) shown += " (tokens)";
    table.add({shown, tensor_text(*graph.profile->graph, port.value), arrow, numbered(graph, port.nodes)});
  }
  return table;
}

Table edge_table(const ProfilerGraph& graph) {
  using Row = const ProfilerEdge&;
  const Columns<ProfilerEdge> columns{
      {number("from"), &ProfilerEdge::from},
      {words(""), [](Row) { return "->"; }},
      {number("to"), &ProfilerEdge::to},
      {words("names"),
       [&](Row edge) {
         return fmt::format("{} -> {}", graph.nodes[edge.from].name, graph.nodes[edge.to].name);
       }},
      {words("tensor"), [&](Row edge) { return tensor_text(*graph.profile->graph, edge.value); }}};
  return table_of(columns, graph.edges);
}

Table total_table(const ProfilerGraph& graph, const ProfilerStats& stats) {
  Table table{{words(""), number("", Unit::kWhole), words("")}, {}};
  const auto add = [&](std::string_view key, Cell value, std::string words = {}) {
    table.add({key, std::move(value), std::move(words)});
  };
  add("nodes", stats.nodes);
  add("edges", stats.edges);
  add("ops", stats.ops,
      graph.left_out ? fmt::format("without {} that return no tensor", graph.left_out) : "");
  add("parameters", stats.parameters.total,
      format_exact(stats.parameters.bytes) + " bytes, shared ones once");
  if (graph.without_ops)
    add("calls without ops", graph.without_ops, "leaf modules that passed their input on");
  if (!graph.is_measured()) return add("forward ms", "-", "not timed"), table;
  add("forward ms", milliseconds(stats.time), "sum over nodes");
  add("  mean", milliseconds(stats.mean_time));
  add("  median", milliseconds(stats.median_time));
  if (stats.longest)
    add("  longest", milliseconds(stats.max_time),
        fmt::format("{} {}", *stats.longest, graph.nodes[*stats.longest].name));
  if (stats.run_time)
    add("whole run ms", milliseconds(stats.run_time), "from the call until all its work was done");
  return table;
}

Table type_table(const ProfilerGraph& graph, const ProfilerStats& stats) {
  // One alone is no shorter in words.
  const std::size_t shown = stats.types.size() > kTypesShown + 1 ? kTypesShown : stats.types.size();
  Table table{{words("type"), number("nodes", Unit::kWhole), number("forward ms"), number("share")}, {}};
  const auto add_type = [&](std::string label, const ProfilerType& type) {
    table.add({std::move(label), type.nodes, graph.is_measured() ? milliseconds(type.time) : "-",
               share_cell(type.time, stats.time)});
  };
  for (std::size_t i = 0; i < shown; ++i) add_type(std::string(stats.types[i].type), stats.types[i]);
  ProfilerType rest;
  for (std::size_t i = shown; i < stats.types.size(); ++i)
    rest.nodes += stats.types[i].nodes, rest.time += stats.types[i].time;
  if (shown < stats.types.size()) add_type(fmt::format("{} others", stats.types.size() - shown), rest);
  return table;
}

}  // namespace

std::string profiler_stats_text(const ProfilerGraph& graph) {
  const ProfilerStats stats = profiler_stats(graph);
  return titled("Statistics", total_table(graph, stats)) + "\n" + titled("By type", type_table(graph, stats));
}

std::string profiler_text(const ProfilerGraph& graph, const ProfilerTextOptions& options) {
  std::string out = header(graph);
  out += "\n" + titled("Nodes", node_table(graph));
  if (options.include_edges) {
    if (!graph.inputs.empty())
      out += "\n" + titled("Inputs", port_table(graph, graph.inputs, "->", options.tokens));
    if (!graph.outputs.empty()) out += "\n" + titled("Outputs", port_table(graph, graph.outputs, "<-"));
    out += "\n" + titled("Edges", edge_table(graph));
  }
  if (options.include_stats) out += "\n" + profiler_stats_text(graph);
  return out;
}

}  // namespace opscope
