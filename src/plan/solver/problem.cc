// Nodes -> items: colocated nodes and what lies in a circle with them are joined, then free nodes with a
// neighbour.
#include "plan/solver/problem.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string>

#include "base/groups.h"
#include "plan/costs/joined_ids.h"

namespace opscope {
namespace {

using Ids = std::vector<std::uint32_t>;

// Edges of the order: what a node needs is earlier or on the same device. Backward nodes go where their
// forward nodes are; those without any keep the mirrored order.
std::vector<std::pair<std::uint32_t, std::uint32_t>> order_of(const CostGraph& graph, JoinedIds& groups) {
  std::vector<bool> has_forward(graph.nodes.size(), false);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (!graph.nodes[i].backward) has_forward[groups.of(i)] = true;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  for (const CostTensor& tensor : graph.tensors) {
    const std::uint32_t from = groups.of(tensor.producer);
    for (const std::uint32_t consumer : tensor.consumers) {
      const std::uint32_t to = groups.of(consumer);
      if (from == to) continue;
      if (!graph.nodes[consumer].backward)
        edges.emplace_back(from, to);
      else if (graph.nodes[tensor.producer].backward && !(has_forward[from] && has_forward[to]))
        edges.emplace_back(to, from);
    }
  }
  return edges;
}

// Joins groups that need each other, by Tarjan's algorithm without recursion.
class Circles {
 public:
  Circles(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges, std::size_t size)
      : next_(size), index_(size, 0), low_(size, 0), on_stack_(size, false) {
    for (const auto& [from, to] : edges) next_[from].push_back(to);
  }
  void join(JoinedIds& groups) {
    for (std::uint32_t i = 0; i < next_.size(); ++i)
      if (index_[i] == 0) visit(i, groups);
  }

 private:
  void enter(std::uint32_t i) {
    index_[i] = low_[i] = ++count_;
    stack_.push_back(i), on_stack_[i] = true;
    calls_.push_back({i, 0});
  }
  void visit(std::uint32_t root, JoinedIds& groups) {
    enter(root);
    while (!calls_.empty()) {
      auto& [node, edge] = calls_.back();
      if (edge < next_[node].size()) {
        const std::uint32_t to = next_[node][edge++];
        if (index_[to] == 0)
          enter(to);
        else if (on_stack_[to])
          low_[node] = std::min(low_[node], index_[to]);
        continue;
      }
      const std::uint32_t done = node;
      calls_.pop_back();
      if (!calls_.empty()) low_[calls_.back().first] = std::min(low_[calls_.back().first], low_[done]);
      if (low_[done] == index_[done]) close(done, groups);
    }
  }
  void close(std::uint32_t root, JoinedIds& groups) {
    for (std::uint32_t last = ~root; last != root;) {
      last = stack_.back();
      stack_.pop_back(), on_stack_[last] = false;
      if (last != root) groups.join(root, last);
    }
  }

  std::vector<Ids> next_;
  Ids index_, low_, stack_;
  std::vector<bool> on_stack_;
  std::vector<std::pair<std::uint32_t, std::size_t>> calls_;
  std::uint32_t count_ = 0;
};

void add(PlanItem& item, const CostNode& node, std::uint32_t index) {
  item.nodes.push_back(index);
  for (std::size_t c = 0; c < node.seconds.size(); ++c) item.seconds[c] += node.seconds[c];
  item.bytes += node.bytes;
  item.peak_bytes = std::max(item.peak_bytes, node.peak_bytes);
  item.shared.insert(item.shared.end(), node.shared.begin(), node.shared.end());
}

// What tensors say of who reads and writes them, and equal ones as one.
void set_tensors(PlanProblem& problem, const Ids& item_of) {
  const CostGraph& graph = *problem.graph;
  struct Sum {
    std::vector<double> seconds;
    double bytes = 0;
  };
  std::map<std::pair<std::uint32_t, Ids>, Sum> all;
  for (const CostTensor& tensor : graph.tensors) {
    const std::uint32_t producer = item_of[tensor.producer];
    Ids consumers;
    for (const std::uint32_t each : tensor.consumers)
      if (item_of[each] != producer) consumers.push_back(item_of[each]);
    sort_unique(consumers);
    if (consumers.empty()) continue;
    auto& [seconds, bytes] = all[{producer, std::move(consumers)}];
    bytes += tensor.bytes;
    seconds.resize(graph.classes.size(), 0);
    for (std::size_t c = 0; c < seconds.size(); ++c)
      if (!graph.classes[c].transfers_free) seconds[c] += tensor.seconds[c];
  }
  problem.tensors.clear();
  for (auto& [ends, sum] : all) {
    const auto id = static_cast<std::uint32_t>(problem.tensors.size());
    problem.items[ends.first].writes.push_back(id);
    for (const std::uint32_t consumer : ends.second) problem.items[consumer].reads.push_back(id);
    const bool forward = std::ranges::all_of(ends.second, [&](auto to) { return to > ends.first; });
    problem.tensors.push_back({ends.first, ends.second, sum.seconds, sum.bytes, forward});
  }
}

// Groups in an order that edges allow: of those that may come next the one whose input is the most recent,
// so that branches stay together.
Ids in_order(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges, const Ids& roots,
             std::size_t size) {
  std::vector<Ids> next(size);
  Ids open(size, 0), ready, order;
  for (const auto& [from, to] : edges) next[from].push_back(to), ++open[to];
  for (const std::uint32_t root : roots)
    if (open[root] == 0) ready.push_back(root);
  std::ranges::reverse(ready);
  while (!ready.empty()) {
    const std::uint32_t root = ready.back();
    ready.pop_back();
    order.push_back(root);
    for (auto to = next[root].rbegin(); to != next[root].rend(); ++to)
      if (--open[*to] == 0) ready.push_back(*to);
  }
  return order;
}

PlanProblem from_groups(const CostGraph& graph, JoinedIds& groups) {
  auto edges = order_of(graph, groups);
  Circles(edges, graph.nodes.size()).join(groups);
  edges = order_of(graph, groups);
  sort_unique(edges);
  Ids roots;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) roots.push_back(groups.of(i));
  sort_unique(roots);
  const Ids order = in_order(edges, roots, graph.nodes.size());
  Ids place(graph.nodes.size(), 0), item_of(graph.nodes.size());
  for (std::uint32_t p = 0; p < order.size(); ++p) place[order[p]] = p;
  PlanProblem problem{&graph, std::vector<PlanItem>(order.size()), {}};
  for (PlanItem& item : problem.items) item.seconds.assign(graph.classes.size(), 0);
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i)
    add(problem.items[item_of[i] = place[groups.of(i)]], graph.nodes[i], i);
  for (PlanItem& item : problem.items) sort_unique(item.shared);
  for (const auto& [from, to] : edges) {
    problem.items[place[from]].after.push_back(place[to]);
    problem.items[place[to]].before.push_back(place[from]);
  }
  set_tensors(problem, item_of);
  return problem;
}

// Every device could hold all there is.
bool all_fit_anywhere(const CostGraph& graph) {
  double bytes = std::accumulate(graph.shared_bytes.begin(), graph.shared_bytes.end(), 0.0), peak = 0;
  for (const CostNode& node : graph.nodes) bytes += node.bytes, peak = std::max(peak, node.peak_bytes);
  for (const CostTensor& tensor : graph.tensors) bytes += tensor.bytes;
  return std::ranges::all_of(graph.classes, [&](const DeviceClass& one) {
    return one.memory_bytes.value_or(kCannotRun) >= bytes + peak;
  });
}

// `bytes_matter`: it may hold none, since moving it could be what makes another item fit.
bool is_free(const PlanItem& item, bool bytes_matter) {
  if (bytes_matter && (item.bytes > 0 || item.peak_bytes > 0 || !item.shared.empty())) return false;
  return std::ranges::all_of(item.seconds, [](double seconds) { return seconds == 0; });
}

// Not more in any class.
bool no_dearer(const PlanTensor& a, const PlanTensor& b) {
  return a.bytes <= b.bytes && std::ranges::equal(a.seconds, b.seconds, std::less_equal());
}

// A neighbour that a free item can always go with, at no cost: nothing else has to be sent or received than
// before, or less.
std::optional<std::uint32_t> free_neighbour(const PlanProblem& problem, const PlanItem& item,
                                            bool bytes_matter) {
  if (!is_free(item, bytes_matter)) return std::nullopt;
  const auto only_read_by = [&](std::uint32_t tensor) {
    return problem.tensors[tensor].consumers == item.after;
  };
  const auto only_made_by = [&](std::uint32_t tensor) {
    return problem.tensors[tensor].producer == item.before[0];
  };
  if (item.before.empty() && item.reads.empty() && item.after.size() == 1 &&
      std::ranges::all_of(item.writes, only_read_by))
    return item.after[0];
  if (item.after.empty() && item.writes.empty() && item.before.size() == 1 &&
      std::ranges::all_of(item.reads, only_made_by))
    return item.before[0];
  if (item.reads.size() != 1 || item.writes.size() != 1 || item.before.size() != 1) return std::nullopt;
  const PlanTensor &in = problem.tensors[item.reads[0]], &out = problem.tensors[item.writes[0]];
  if (in.consumers.size() != 1 || !in.is_forward || !out.is_forward) return std::nullopt;
  // Several readers would each wait for the producer's link instead of its own.
  const bool is_apart = problem.graph->point_to_point && out.consumers.size() > 1;
  if (no_dearer(out, in) && !is_apart) return item.before[0];
  if (no_dearer(in, out) && out.consumers.size() == 1 && item.after.size() == 1) return item.after[0];
  return std::nullopt;
}

}  // namespace

PlanProblem make_problem(const CostGraph& graph) {
  JoinedIds groups(graph.nodes.size());
  std::map<std::string_view, std::uint32_t> first;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i)
    if (const std::string& word = graph.nodes[i].colocate; !word.empty())
      groups.join(first.try_emplace(word, i).first->second, i);
  PlanProblem problem = from_groups(graph, groups);
  const bool bytes_matter = !all_fit_anywhere(graph);
  for (bool joined = true; joined;) {
    joined = false;
    std::vector<bool> taken(problem.items.size(), false);
    for (std::uint32_t i = 0; i < problem.items.size(); ++i) {
      const auto neighbour =
          taken[i] ? std::nullopt : free_neighbour(problem, problem.items[i], bytes_matter);
      if (!neighbour || taken[*neighbour]) continue;
      taken[i] = taken[*neighbour] = joined = true;
      groups.join(problem.items[i].nodes[0], problem.items[*neighbour].nodes[0]);
    }
    if (joined) problem = from_groups(graph, groups);
  }
  return problem;
}

PlanProblem restricted(const PlanProblem& problem, std::size_t window) {
  PlanProblem chain = problem;
  for (std::uint32_t i = 0; i + window < chain.items.size(); ++i) {
    const auto later = static_cast<std::uint32_t>(i + window);
    chain.items[i].after.push_back(later), chain.items[later].before.push_back(i);
    sort_unique(chain.items[i].after), sort_unique(chain.items[later].before);
  }
  return chain;
}

}  // namespace opscope
