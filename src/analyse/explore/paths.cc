// Paths between two nodes. Nodes are in an order in which edges point forward, so one pass over
// those between the two finds how many ways there are, the shortest, the costliest, and where all of them
// meet.
#include <algorithm>

#include "analyse/explore/explore.h"

namespace opscope {
namespace {

class WayFinder {
 public:
  WayFinder(const GraphView& view, std::uint32_t from, std::uint32_t to)
      : view_(view), from_(from), to_(to), steps_(to - from + 1) {}

  std::optional<Ways> find() {
    mark_reachable();
    if (!at(to_).from_start) return std::nullopt;
    mark_leading();
    for (std::uint32_t n = from_; n <= to_; ++n)
      if (is_on(n)) pass(n);
    ways_.shortest = walk_back(&Step::shortest_from);
    ways_.costliest = walk_back(&Step::costliest_from);
    ways_.costliest_flops = at(to_).flops;
    ways_.count = 1;
    for (std::size_t s = 0; s + 1 < ways_.stages.size(); ++s) ways_.count *= ways_.stages[s].ways;
    return std::move(ways_);
  }

 private:
  struct Step {
    bool from_start = false, to_end = false;
    Count ways{};  // from the last stage
    std::uint32_t length = 0;
    Count flops{};
    std::uint32_t shortest_from = kNone, costliest_from = kNone;
  };
  Step& at(std::uint32_t n) { return steps_[n - from_]; }
  bool is_on(std::uint32_t n) { return at(n).from_start && at(n).to_end; }

  // Nodes between the two that `n` takes from, each once.
  template <class Visit>
  void each_before(std::uint32_t n, Visit visit) {
    before_.clear();
    for (const ViewEdge& edge : view_.inputs_of(view_.nodes[n]))
      if (edge.from >= from_ && edge.from < n) before_.push_back(edge.from);
    std::ranges::sort(before_);
    before_.erase(std::ranges::unique(before_).begin(), before_.end());
    std::ranges::for_each(before_, visit);
  }

  void mark_reachable() {
    at(from_).from_start = true;
    for (std::uint32_t n = from_ + 1; n <= to_; ++n)
      each_before(n, [&](std::uint32_t m) { at(n).from_start |= at(m).from_start; });
  }
  void mark_leading() {
    at(to_).to_end = true;
    for (std::uint32_t n = to_ + 1; n-- > from_;)
      if (at(n).to_end) each_before(n, [&](std::uint32_t m) { at(m).to_end = true; });
  }

  void pass(std::uint32_t n) {
    Step& step = at(n);
    step.length = n == from_ ? 1 : kNone;
    step.ways = n == from_ ? 1 : 0;
    each_before(n, [&](std::uint32_t m) {
      if (!is_on(m)) return;
      const Step& last = at(m);
      step.ways += last.ways;
      if (last.length + 1 < step.length) step.length = last.length + 1, step.shortest_from = m;
      if (step.costliest_from == kNone || last.flops > at(step.costliest_from).flops) step.costliest_from = m;
    });
    step.flops = view_.nodes[n].metrics.flops;
    if (step.costliest_from != kNone) step.flops += at(step.costliest_from).flops;
    ++ways_.nodes;
    if (farthest_ <= n)
      meet(n);
    else
      ++ways_.stages.back().between;
    for (const std::uint32_t e : view_.outputs_of(view_.nodes[n])) {
      const std::uint32_t next = view_.edges[e].to;
      if (next > n && next <= to_ && is_on(next)) farthest_ = std::max(farthest_, next);
    }
  }
  // No edge passes over it: every way comes by.
  void meet(std::uint32_t n) {
    if (!ways_.stages.empty()) ways_.stages.back().ways = at(n).ways;
    ways_.stages.push_back({.node = n});
    at(n).ways = 1;
  }

  std::vector<std::uint32_t> walk_back(std::uint32_t Step::*from) {
    std::vector<std::uint32_t> way;
    for (std::uint32_t n = to_; n != kNone; n = at(n).*from) way.push_back(n);
    std::ranges::reverse(way);
    return way;
  }

  const GraphView& view_;
  std::uint32_t from_, to_;
  std::vector<Step> steps_;
  std::vector<std::uint32_t> before_;
  std::uint32_t farthest_ = 0;  // where edges from nodes before lead
  Ways ways_;
};

}  // namespace

std::optional<Ways> ways_between(const GraphView& view, std::uint32_t from, std::uint32_t to) {
  if (from > to) return std::nullopt;
  return WayFinder(view, from, to).find();
}

}  // namespace opscope
