// JSON -> CostGraph. Keys that mean nothing are mistakes, told with the nearest name.
#include "readers/plan/cost_reader.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "base/choices.h"
#include "readers/json/dom.h"

namespace opscope {
namespace {

using Id = decltype(CostNode::id);

struct IdHash {
  std::size_t operator()(const Id& id) const { return std::hash<Id>()(id); }
};

class CostReader {
 public:
  explicit CostReader(const dom::Item& root) : root_(root) {}

  CostGraph read() {
    check_keys(root_, {"devices", "nodes", "edges", "overlap", "name", "comment"});
    graph_.overlap = root_.boolean_or("overlap");
    for (const dom::Item& item : root_.items("devices")) read_class(item);
    for (const dom::Item& item : root_.items("nodes")) read_node(item);
    if (const auto edges = root_.find("edges"))
      for (const dom::Item& item : edges->items()) read_edge(item);
    for (auto& [key, tensor] : tensors_) graph_.tensors.push_back(std::move(tensor));
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const {
    throw Error(what, root_.source().where, hint);
  }

  void check_keys(const dom::Item& item, const std::vector<std::string_view>& known) const {
    for (const dom::Field& field : item.fields())
      if (std::ranges::find(known, field.tag) == known.end())
        fail("'" + std::string(field.tag) + "' says nothing here",
             did_you_mean(field.tag, known, "known: " + one_of(known)));
  }

  static std::optional<double> real(const dom::Item& item, std::string_view key) {
    const auto found = item.find(key);
    return found ? std::optional(found->real()) : std::nullopt;
  }

  void read_class(const dom::Item& item) {
    check_keys(item, {"class", "count", "memory_bytes", "transfers_free", "bytes_per_second",
                      "latency_seconds", "watts", "price_per_hour"});
    DeviceClass one{.name = std::string(item.text("class"))};
    if (std::ranges::find(graph_.classes, one.name, &DeviceClass::name) != graph_.classes.end())
      fail("device class '" + one.name + "' is there twice", "one class with their count");
    constexpr std::uint64_t kMostDevices = 1'000'000;
    one.count = item.natural_or("count", 1);
    if (one.count > kMostDevices) fail("device class '" + one.name + "' has more than a million devices");
    one.memory_bytes = real(item, "memory_bytes");
    one.transfers_free = item.boolean_or("transfers_free");
    one.bytes_per_second = real(item, "bytes_per_second");
    one.latency_seconds = item.real_or("latency_seconds");
    one.watts = real(item, "watts"), one.price_per_hour = real(item, "price_per_hour");
    constexpr std::size_t kMostClasses = 64;
    if (graph_.classes.size() == kMostClasses) fail("more than 64 device classes");
    graph_.classes.push_back(std::move(one));
  }

  static Id id_of(const dom::Item& item) {
    if (item.is_text()) return std::string(item.text());
    return item.integer();
  }
  std::uint32_t node_at(const dom::Item& item) const {
    const Id id = id_of(item);
    const auto found = by_id_.find(id);
    if (found == by_id_.end()) fail("an edge names node " + id_text({id, {}}) + ", and there is none");
    return found->second;
  }

  void read_node(const dom::Item& item) {
    check_keys(item, {"id", "seconds", "bytes", "peak_bytes", "transfer_seconds", "transfer_bytes",
                      "colocate", "backward", "name"});
    CostNode node{.id = id_of(item.at("id")), .seconds = {}};
    const auto index = static_cast<std::uint32_t>(graph_.nodes.size());
    if (!by_id_.emplace(node.id, index).second) fail("node " + id_text(node) + " is there twice");
    node.seconds.assign(graph_.classes.size(), kCannotRun);
    for (const auto& [name, seconds] : item.at("seconds").fields())
      node.seconds[class_named(name, node)] = seconds.real();
    node.bytes = item.real_or("bytes"), node.peak_bytes = item.real_or("peak_bytes");
    node.colocate = word(item, "colocate");
    node.backward = item.boolean_or("backward");
    const auto transfer = cost_of(item, "transfer_seconds", "transfer_bytes", "node " + id_text(node));
    transfers_.push_back(transfer.value_or(std::vector<double>(graph_.classes.size(), 0)));
    graph_.nodes.push_back(std::move(node));
  }

  // A word, or a number as one.
  static std::string word(const dom::Item& item, std::string_view key) {
    const auto found = item.find(key);
    if (!found) return {};
    return found->is_integer() ? std::to_string(found->integer()) : std::string(found->text());
  }

  std::size_t class_named(std::string_view name, const CostNode& node) const {
    const auto found = std::ranges::find(graph_.classes, name, &DeviceClass::name);
    if (found != graph_.classes.end()) return static_cast<std::size_t>(found - graph_.classes.begin());
    std::vector<std::string_view> names;
    for (const DeviceClass& one : graph_.classes) names.push_back(one.name);
    fail("node " + id_text(node) + " has seconds of '" + std::string(name) + "', which is no device class",
         did_you_mean(name, names, names.empty() ? "" : "choose " + one_of(names)));
  }

  // Seconds by class of what is given in seconds or in bytes; none where it is given in neither.
  std::optional<std::vector<double>> cost_of(const dom::Item& item, std::string_view seconds,
                                             std::string_view bytes, const std::string& whose) const {
    const auto in_seconds = real(item, seconds), in_bytes = real(item, bytes);
    if (in_seconds && in_bytes)
      fail(whose + " has both '" + std::string(seconds) + "' and '" + std::string(bytes) + "'");
    if (in_seconds) return std::vector<double>(graph_.classes.size(), *in_seconds);
    if (!in_bytes) return std::nullopt;
    std::vector<double> all;
    for (const DeviceClass& one : graph_.classes) {
      if (!one.bytes_per_second && !one.transfers_free)
        fail(whose + " sends bytes, and how many a second device class '" + one.name + "' sends is not given",
             "'bytes_per_second' of the class says it");
      all.push_back(one.transfers_free ? 0 : one.latency_seconds + *in_bytes / *one.bytes_per_second);
    }
    return all;
  }

  // [1, 3], or {"from": 1, "to": 3, "seconds": 0.1}. What a node gives several others at the same cost is one
  // tensor, unless names tell them apart.
  void read_edge(const dom::Item& item) {
    std::uint32_t from = 0, to = 0;
    std::vector<double> seconds;
    std::string tensor;
    if (item.is_object()) {
      check_keys(item, {"from", "to", "seconds", "bytes", "tensor"});
      from = node_at(item.at("from")), to = node_at(item.at("to"));
      seconds = cost_of(item, "seconds", "bytes", "an edge of node " + id_text(graph_.nodes[from]))
                    .value_or(transfers_[from]);
      tensor = word(item, "tensor");
    } else {
      const auto ends = item.items();
      if (ends.size() != 2) fail("an edge is two nodes: [1, 3]");
      from = node_at(ends[0]), to = node_at(ends[1]), seconds = transfers_[from];
    }
    auto& into = tensors_[{from, tensor, seconds}];
    into.producer = from, into.seconds = std::move(seconds);
    if (std::ranges::find(into.consumers, to) == into.consumers.end()) into.consumers.push_back(to);
  }

  const dom::Item& root_;
  CostGraph graph_;
  std::unordered_map<Id, std::uint32_t, IdHash> by_id_;
  std::vector<std::vector<double>> transfers_;  // by node, for edges that say nothing else
  std::map<std::tuple<std::uint32_t, std::string, std::vector<double>>, CostTensor> tensors_;
};

}  // namespace

CostGraph read_costs(std::string_view json, const std::string& where) {
  const dom::Document document(json, {where, "docs/plan.md describes the file"}, "a graph of costs");
  const dom::Item root = document.root();
  CostGraph graph = CostReader(root).read();
  check(graph, where);
  return graph;
}

}  // namespace opscope
