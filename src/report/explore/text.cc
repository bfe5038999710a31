// Words that all of explore's reports share.
#include "base/text.h"

#include <algorithm>

#include "report/explore/explore.h"

namespace opscope {
namespace {

constexpr std::size_t kInputsShown = 2;
constexpr std::size_t kIdsShown = 4;

// "before 13 layer1.0.conv2: the consumer needs its own kernel";
// without an op the reason alone.
std::string border_text(const GraphView& view, std::string_view side, Border border, OpId at) {
  std::string text;
  if (at != kNone) text.append(side).append(" ").append(node_text(view, view.node_of[at])).append(": ");
  return text.append(explanation(border));
}

bool consecutive(const std::vector<SubgraphId>& ids) { return ids.back() - ids.front() + 1 == ids.size(); }

}  // namespace

std::function<double(const ViewNode&)> sort_key(const Profile& profile, const Metric& metric) {
  require_known(metric, costs_of(profile, profile.totals, &profile.parameters), "--sort");
  return [&](const ViewNode& node) {
    return value_of(metric, costs_of(profile, node.metrics, &node.parameters));
  };
}

std::string node_text(const GraphView& view, std::uint32_t node) {
  return std::to_string(node + 1) + " " + std::string(view.nodes[node].name);
}

std::string shapes_text(const GraphView& view, const ViewNode& node) {
  const Graph& graph = *view.profile->graph;
  const std::string result = shape_of(graph, node.output);
  if (node.kind == "placeholder" || node.kind == "get_attr")
    return node.output == kNone ? "" : result + " " + std::string(name(graph.values[node.output].dtype));
  std::string text;
  std::size_t shown = 0, more = 0;
  for (const ViewEdge& edge : view.inputs_of(node)) {
    if (edge.value == kNone) continue;
    if (shown == kInputsShown) {
      ++more;
      continue;
    }
    text += (shown++ ? ", " : "") + shape_of(graph, edge.value);
  }
  if (more) text += " +" + std::to_string(more);
  if (node.kind == "output") return text;
  return text + (text.empty() ? "-> " : " -> ") + (result.empty() ? "nothing" : result);
}

std::string begins_text(const GraphView& view, const Subgraph& subgraph) {
  return border_text(view, "after", subgraph.begins, subgraph.begins_at);
}
std::string ends_text(const GraphView& view, const Subgraph& subgraph) {
  return border_text(view, "before", subgraph.ends, subgraph.ends_at);
}

std::string subgraphs_text(const std::vector<SubgraphId>& subgraphs) {
  const auto id = [](SubgraphId s) { return "#" + std::to_string(s + 1); };
  if (subgraphs.empty()) return "";
  if (subgraphs.size() > 2 && consecutive(subgraphs))
    return id(subgraphs.front()) + " to " + id(subgraphs.back());
  std::string text;
  const std::size_t shown = subgraphs.size() > kIdsShown + 1 ? kIdsShown : subgraphs.size();
  for (std::size_t i = 0; i < shown; ++i) text += (i ? ", " : "") + id(subgraphs[i]);
  return shown == subgraphs.size() ? text
                                   : text + " and " + std::to_string(subgraphs.size() - shown) + " more";
}

Style style_of(Bottleneck bound) {
  return bound == Bottleneck::kComputeBound ? Style::kGood : Style::kWarning;
}

std::vector<std::uint32_t> all_nodes(const GraphView& view) {
  std::vector<std::uint32_t> nodes(view.nodes.size());
  for (std::uint32_t n = 0; n < nodes.size(); ++n) nodes[n] = n;
  return nodes;
}

std::vector<std::uint32_t> nodes_of_subgraph(const GraphView& view, SubgraphId subgraph) {
  std::vector<std::uint32_t> nodes;
  const Partition& partition = view.profile->partition();
  for (const OpId op : partition.ops_of(partition.subgraphs[subgraph])) nodes.push_back(view.node_of[op]);
  std::ranges::sort(nodes);
  nodes.erase(std::ranges::unique(nodes).begin(), nodes.end());
  return nodes;
}

}  // namespace opscope
