// What graphs of costs have to be, and what parts of them take.
#include "plan/costs/cost_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/groups.h"
#include "base/text.h"

namespace opscope {
namespace {

void check_number(double number, bool may_be_infinite, const std::string& what, const std::string& where) {
  if (number >= 0 && (may_be_infinite || std::isfinite(number))) return;
  throw Error(what + " is no amount of 0 or more", where);
}

void check_class(const DeviceClass& one, const std::string& where) {
  const std::string of = "of device class '" + one.name + "'";
  if (one.memory_bytes) check_number(*one.memory_bytes, false, "the memory " + of, where);
  if (one.bytes_per_second && !(*one.bytes_per_second > 0 && std::isfinite(*one.bytes_per_second)))
    throw Error("the bytes per second " + of + " are not above 0", where);
  check_number(one.latency_seconds, false, "the latency " + of, where);
  if (one.watts) check_number(*one.watts, false, "the power " + of, where);
  if (one.price_per_hour) check_number(*one.price_per_hour, false, "the price " + of, where);
}

void check_node(const CostGraph& graph, const CostNode& node, const std::string& where) {
  const std::string of = "of node " + id_text(node);
  for (const double seconds : node.seconds) check_number(seconds, true, "the time " + of, where);
  check_number(node.bytes, false, "the bytes " + of, where);
  bool runs = false;
  double missing = kCannotRun;
  const double bytes =
      std::accumulate(node.shared.begin(), node.shared.end(), node.bytes + node.peak_bytes,
                      [&](double sum, std::uint32_t shared) { return sum + graph.shared_bytes[shared]; });
  for (std::size_t c = 0; c < graph.classes.size(); ++c) {
    if (!std::isfinite(node.seconds[c]) || graph.classes[c].count == 0) continue;
    runs = true;
    const auto& memory = graph.classes[c].memory_bytes;
    missing = std::min(missing, memory ? bytes - *memory : 0);
  }
  if (!runs)
    throw Error("node " + id_text(node) + " can run on none of the devices", where,
                "its 'seconds' name no class that there is a device of");
  if (missing > 0)
    throw Error(fmt::format("node {} fits no device: {} are missing", id_text(node),
                            format_bytes(Count{static_cast<std::uint64_t>(std::ceil(missing))})),
                where);
}

// A node that is left when all without open inputs are taken again and again; none: there is no circle.
std::optional<std::uint32_t> in_a_circle(const CostGraph& graph) {
  std::vector<std::vector<std::uint32_t>> next(graph.nodes.size());
  std::vector<std::uint32_t> open(graph.nodes.size(), 0), ready;
  for (const CostTensor& tensor : graph.tensors)
    for (const std::uint32_t consumer : tensor.consumers)
      next[tensor.producer].push_back(consumer), ++open[consumer];
  for (std::uint32_t i = 0; i < open.size(); ++i)
    if (open[i] == 0) ready.push_back(i);
  std::size_t taken = 0;
  for (; !ready.empty(); ++taken) {
    const std::uint32_t node = ready.back();
    ready.pop_back();
    for (const std::uint32_t consumer : next[node])
      if (--open[consumer] == 0) ready.push_back(consumer);
  }
  if (taken == graph.nodes.size()) return std::nullopt;
  return static_cast<std::uint32_t>(std::ranges::find_if(open, [](auto count) { return count > 0; }) -
                                    open.begin());
}

}  // namespace

std::size_t CostGraph::devices() const {
  std::size_t all = 0;
  for (const DeviceClass& one : classes) all += one.count;
  return all;
}

std::string id_text(const CostNode& node) {
  if (const auto* number = std::get_if<std::int64_t>(&node.id)) return std::to_string(*number);
  return "'" + std::get<std::string>(node.id) + "'";
}

void check(const CostGraph& graph, const std::string& where) {
  if (graph.devices() == 0) throw Error("there are no devices", where);
  if (graph.nodes.empty()) throw Error("there are no nodes", where);
  for (const DeviceClass& one : graph.classes) check_class(one, where);
  for (const CostNode& node : graph.nodes) check_node(graph, node, where);
  for (const CostTensor& tensor : graph.tensors) {
    for (const std::uint32_t consumer : tensor.consumers)
      if (graph.nodes[tensor.producer].backward && !graph.nodes[consumer].backward)
        throw Error("node " + id_text(graph.nodes[consumer]) + " goes forward and needs node " +
                        id_text(graph.nodes[tensor.producer]) + ", which goes backward",
                    where);
    for (const double seconds : tensor.seconds)
      check_number(seconds, false, "the transfer time of node " + id_text(graph.nodes[tensor.producer]),
                   where);
  }
  if (const auto node = in_a_circle(graph))
    throw Error("the edges go in a circle: node " + id_text(graph.nodes[*node]) + " needs its own result",
                where);
}

void price(const CostGraph& graph, std::vector<PlanPart>& parts) {
  constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::vector<std::uint32_t> part_of(graph.nodes.size(), kNone);
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    PlanPart& part = parts[p];
    part.compute_seconds = part.send_seconds = part.receive_seconds = part.bytes = part.hop_seconds = 0;
    std::vector<std::uint32_t> shared;
    double peak = 0;
    for (const std::uint32_t i : part.nodes) {
      const CostNode& node = graph.nodes[i];
      part_of[i] = p;
      part.compute_seconds += node.seconds[part.device_class];
      part.bytes += node.bytes;
      peak = std::max(peak, node.peak_bytes);
      shared.insert(shared.end(), node.shared.begin(), node.shared.end());
    }
    sort_unique(shared);
    part.bytes += peak;
    for (const std::uint32_t each : shared) part.bytes += graph.shared_bytes[each];
  }
  for (const CostTensor& tensor : graph.tensors) {
    std::vector<std::uint32_t> readers;
    const std::uint32_t sender = part_of[tensor.producer];
    for (const std::uint32_t consumer : tensor.consumers)
      if (part_of[consumer] != sender && part_of[consumer] != kNone) readers.push_back(part_of[consumer]);
    sort_unique(readers);
    const auto seconds = [&](std::uint32_t part) {
      const std::uint32_t c = parts[part].device_class;
      return graph.classes[c].transfers_free ? 0 : tensor.seconds[c];
    };
    if (!readers.empty() && sender != kNone) parts[sender].send_seconds += seconds(sender);
    for (const std::uint32_t reader : readers) {
      parts[reader].receive_seconds += seconds(reader), parts[reader].bytes += tensor.bytes;
      if (graph.point_to_point && sender != kNone)
        parts[reader].hop_seconds += std::max(seconds(reader), seconds(sender));
    }
  }
  for (PlanPart& part : parts) {
    if (!graph.point_to_point) part.hop_seconds = part.send_seconds + part.receive_seconds;
    part.seconds = graph.overlap ? std::max({part.compute_seconds, part.send_seconds, part.receive_seconds})
                                 : part.compute_seconds + part.send_seconds + part.receive_seconds;
  }
}

}  // namespace opscope
