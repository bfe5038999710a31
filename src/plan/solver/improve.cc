// Hill climbing: a step is taken where the slowest of all parts becomes faster.
#include "plan/solver/improve.h"

#include <algorithm>
#include <cmath>

namespace opscope {
namespace {

class Climber {
 public:
  Climber(const PlanProblem& problem, std::vector<PlanPart>& parts, std::size_t most_tries)
      : problem_(problem), parts_(parts), tries_left_(most_tries), part_of_(problem.items.size(), 0) {
    std::vector<std::uint32_t> of_node(problem.graph->nodes.size(), 0);
    for (std::uint32_t p = 0; p < parts.size(); ++p)
      for (const std::uint32_t node : parts[p].nodes) of_node[node] = p;
    for (std::size_t i = 0; i < part_of_.size(); ++i) part_of_[i] = of_node[problem.items[i].nodes.front()];
  }

  void climb() {
    seconds_ = slowest(part_of_);
    while (step()) continue;
    parts_ = parts_from(part_of_);
    std::erase_if(parts_, [](const PlanPart& part) { return part.nodes.empty(); });
  }

 private:
  using Places = std::vector<std::uint32_t>;

  std::vector<PlanPart> parts_from(const Places& places) const {
    std::vector<PlanPart> parts = parts_;
    for (PlanPart& part : parts) part.nodes.clear();
    for (std::size_t i = 0; i < places.size(); ++i) {
      auto& nodes = parts[places[i]].nodes;
      nodes.insert(nodes.end(), problem_.items[i].nodes.begin(), problem_.items[i].nodes.end());
    }
    for (PlanPart& part : parts) std::ranges::sort(part.nodes);
    price(*problem_.graph, parts);
    return parts;
  }
  // kCannotRun where a part does not fit its device.
  double slowest(const Places& places) {
    double most = 0;
    const std::vector<PlanPart> parts = parts_from(places);
    for (std::uint32_t p = 0; p < parts.size(); ++p) {
      const auto& memory = problem_.graph->classes[parts[p].device_class].memory_bytes;
      if (memory && parts[p].bytes > *memory) return kCannotRun;
      if (parts[p].seconds > most) most = parts[p].seconds, slowest_ = p;
    }
    return most;
  }
  bool is_in_order(const Places& places, std::uint32_t item) const {
    const PlanItem& one = problem_.items[item];
    return std::ranges::all_of(one.before, [&](auto other) { return places[other] <= places[item]; }) &&
           std::ranges::all_of(one.after, [&](auto other) { return places[other] >= places[item]; });
  }

  // True where the change was an improvement, and is kept.
  bool try_change(std::uint32_t item, std::uint32_t part, std::uint32_t other) {
    Places changed = part_of_;
    if (other != kNobody) changed[other] = changed[item];
    changed[item] = part;
    if (!is_in_order(changed, item) || (other != kNobody && !is_in_order(changed, other))) return false;
    if (tries_left_ == 0) return false;
    --tries_left_;
    const std::uint32_t before = slowest_;
    if (const double seconds = slowest(changed); seconds < seconds_ * (1 - 1e-12)) {
      seconds_ = seconds, part_of_ = std::move(changed);
      return true;
    }
    slowest_ = before;
    return false;
  }
  bool step() {
    const std::uint32_t from = slowest_;
    for (std::uint32_t i = 0; i < part_of_.size(); ++i) {
      if (part_of_[i] != from) continue;
      for (std::uint32_t p = 0; p < parts_.size(); ++p)
        if (p != from && try_change(i, p, kNobody)) return true;
      for (std::uint32_t j = 0; j < part_of_.size(); ++j)
        if (part_of_[j] != from && try_change(i, part_of_[j], j)) return true;
    }
    return false;
  }

  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  const PlanProblem& problem_;
  std::vector<PlanPart>& parts_;
  std::size_t tries_left_;
  Places part_of_;
  std::uint32_t slowest_ = 0;
  double seconds_ = 0;
};

}  // namespace

void improve_slowest(const PlanProblem& problem, std::vector<PlanPart>& parts, std::size_t most_tries) {
  if (!parts.empty()) Climber(problem, parts, most_tries).climb();
}

}  // namespace opscope
