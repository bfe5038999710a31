// The solver against all plans there are, tried one by one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "base/error.h"
#include "plan/random_costs.h"
#include "plan/solver/solve.h"

namespace opscope {
namespace {

using Mask = std::uint32_t;

bool is_free(const CostGraph& graph, std::size_t c) { return graph.classes[c].transfers_free; }

// Straight from the definition. Nothing where the part cannot be on such a device.
struct PartCost {
  double period = 0, busy = 0;
};
std::optional<PartCost> part_cost(const CostGraph& graph, Mask part, std::size_t c) {
  double compute = 0, sent = 0, received = 0, bytes = 0, peak = 0;
  std::set<std::uint32_t> shared;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if ((part >> i & 1) == 0) continue;
    const CostNode& node = graph.nodes[i];
    compute += node.seconds[c], bytes += node.bytes, peak = std::max(peak, node.peak_bytes);
    shared.insert(node.shared.begin(), node.shared.end());
  }
  for (const auto each : shared) bytes += graph.shared_bytes[each];
  for (const CostTensor& tensor : graph.tensors) {
    Mask readers = 0;
    for (const auto consumer : tensor.consumers) readers |= Mask{1} << consumer;
    const bool inside = (part >> tensor.producer & 1) != 0;
    if (inside && (readers & ~part) != 0) sent += tensor.seconds[c];
    if (!inside && (readers & part) != 0) received += tensor.seconds[c], bytes += tensor.bytes;
  }
  if (is_free(graph, c)) sent = received = 0;
  const auto& memory = graph.classes[c].memory_bytes;
  if (!std::isfinite(compute) || (memory && bytes + peak > *memory)) return std::nullopt;
  return PartCost{graph.overlap ? std::max({compute, sent, received}) : compute + sent + received,
                  compute + sent + received};
}

// By the devices used of each class: the least slowest, sums, and the front of slowest and latency.
struct Best {
  double slowest = kCannotRun, latency = kCannotRun, energy = kCannotRun;
  std::set<std::pair<double, double>> front{};
};
using Counts = std::vector<std::size_t>;

// Every chain of downsets, by downset and devices used.
class EveryPlan {
 public:
  explicit EveryPlan(const CostGraph& graph) : graph_(graph), need_(graph.nodes.size(), 0) {
    for (const CostTensor& tensor : graph.tensors)
      for (const auto consumer : tensor.consumers) need_[consumer] |= Mask{1} << tensor.producer;
    std::map<std::string, Mask> together;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (!graph.nodes[i].colocate.empty()) together[graph.nodes[i].colocate] |= Mask{1} << i;
    for (const auto& [word, group] : together) groups_.push_back(group);
  }

  std::map<Counts, Best> all() {
    const Mask full = static_cast<Mask>((std::uint64_t{1} << graph_.nodes.size()) - 1);
    std::vector<std::map<Counts, Best>> of(std::size_t{full} + 1);
    of[0][Counts(graph_.classes.size(), 0)] = {0, 0, 0, {{0, 0}}};
    for (Mask set = 0; set < full; ++set) {
      if (of[set].empty()) continue;
      const Mask left = full & ~set;
      for (Mask part = left; part != 0; part = (part - 1) & left)
        if (may_follow(set, part)) extend(of[set], part, of[set | part]);
    }
    return of[full];
  }

 private:
  bool may_follow(Mask set, Mask part) const {
    for (std::size_t i = 0; i < need_.size(); ++i)
      if ((part >> i & 1) != 0 && (need_[i] & ~(set | part)) != 0) return false;
    return std::ranges::all_of(groups_,
                               [&](Mask group) { return (group & part) == 0 || (group & ~part) == 0; });
  }
  void extend(const std::map<Counts, Best>& from, Mask part, std::map<Counts, Best>& to) const {
    for (std::size_t c = 0; c < graph_.classes.size(); ++c) {
      const auto cost = part_cost(graph_, part, c);
      if (!cost) continue;
      for (const auto& [counts, best] : from) {
        if (counts[c] == graph_.classes[c].count) continue;
        Counts more = counts;
        ++more[c];
        Best& into = to[more];
        into.slowest = std::min(into.slowest, std::max(best.slowest, cost->period));
        into.latency = std::min(into.latency, best.latency + cost->busy);
        into.energy = std::min(into.energy, best.energy + cost->busy * *graph_.classes[c].watts);
        for (const auto& [slowest, latency] : best.front)
          add(into.front, {std::max(slowest, cost->period), latency + cost->busy});
      }
    }
  }
  static void add(std::set<std::pair<double, double>>& front, std::pair<double, double> point) {
    const auto beats = [](const auto& a, const auto& b) {
      return a.first <= b.first && a.second <= b.second;
    };
    if (std::ranges::any_of(front, [&](const auto& other) { return beats(other, point); })) return;
    std::erase_if(front, [&](const auto& other) { return beats(point, other); });
    front.insert(point);
  }

  const CostGraph& graph_;
  std::vector<Mask> need_, groups_;
};

std::size_t sum(const Counts& counts) {
  std::size_t all = 0;
  for (const auto each : counts) all += each;
  return all;
}

double expected(const CostGraph& graph, const std::map<Counts, Best>& all, PlanObjective objective) {
  double least = kCannotRun;
  for (const auto& [counts, best] : all) {
    double price = 0;
    for (std::size_t c = 0; c < counts.size(); ++c)
      price += static_cast<double>(counts[c]) * *graph.classes[c].price_per_hour / 3600;
    const double value = objective == PlanObjective::kThroughput ? best.slowest
                         : objective == PlanObjective::kLatency  ? best.latency
                         : objective == PlanObjective::kDevices  ? static_cast<double>(sum(counts))
                         : objective == PlanObjective::kCost     ? price * best.slowest
                                                                 : best.energy;
    least = std::min(least, value);
  }
  return least;
}

// The parts are a plan, and are priced as the definition has it.
void expect_valid(const CostGraph& graph, const Plan& plan) {
  Mask done = 0;
  double slowest = 0, latency = 0;
  std::set<std::pair<std::uint32_t, std::uint32_t>> used;
  for (const PlanPart& part : plan.parts) {
    Mask nodes = 0;
    for (const auto node : part.nodes) nodes |= Mask{1} << node;
    EXPECT_NE(nodes, 0u);
    EXPECT_EQ(done & nodes, 0u);
    done |= nodes;
    for (const CostTensor& tensor : graph.tensors)
      for (const auto consumer : tensor.consumers)
        if ((nodes >> consumer & 1) != 0) {
          EXPECT_TRUE((done >> tensor.producer & 1) != 0);
        }
    EXPECT_LT(part.device, graph.classes[part.device_class].count);
    EXPECT_TRUE(used.emplace(part.device_class, part.device).second);
    const auto cost = part_cost(graph, nodes, part.device_class);
    ASSERT_TRUE(cost);
    EXPECT_NEAR(part.seconds, cost->period, 1e-9);
    slowest = std::max(slowest, cost->period), latency += cost->busy;
  }
  EXPECT_EQ(std::popcount(done), static_cast<int>(graph.nodes.size()));
  EXPECT_NEAR(plan.figures.slowest_seconds, slowest, 1e-9);
  EXPECT_NEAR(plan.figures.latency_seconds, latency, 1e-9);
}

void expect_same_front(const CostGraph& graph, const std::map<Counts, Best>& all) {
  std::set<std::pair<double, double>> points;
  for (const auto& [counts, best] : all) points.insert(best.front.begin(), best.front.end());
  std::vector<std::pair<double, double>> front;
  for (const auto& point : points)
    if (front.empty() || point.second < front.back().second * (1 - 1e-9)) front.push_back(point);
  const PlanAnswer answer =
      solve(graph, {.objective = PlanObjective::kThroughput, .against = PlanObjective::kLatency}, "test");
  EXPECT_TRUE(answer.front_is_whole);
  ASSERT_EQ(answer.front.size(), front.size());
  for (std::size_t i = 0; i < front.size(); ++i) {
    expect_valid(graph, answer.front[i]);
    EXPECT_NEAR(answer.front[i].figures.slowest_seconds, front[i].first, 1e-8);
    EXPECT_NEAR(answer.front[i].figures.latency_seconds, front[i].second, 1e-8);
  }
}

constexpr std::array kAll{PlanObjective::kThroughput, PlanObjective::kLatency, PlanObjective::kDevices,
                          PlanObjective::kCost, PlanObjective::kEnergy};

void expect_optimal(const CostGraph& graph) {
  const std::map<Counts, Best> all = EveryPlan(graph).all();
  for (const PlanObjective objective : kAll) {
    const double least = expected(graph, all, objective);
    if (!std::isfinite(least)) {
      EXPECT_THROW(solve(graph, {.objective = objective}, "test"), Error);
      continue;
    }
    const PlanAnswer answer = solve(graph, {.objective = objective}, "test");
    EXPECT_NEAR(answer.value, least, 1e-9 * std::max(1.0, least)) << name(objective);
    EXPECT_TRUE(answer.is_proven()) << name(objective);
    expect_valid(graph, answer.plan);
    if (objective != PlanObjective::kDevices) continue;
    double slowest = kCannotRun;
    for (const auto& [counts, best] : all)
      if (static_cast<double>(sum(counts)) == least) slowest = std::min(slowest, best.slowest);
    EXPECT_NEAR(answer.plan.figures.slowest_seconds, slowest, 1e-9);
  }
  if (!all.empty()) expect_same_front(graph, all);
}

// The least latency of all plans, each worked out from where its tensors are made and read.
class EveryLatency {
 public:
  explicit EveryLatency(const CostGraph& graph) : graph_(graph), part_of_(graph.nodes.size(), 0) {}

  double least() {
    extend(0);
    return least_;
  }

 private:
  void extend(Mask done) {
    const Mask left = static_cast<Mask>((1u << graph_.nodes.size()) - 1) & ~done;
    if (left == 0) least_ = std::min(least_, latency());
    for (Mask part = left; part != 0; part = (part - 1) & left) {
      if (!is_downset(done | part)) continue;
      for (std::uint32_t c = 0; c < graph_.classes.size(); ++c) {
        const auto used = static_cast<std::size_t>(std::ranges::count(classes_, c));
        if (used == graph_.classes[c].count ||
            !std::isfinite(part_cost(graph_, part, c).value_or(PartCost{kCannotRun}).period))
          continue;
        for (std::size_t i = 0; i < part_of_.size(); ++i)
          if ((part >> i & 1) != 0) part_of_[i] = classes_.size();
        classes_.push_back(c);
        extend(done | part);
        classes_.pop_back();
      }
    }
  }
  bool is_downset(Mask set) const {
    for (const CostTensor& tensor : graph_.tensors)
      for (const auto consumer : tensor.consumers)
        if ((set >> consumer & 1) != 0 && (set >> tensor.producer & 1) == 0) return false;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (!graph_.nodes[i].colocate.empty() && graph_.nodes[i].colocate == graph_.nodes[j].colocate &&
            (set >> i & 1) != (set >> j & 1))
          return false;
    return true;
  }
  double latency() const {
    double sum = 0;
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      sum += graph_.nodes[i].seconds[classes_[part_of_[i]]];
    for (const CostTensor& tensor : graph_.tensors) {
      const std::size_t from = part_of_[tensor.producer];
      std::set<std::size_t> readers;
      for (const auto consumer : tensor.consumers) readers.insert(part_of_[consumer]);
      readers.erase(from);
      const auto seconds = [&](std::size_t part) {
        return is_free(graph_, classes_[part]) ? 0 : tensor.seconds[classes_[part]];
      };
      for (const std::size_t to : readers) sum += std::max(seconds(from), seconds(to));
    }
    return sum;
  }

  const CostGraph& graph_;
  std::vector<std::size_t> part_of_;
  std::vector<std::uint32_t> classes_;
  double least_ = kCannotRun;
};

// OPSCOPE_PLAN_GRAPHS: how many, for long runs.
std::size_t graphs(std::size_t otherwise) {
  const char* text = std::getenv("OPSCOPE_PLAN_GRAPHS");
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

TEST(PlanSolver, IsOptimalOnRandomGraphs) {
  std::mt19937 random(20);
  for (std::size_t i = 0; i < graphs(600); ++i) {
    SCOPED_TRACE(i);
    expect_optimal(testing::random_costs(random, 8));
    if (HasFailure()) return;
  }
}

TEST(PlanSolver, IsOptimalOnLargerRandomGraphs) {
  std::mt19937 random(21);
  for (std::size_t i = 0; i < graphs(600) / 20; ++i) {
    SCOPED_TRACE(i);
    expect_optimal(testing::random_costs(random, 14));
    if (HasFailure()) return;
  }
}

TEST(PlanSolver, GivesUpWithABound) {
  std::mt19937 random(25);
  std::size_t open = 0;
  for (std::size_t i = 0; i < graphs(600) / 2; ++i) {
    SCOPED_TRACE(i);
    const CostGraph graph = testing::random_costs(random, 10);
    const std::map<Counts, Best> all = EveryPlan(graph).all();
    for (const PlanObjective objective : kAll) {
      const double least = expected(graph, all, objective);
      try {
        const PlanAnswer answer = solve(graph, {.objective = objective, .most_steps = 60}, "test");
        EXPECT_LE(answer.lower_bound, least * (1 + 1e-9)) << name(objective);
        EXPECT_GE(answer.value, least * (1 - 1e-9)) << name(objective);
        open += answer.is_proven() ? 0 : 1;
        expect_valid(graph, answer.plan);
      } catch (const Error&) {
        // Nothing fits, or nothing was found that does.
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(open, 10u);
}

TEST(PlanSolver, OfEquallyFastPlansTheOneOfLeastLatency) {
  std::mt19937 random(24);
  for (std::size_t i = 0; i < graphs(600) / 4; ++i) {
    SCOPED_TRACE(i);
    const CostGraph graph = testing::random_costs(random, 8);
    std::map<Counts, Best> all = EveryPlan(graph).all();
    if (all.empty()) continue;
    double slowest = kCannotRun, latency = kCannotRun;
    for (const auto& [counts, best] : all) slowest = std::min(slowest, best.slowest);
    for (const auto& [counts, best] : all)
      for (const auto& [period, sum] : best.front)
        if (period <= slowest * (1 + 1e-9)) latency = std::min(latency, sum);
    const PlanAnswer answer = solve(graph, {.then_latency = true}, "test");
    EXPECT_NEAR(answer.value, slowest, 1e-9);
    EXPECT_NEAR(answer.plan.figures.latency_seconds, latency, 1e-8);
    expect_valid(graph, answer.plan);
    if (HasFailure()) return;
  }
}

TEST(PlanSolver, TakesTheSlowerOfTwoLinks) {
  std::mt19937 random(22);
  for (std::size_t i = 0; i < graphs(600) / 2; ++i) {
    SCOPED_TRACE(i);
    CostGraph graph = testing::random_costs(random, 6);
    graph.point_to_point = true, graph.overlap = false;
    const double least = EveryLatency(graph).least();
    const PlanQuestion question{.objective = PlanObjective::kLatency};
    if (!std::isfinite(least)) {
      EXPECT_THROW(solve(graph, question, "test"), Error);
      continue;
    }
    const PlanAnswer answer = solve(graph, question, "test");
    EXPECT_TRUE(answer.is_proven());
    EXPECT_NEAR(answer.value, least, 1e-9);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace opscope
