#include "hardware/predict/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "graph/signature.h"
#include "hardware/predict/forest.h"
#include "hardware/roofline.h"

namespace opscope {
namespace {

constexpr std::size_t kFewest = 4;    // points that constants are fitted on
constexpr double kNoWork = 2e-7;      // seconds: nothing ran
constexpr double kWorthAStep = 0.98;  // a constant more has to explain so much
constexpr double kHeld = 0.3;         // what a constant e times another weighs, against the misses of ops
constexpr std::size_t kFewestForTrees = 40;
constexpr double kLargeMiss = 0.7;  // beyond, a point pulls no harder: it may be of another kernel

// What so large a share of the values is below: 68.3 % and 90 % of the sizes of misses, the half of times.
double share_below(std::vector<double> sizes, double share) {
  std::ranges::sort(sizes);
  return sizes.empty() ? 0 : sizes[static_cast<std::size_t>(share * static_cast<double>(sizes.size() - 1))];
}

// Least absolute misses, less the pull of those far off, by steps along one constant after the other.
class RateFit {
 public:
  // `held`: what the constants are near where few ops speak; nullptr: nothing is known of them.
  RateFit(std::span<const Neighbour> ops, FamilyRates rates, const FamilyRates* held)
      : ops_(ops), rates_(std::move(rates)), held_(held) {}

  FamilyRates run() {
    start();
    FamilyRates with_steps = searched(rates_);
    if (!(with_steps.step_rate > 0)) return with_steps;
    rates_.step_rate = 0;
    FamilyRates without = searched(rates_);
    return loss(with_steps) < kWorthAStep * loss(without) ? with_steps : without;
  }

 private:
  static constexpr std::array kConstants{&FamilyRates::flop_rate, &FamilyRates::byte_rate,
                                         &FamilyRates::step_rate, &FamilyRates::seconds};

  static constexpr int kRounds = 33;  // the last steps are of 0.6 %

  FamilyRates searched(FamilyRates rates) const {
    double best = loss(rates);
    double step = 1;
    for (int round = 0; round < kRounds; ++round, step *= round % 3 == 0 ? 0.6 : 1)
      for (double FamilyRates::*constant : kConstants)
        for (const double factor : {std::exp(step), std::exp(-step)}) {
          FamilyRates other = rates;
          other.*constant *= factor;
          if (const double now = loss(other); now < best) best = now, rates = other;
        }
    return rates;
  }

  // The best rate that any reached, and the least time; steps as if they took a fourth of it.
  void start() {
    rates_.flop_rate = rates_.byte_rate = rates_.step_rate = 0;
    rates_.seconds = ops_[0].seconds;
    std::vector<double> steps;
    for (const Neighbour& op : ops_) {
      rates_.flop_rate = std::max(rates_.flop_rate, op.features.products / op.seconds);
      rates_.byte_rate = std::max(rates_.byte_rate, op.features.bytes / op.seconds);
      if (op.features.steps > 0) steps.push_back(4 * op.features.steps / op.seconds);
      rates_.seconds = std::min(rates_.seconds, op.seconds);
    }
    rates_.step_rate = share_below(std::move(steps), 0.5);
    if (held_ == nullptr) return;
    for (double FamilyRates::*constant : kConstants)
      if (rates_.*constant > 0 && held_->*constant > 0) rates_.*constant = held_->*constant;
  }
  double loss(const FamilyRates& rates) const {
    double sum = 0;
    for (const Neighbour& op : ops_) {
      const double miss = std::abs(std::log(op.seconds / seconds_by(rates, op.features)));
      sum += miss < kLargeMiss ? miss : kLargeMiss * (1 + std::log(miss / kLargeMiss));
    }
    if (held_ == nullptr) return sum;
    for (double FamilyRates::*constant : kConstants)
      if (rates.*constant > 0 && held_->*constant > 0) {
        const double apart = std::log(rates.*constant / held_->*constant);
        sum += kHeld * apart * apart;
      }
    return sum;
  }

  std::span<const Neighbour> ops_;
  FamilyRates rates_;
  const FamilyRates* held_;
};

FamilyRates fitted(std::span<const Neighbour> ops, OpGroup group, const FamilyRates* held = nullptr) {
  const OpFeatures& any = ops[0].features;
  FamilyRates rates = RateFit(ops, {.family = any.family, .dtype = any.dtype, .group = group}, held).run();
  rates.points = static_cast<std::uint32_t>(ops.size());
  std::vector<double> sizes;
  for (const Neighbour& op : ops)
    sizes.push_back(std::abs(std::log(op.seconds / seconds_by(rates, op.features))));
  rates.spread = std::max(share_below(sizes, 0.683), ops.size() < kFewest ? 0.3 : 0.05);
  return rates;
}

// What a group's constants are near: the family's in its dtype; where another dtype has more ops of the
// group, those by as much as the families differ.
FamilyRates held_near(const FamilyRates& whole, const FamilyRates* other_whole, const FamilyRates* other) {
  FamilyRates near = whole;
  near.step_rate = 0;
  if (other_whole == nullptr || other == nullptr) return near;
  for (double FamilyRates::*constant :
       {&FamilyRates::flop_rate, &FamilyRates::byte_rate, &FamilyRates::seconds})
    if (other_whole->*constant > 0) near.*constant *= other->*constant / other_whole->*constant;
  near.step_rate = other->step_rate;
  return near;
}

// The groups of a family in all dtypes, those with more ops first.
void fit_groups(std::vector<FamilyRates>& into, std::map<DType, std::vector<Neighbour>>& by_dtype) {
  std::vector<std::vector<Neighbour>*> order;
  for (auto& [dtype, ops] : by_dtype) order.push_back(&ops);
  std::ranges::stable_sort(order, std::ranges::greater{}, [](const auto* ops) { return ops->size(); });
  std::vector<FamilyRates> wholes, groups;
  for (std::vector<Neighbour>* ops : order) {
    // One op of a dtype tells no rates: they are near those of the dtype with the most.
    const FamilyRates* most = ops->size() < kFewest && !wholes.empty() ? &wholes.front() : nullptr;
    const FamilyRates whole = fitted(*ops, OpGroup::kPlain, most);
    std::map<OpGroup, std::vector<Neighbour>> own;
    for (const Neighbour& op : *ops) own[op.features.group].push_back(op);
    if (!own.contains(OpGroup::kPlain)) groups.push_back(whole);
    for (const auto& [group, some] : own) {
      if (own.size() == 1) {
        groups.push_back(whole), groups.back().group = group;
        continue;
      }
      const auto known = std::ranges::find(groups, group, &FamilyRates::group);
      const auto there =
          known == groups.end() ? wholes.end() : std::ranges::find(wholes, known->dtype, &FamilyRates::dtype);
      const FamilyRates held = there == wholes.end() ? whole : held_near(whole, &*there, &*known);
      if (some.size() >= kFewest || group == OpGroup::kPlain || there != wholes.end())
        groups.push_back(fitted(some, group, &held));
    }
    wholes.push_back(whole);
  }
  into.insert(into.end(), groups.begin(), groups.end());
}

// How a family's ops tell of each other: weights by steps along one after the other, judged by how likely
// each of some ops is by what the others say.
class LikenessFit {
 public:
  LikenessFit(std::span<const Neighbour> ops, OpFamily family) {
    // Every so-and-so-many of them is asked about, and as many again are asked.
    const std::size_t step = std::max<std::size_t>(ops.size() / kMostAsked, 1);
    for (std::size_t i = 0; i < ops.size(); i += step) some_.push_back(ops[i]);
    for (std::size_t i = 0; i < some_.size(); i += std::max<std::size_t>(some_.size() / kMostJudged, 1))
      judged_.push_back(i);
    likeness_.family = family;
    std::vector<double> sizes;
    for (const Neighbour& op : ops) sizes.push_back(std::abs(op.miss));
    likeness_.spread = std::max(share_below(sizes, 0.683), 0.05);
    start();
  }

  Likeness run() {
    best_ = loss();
    for (const double step : {1.6, 1.0, 0.6})
      for (double* weight : weights_) turn(*weight, step);
    return likeness_;
  }

 private:
  static constexpr std::size_t kMostAsked = 900, kMostJudged = 220;
  static constexpr double kSize = 0.02, kKind = 0.05;
  static constexpr double kLeastNoise =
      0.02;  // without any, a few ops tell wild things of those between them

  // The sizes and kinds that vary at all.
  void start() {
    for (std::size_t i = 0; i < OpFeatures::kSizes; ++i) {
      const auto [least, most] =
          std::ranges::minmax(some_, {}, [&](const Neighbour& op) { return op.features.sizes[i]; });
      likeness_.sizes[i] = most.features.sizes[i] > least.features.sizes[i] ? kSize : 0;
      if (likeness_.sizes[i] > 0) weights_.push_back(&likeness_.sizes[i]);
    }
    std::uint32_t all = ~0u, any = 0;
    for (const Neighbour& op : some_) all &= op.features.kind, any |= op.features.kind;
    for (std::size_t i = 0; i < OpFeatures::kKinds; ++i) {
      likeness_.kinds[i] = ((any & ~all) >> i & 1u) != 0 ? kKind : 0;
      if (likeness_.kinds[i] > 0) weights_.push_back(&likeness_.kinds[i]);
    }
    likeness_.op = 0.3, likeness_.width = 0.3, likeness_.dtype = 0.02, likeness_.noise = 2 * kLeastNoise;
    for (double* weight :
         {&likeness_.op, &likeness_.width, &likeness_.dtype, &likeness_.spread, &likeness_.noise})
      weights_.push_back(weight);
  }

  void turn(double& weight, double step) {
    for (const double factor : {std::exp(step), std::exp(-step)}) {
      for (int steps = 0; steps < 3; ++steps) {
        const double before = weight;
        weight *= factor;
        const double now = loss();
        if (now < best_ && likeness_.noise >= kLeastNoise) {
          best_ = now;
          continue;
        }
        weight = before;
        break;
      }
    }
  }

  // Of a distribution with long tails: a few ops run by another kernel than all that are like them.
  double loss() const {
    double sum = 0;
    for (const std::size_t i : judged_) {
      const Miss told = miss_of(some_, likeness_, some_[i].features, i);
      const double off = (some_[i].miss - told.mean) / told.deviation;
      sum += std::log(told.deviation) + 2.5 * std::log1p(off * off / 4);
    }
    return sum;
  }

  std::vector<Neighbour> some_;
  std::vector<std::size_t> judged_;
  Likeness likeness_;
  std::vector<double*> weights_;
  double best_ = 0;
};

// Adds what the family's trees are worth, and the errors on ops that are left out in turn.
void judge(std::span<FamilyRates> families, std::span<const Neighbour> ops, Likeness& likeness,
           std::span<const double> trees) {
  std::vector<double> sizes;
  for (std::size_t i = 0; i < trees.size(); ++i) sizes.push_back(std::abs(trees[i] - ops[i].miss));
  likeness.trees = trees.empty() ? 0 : std::max(share_below(sizes, 0.683), 0.005);
  std::vector<double> misses;
  sizes.clear();
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Miss told =
        both(miss_of(ops, likeness, ops[i].features, i), trees.empty() ? 0 : trees[i], likeness);
    misses.push_back(told.mean - ops[i].miss);
    sizes.push_back(std::abs(misses.back()) / told.deviation);
  }
  if (!trees.empty()) likeness.both = std::clamp(share_below(sizes, 0.683), 0.3, 3.0);
  for (FamilyRates& rates : families) {
    if (rates.family != likeness.family) continue;
    sizes.clear();
    for (std::size_t i = 0; i < ops.size(); ++i)
      if (ops[i].features.dtype == rates.dtype && ops[i].features.group == rates.group)
        sizes.push_back(std::abs(std::expm1(misses[i])));
    rates.error_median = share_below(sizes, 0.5), rates.error_p90 = share_below(sizes, 0.9);
  }
}

// The trees of a family; what they tell of each op when they do not know it.
std::vector<double> add_forest(Calibration& calibration, std::span<const Neighbour> ops, OpFamily family) {
  if (ops.size() < kFewestForTrees) return {};
  std::vector<Traits> rows;
  std::vector<double> misses;
  for (const Neighbour& op : ops) {
    rows.push_back(traits_of(op.features, *calibration.rates(family, op.features.dtype, op.features.group)));
    misses.push_back(op.miss);
  }
  calibration.forests[static_cast<std::size_t>(family)] = grow_forest(rows, misses).text();
  return told_when_left_out(rows, misses);
}

// What the host took to launch an op, in the middle of its calls; and of each group of them that takes
// another time: a convolution of bfloat16 launches more kernels than one of float32.
std::vector<std::pair<std::string, double>> host_ops(std::span<const MeasuredCall> calls) {
  constexpr double kAnotherTime = 0.05;
  std::map<std::string, std::vector<double>> by_op;
  std::map<std::pair<std::string, std::string>, std::vector<double>> by_group;  // of (op, its name)
  for (const MeasuredCall& call : calls) {
    if (!(call.host_seconds > 0)) continue;
    const std::string_view name = std::string_view(call.text).substr(0, call.text.find('('));
    const std::string op(op_type(name.substr(0, name.find('.', name.find("::")))));
    by_op[op].push_back(call.host_seconds);
    by_group[{op, host_op(op, call.features.dtype, call.features.group)}].push_back(call.host_seconds);
  }
  std::map<std::string, double> found;
  for (auto& [op, seconds] : by_op) found[op] = share_below(std::move(seconds), 0.5);
  std::map<std::string, double> groups;
  for (auto& [named, seconds] : by_group)
    if (seconds.size() >= kFewest)
      if (const double middle = share_below(std::move(seconds), 0.5);
          std::abs(middle / found[named.first] - 1) > kAnotherTime)
        groups[named.second] = middle;
  found.merge(groups);
  return {found.begin(), found.end()};
}

// To launch a step of a recurrent layer, where its steps are launched one by one.
double host_step(std::span<const MeasuredCall> calls) {
  constexpr double kFewestSteps = 20, kOneKernel = 4e-6;
  std::vector<double> seconds;
  for (const MeasuredCall& call : calls)
    if (call.features.chain >= kFewestSteps && call.host_seconds > kOneKernel * call.features.chain)
      seconds.push_back(call.host_seconds / call.features.chain);
  return share_below(std::move(seconds), 0.5);
}

}  // namespace

void add_features(std::span<MeasuredCall> calls) {
  std::vector<std::string> texts;
  for (const MeasuredCall& call : calls) texts.push_back(call.text);
  const Graph graph = graph_of_calls(texts);
  const std::vector<OpCost> costs = estimate(graph, Convention::kOpscope);
  OpCall call(graph);
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    call.reset(graph.ops[i]);
    calls[i].features = features_of(call, costs[i], product_dtype(graph, graph.ops[i]));
  }
}

std::vector<Neighbour> neighbours_of(std::span<const MeasuredCall> calls, const Calibration& calibration) {
  std::vector<Neighbour> ops;
  ops.reserve(calls.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const FamilyRates* rates =
        calibration.rates(calls[i].features.family, calls[i].features.dtype, calls[i].features.group);
    if (rates == nullptr) continue;
    Neighbour& op =
        ops.emplace_back(Neighbour{.features = calls[i].features, .seconds = calls[i].seconds, .call = i});
    op.miss = std::log(op.seconds / seconds_by(*rates, op.features));
  }
  return ops;
}

void fit_families(Calibration& calibration, std::span<const MeasuredCall> calls) {
  std::array<std::map<DType, std::vector<Neighbour>>, kFamilies> by_family;
  for (const MeasuredCall& call : calls)
    if (call.seconds > kNoWork)
      by_family[static_cast<std::size_t>(call.features.family)][call.features.dtype].push_back(
          {.features = call.features, .seconds = call.seconds});
  calibration.families.clear(), calibration.likenesses.clear(), calibration.forests = {};
  for (auto& by_dtype : by_family) fit_groups(calibration.families, by_dtype);
  for (std::size_t f = 0; f < kFamilies; ++f) {
    const auto family = static_cast<OpFamily>(f);
    std::vector<MeasuredCall> own;
    for (const MeasuredCall& call : calls)
      if (call.features.family == family && call.seconds > kNoWork) own.push_back(call);
    if (own.size() < kFewest) continue;
    const std::vector<Neighbour> ops = neighbours_of(own, calibration);
    Likeness likeness = LikenessFit(ops, family).run();
    judge(calibration.families, ops, likeness, add_forest(calibration, ops, family));
    calibration.likenesses.push_back(likeness);
  }
  calibration.host_ops = host_ops(calls);
  calibration.host.step = host_step(calls);
}

}  // namespace opscope
