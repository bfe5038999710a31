// Objectives as passes of the search, with limits that grow until there is a plan: what a pass without a plan
// went through is the lower bound.
#include "plan/solver/solve.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/choices.h"
#include "plan/solver/improve.h"
#include "plan/solver/search.h"

namespace opscope {
namespace {

double least_sum(const PlanProblem& problem, const std::vector<double>& weights) {
  double sum = 0;
  for (const double least : least_items(problem, weights)) sum += least;
  return sum * (1 - 1e-12);
}

double bound_of(const PlanProblem& problem, const SearchPass& pass) {
  if (pass.sums) return std::max(sum_bound(problem, pass.weights).all, least_sum(problem, pass.weights));
  return std::max(spread_bound(problem).all, largest_item(problem));
}

// Of a second.
std::vector<double> prices_of(const CostGraph& graph) {
  std::vector<double> prices;
  for (const DeviceClass& one : graph.classes) prices.push_back(*one.price_per_hour / 3600);
  return prices;
}

// What was found, and what no plan is better than.
struct Found {
  double value = kCannotRun, lower_bound = 0;
  std::vector<PlanPart> parts{};

  bool is_proven() const { return value <= lower_bound * (1 + 1e-9); }
};

class Solver {
 public:
  Solver(const CostGraph& graph, const PlanQuestion& question, const std::string& where)
      : graph_(graph),
        question_(question),
        where_(where),
        problem_(make_problem(graph)),
        search_(problem_, {question.most_steps, question.most_values}, has_hops()) {}

  PlanAnswer answer();
  // The least latency of plans without a slower device; none where the search found none.
  std::optional<Plan> least_latency(double most_seconds) {
    SearchPass pass = pass_for(PlanObjective::kLatency);
    pass.most_seconds = most_seconds;
    const Found found = least(pass);
    if (found.parts.empty()) return std::nullopt;
    return priced(graph_, found.parts);
  }

 private:
  bool has_hops() const {
    return graph_.point_to_point &&
           (question_.objective == PlanObjective::kLatency || question_.against == PlanObjective::kLatency);
  }
  SearchPass pass_for(PlanObjective objective) const { return pass_of(graph_, objective); }
  Found least(const SearchPass& pass);
  bool search_within(double limit, SearchPass pass, Found& found);
  void search_all(const SearchPass& pass, Found& found);
  void search_chains(SearchPass pass, Found& found, bool widely);
  void improve(Found& found);
  Found fewest_devices();
  Found cheapest();
  Found minimise(PlanObjective objective);

  void front_by_devices(PlanObjective other);
  void front_by_price();
  void front_by_slowest(PlanObjective sum);
  void make_front();
  void keep_the_best();
  void add_to_front(const Found& found);

  double price_of(std::size_t counts) const;
  double least_price_beyond(const std::vector<double>& best, double limit) const;
  void take(const Search& search, const std::vector<double>& best, Found& found) const;
  [[noreturn]] void fail_nothing_fits() const;

  const CostGraph& graph_;
  PlanQuestion question_;
  std::string where_;
  PlanProblem problem_;
  Search search_;
  PlanAnswer answer_;
};

double& limit_of(SearchPass& pass) { return pass.sums ? pass.most_sum : pass.most_seconds; }

void Solver::take(const Search& search, const std::vector<double>& best, Found& found) const {
  const auto least = std::ranges::min_element(best);
  if (!(*least < found.value)) return;
  found.value = *least;
  found.parts = search.plan(static_cast<std::size_t>(least - best.begin()));
}

// One pass within a limit; false where it gave up.
bool Solver::search_within(double limit, SearchPass pass, Found& found) {
  limit_of(pass) = limit;
  const SearchResult result = search_.run(pass);
  take(search_, result.best, found);
  if (result.complete)
    found.lower_bound = std::max(found.lower_bound, std::min(limit, found.value));  // infinite: there is none
  return result.complete;
}

// At once up to a plan that is known, where that is near the bound. Else with limits from the bound upwards:
// a pass within a low limit is short, and the last of them decides.
void Solver::search_all(const SearchPass& pass, Found& found) {
  constexpr double kNear = 2;
  const double from = found.lower_bound;
  search_.allow(question_.most_steps / 2);
  if (from <= 0 || found.value <= from * kNear) {
    if (search_within(found.value, pass, found)) return;
    search_.allow(question_.most_steps / 2);
  }
  for (const double factor : {1.001, 1.01, 1.03, 1.07, 1.15, 1.3, 1.6, 2.5, kCannotRun}) {
    if (from <= 0 || found.is_proven()) return;
    const double limit = std::min(from * factor, found.value);
    if (!search_within(limit, pass, found) || found.value <= limit || !std::isfinite(limit)) return;
  }
}

// Plans of a chain of items, and of chains with more and more room beside them.
void Solver::search_chains(SearchPass pass, Found& found, bool widely) {
  for (const std::size_t window : {1, 2, 4, 8, 16}) {
    if ((window > 1 && !widely) || window >= problem_.items.size() || found.is_proven()) return;
    const PlanProblem chain = restricted(problem_, window);
    Search search(chain, {question_.most_steps / 4, question_.most_values}, has_hops());
    limit_of(pass) = found.value;
    const SearchResult result = search.run(pass);
    take(search, result.best, found);
    if (window == 1 && !answer_.chain && !found.parts.empty()) answer_.chain = priced(graph_, found.parts);
    answer_.steps += search.steps();
    if (!result.complete) return;
  }
}

Found Solver::least(const SearchPass& pass) {
  Found found{.lower_bound = bound_of(problem_, pass)};
  search_chains(pass, found, false);
  search_all(pass, found);
  if (!found.is_proven() && std::isfinite(found.lower_bound)) {
    search_chains(pass, found, true);
    if (!pass.sums) improve(found);
  }
  return found;
}

// Where the search gave up.
void Solver::improve(Found& found) {
  if (found.parts.empty()) return;
  constexpr std::size_t kWork = 20'000'000;  // tries by nodes and tensors that each looks at
  improve_slowest(problem_, found.parts, kWork / (graph_.nodes.size() + graph_.tensors.size()));
  found.value = priced(graph_, found.parts).figures.slowest_seconds;
}

// One device more until a plan fits.
Found Solver::fewest_devices() {
  SearchPass pass = pass_for(PlanObjective::kThroughput);
  std::size_t proven = 0;
  bool all_complete = true;
  for (std::size_t devices = 1; devices <= graph_.devices() && devices <= problem_.items.size(); ++devices) {
    pass.most_devices = devices;
    Found found = least(pass);
    if (std::isfinite(found.value)) {
      found.value = static_cast<double>(devices);
      found.lower_bound = static_cast<double>(all_complete ? devices : proven + 1);
      return found;
    }
    all_complete = all_complete && !std::isfinite(found.lower_bound);
    if (all_complete) proven = devices;
  }
  return {.lower_bound = all_complete ? kCannotRun : 0};
}

double Solver::price_of(std::size_t counts) const {
  double price = 0;
  for (std::size_t c = 0; c < graph_.classes.size(); ++c)
    price += *graph_.classes[c].price_per_hour * static_cast<double>(search_.counts().count(counts, c));
  return price / 3600;
}

// The least price of numbers of devices that have no plan within the limit, nor have fewer of them one.
double Solver::least_price_beyond(const std::vector<double>& best, double limit) const {
  const DeviceCounts& counts = search_.counts();
  std::vector<bool> seen(best.size());
  double beyond = kCannotRun;
  for (std::size_t at = 1; at < best.size(); ++at) {
    seen[at] = std::isfinite(best[at]);
    for (std::size_t c = 0; c < graph_.classes.size() && !seen[at]; ++c)
      seen[at] = counts.count(at, c) > 0 && seen[at - counts.stride(c)];
    if (!seen[at]) beyond = std::min(beyond, price_of(at) * limit);
  }
  return beyond;
}

// For every number of devices the slowest part within a limit; what is beyond it costs at least that long.
Found Solver::cheapest() {
  SearchPass pass = pass_for(PlanObjective::kThroughput);
  pass.best_alone = false;
  const double bound = bound_of(problem_, pass);
  Found found;
  found.lower_bound = least_sum(problem_, prices_of(graph_));
  for (const double factor : {1.02, 1.1, 1.3, 2.0, 4.0, 10.0, kCannotRun}) {
    pass.most_seconds = bound > 0 ? bound * factor : kCannotRun;
    const SearchResult result = search_.run(pass);
    for (std::size_t counts = 0; counts < result.best.size(); ++counts) {
      const double value =
          std::isfinite(result.best[counts]) ? price_of(counts) * result.best[counts] : kCannotRun;
      if (value < found.value) found.value = value, found.parts = search_.plan(counts);
    }
    if (!result.complete) break;
    const double beyond =
        std::isfinite(pass.most_seconds) ? least_price_beyond(result.best, pass.most_seconds) : kCannotRun;
    found.lower_bound = std::max(found.lower_bound, std::min(found.value, beyond));
    if (found.is_proven()) break;
  }
  return found;
}

Found Solver::minimise(PlanObjective objective) {
  if (objective == PlanObjective::kDevices) {
    Found found = fewest_devices();
    answer_.chain.reset();  // of as many devices as there were when it was looked for
    return found;
  }
  if (objective == PlanObjective::kCost) return cheapest();
  return least(pass_for(objective));
}

void Solver::add_to_front(const Found& found) {
  if (!found.is_proven()) answer_.front_is_whole = false;
  if (std::isfinite(found.value)) answer_.front.push_back(priced(graph_, found.parts));
}

// The best by the other objective with so many devices, for every number of them.
void Solver::front_by_devices(PlanObjective other) {
  SearchPass pass = pass_for(other);
  for (std::size_t most = 1; most <= std::min(graph_.devices(), problem_.items.size()); ++most) {
    pass.most_devices = most;
    const Found found = least(pass);
    add_to_front(found);
  }
}

// The fastest for every number of devices of each class: no other of the same price is better.
void Solver::front_by_price() {
  SearchPass pass = pass_for(PlanObjective::kThroughput);
  pass.best_alone = false;
  const SearchResult result = search_.run(pass);
  answer_.front_is_whole = result.complete;
  for (std::size_t counts = 0; counts < result.best.size(); ++counts)
    if (std::isfinite(result.best[counts])) answer_.front.push_back(priced(graph_, search_.plan(counts)));
}

// The least sum, then the least with a faster slowest device, until there is none.
void Solver::front_by_slowest(PlanObjective sum) {
  constexpr std::size_t kMostPlans = 256;
  SearchPass pass = pass_for(sum);
  for (std::size_t i = 0; i < kMostPlans; ++i) {
    const Found found = least(pass);
    if (!std::isfinite(found.value)) {
      if (std::isfinite(found.lower_bound)) answer_.front_is_whole = false;
      return;
    }
    add_to_front(found);
    const double slowest = answer_.front.back().figures.slowest_seconds;
    if (slowest == 0) return;
    pass.most_seconds = slowest * (1 - 1e-9);
  }
  answer_.front_is_whole = false;
}

// Plans that no other of the front beats, from the best by the objective on.
void Solver::keep_the_best() {
  const auto value = [&](const Plan& plan) {
    return std::pair(*plan.figures.of(question_.objective), *plan.figures.of(*question_.against));
  };
  std::ranges::stable_sort(answer_.front, {}, value);
  std::vector<Plan> kept;
  for (Plan& plan : answer_.front)
    if (kept.empty() || value(plan).second < value(kept.back()).second * (1 - 1e-9))
      kept.push_back(std::move(plan));
  answer_.front = std::move(kept);
}

void Solver::make_front() {
  const auto is = [&](PlanObjective one) { return question_.objective == one || question_.against == one; };
  const PlanObjective other =
      question_.objective == PlanObjective::kThroughput || question_.objective == PlanObjective::kDevices
          ? *question_.against
          : question_.objective;
  if (is(PlanObjective::kCost))
    front_by_price();
  else if (is(PlanObjective::kDevices))
    front_by_devices(is(PlanObjective::kThroughput) ? PlanObjective::kThroughput : other);
  else
    front_by_slowest(other);
  keep_the_best();
}

PlanAnswer Solver::answer() {
  const auto start = std::chrono::steady_clock::now();
  answer_.question = question_;
  const Found found = minimise(question_.objective);
  if (found.parts.empty()) {
    if (std::isfinite(found.lower_bound))
      throw Error("no plan was found that fits", where_, "add devices, or devices with more memory");
    fail_nothing_fits();
  }
  answer_.plan = priced(graph_, found.parts);
  answer_.value = *answer_.plan.figures.of(question_.objective);
  answer_.lower_bound = std::min(found.lower_bound, answer_.value);
  if (found.is_proven()) answer_.lower_bound = answer_.value;
  if (question_.against) make_front();
  answer_.items = problem_.items.size(), answer_.downsets = search_.downsets();
  answer_.steps += search_.steps();
  answer_.solve_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return std::move(answer_);
}

void Solver::fail_nothing_fits() const {
  double bytes = 0, memory = 0;
  for (const CostNode& node : graph_.nodes) bytes += node.bytes;
  for (const double shared : graph_.shared_bytes) bytes += shared;
  for (const DeviceClass& one : graph_.classes)
    memory += one.memory_bytes.value_or(kCannotRun) * static_cast<double>(one.count);
  const auto text = [](double amount) { return format_bytes(Count{static_cast<std::uint64_t>(amount)}); };
  if (bytes > memory)
    throw Error(fmt::format("it fits nowhere: {} are needed and the devices have {}, {} too little",
                            text(bytes), text(memory), text(bytes - memory)),
                where_, "add devices, or devices with more memory");
  throw Error("no split of it fits the devices", where_, "add devices, or devices with more memory");
}

}  // namespace

SearchPass pass_of(const CostGraph& graph, PlanObjective objective) {
  SearchPass pass{.weights = std::vector<double>(graph.classes.size(), 1)};
  pass.sums = objective == PlanObjective::kLatency || objective == PlanObjective::kEnergy;
  pass.hops = objective == PlanObjective::kLatency && graph.point_to_point;
  if (objective == PlanObjective::kEnergy)
    for (std::size_t c = 0; c < graph.classes.size(); ++c) pass.weights[c] = *graph.classes[c].watts;
  return pass;
}

double least_of_any_plan(const CostGraph& graph, PlanObjective objective) {
  const PlanProblem problem = make_problem(graph);
  if (objective == PlanObjective::kCost) return least_sum(problem, prices_of(graph));
  if (objective != PlanObjective::kDevices) return bound_of(problem, pass_of(graph, objective));
  double bytes = 0, most = 0;
  for (const CostNode& node : graph.nodes) bytes += node.bytes;
  for (const double shared : graph.shared_bytes) bytes += shared;
  for (const DeviceClass& one : graph.classes) most = std::max(most, one.memory_bytes.value_or(kCannotRun));
  return std::max(1.0, std::ceil(bytes / most));
}

PlanAnswer solve(const CostGraph& graph, const PlanQuestion& question, const std::string& where) {
  const auto need = [&](PlanObjective objective) {
    for (const DeviceClass& one : graph.classes) {
      if (objective == PlanObjective::kCost && !one.price_per_hour)
        throw Error("the price of '" + one.name + "' is not known", where,
                    "'price_per_hour' of its class says it");
      if (objective == PlanObjective::kEnergy && !one.watts)
        throw Error("the power of '" + one.name + "' is not known", where, "'watts' of its class says it");
    }
  };
  need(question.objective);
  if (question.against) {
    need(*question.against);
    const auto has_front = [](PlanObjective a, PlanObjective b) {
      return a != b && (a == PlanObjective::kThroughput || a == PlanObjective::kDevices);
    };
    if (!has_front(question.objective, *question.against) &&
        !has_front(*question.against, question.objective))
      throw Error(
          fmt::format("there is no front of {} and {}", name(question.objective), name(*question.against)),
          where, "one of the two is throughput or devices");
  }
  PlanAnswer answer = Solver(graph, question, where).answer();
  if (!question.then_latency || question.objective != PlanObjective::kThroughput) return answer;
  const auto start = std::chrono::steady_clock::now();
  PlanQuestion second{.objective = PlanObjective::kLatency, .most_steps = question.most_steps / 5};
  const auto plan = Solver(graph, second, where).least_latency(answer.value);
  if (plan && plan->figures.latency_seconds < answer.plan.figures.latency_seconds &&
      plan->figures.slowest_seconds <= answer.value * (1 + 1e-9))
    answer.plan = *plan, answer.value = plan->figures.slowest_seconds;
  answer.solve_seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return answer;
}

}  // namespace opscope
