#include "hardware/predict/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>

#include "graph/signature.h"
#include "hardware/roofline.h"

namespace opscope {
namespace {

constexpr std::size_t kFewest = 4;  // points that constants are fitted on
constexpr double kLargeMiss = 0.7;  // beyond, a point pulls no harder: it may be of another kernel

// Least absolute misses, less the pull of those far off, by steps along one constant after the other.
class RateFit {
 public:
  RateFit(std::span<const Neighbour> ops, FamilyRates rates) : ops_(ops), rates_(std::move(rates)) {}

  FamilyRates run() {
    start();
    double best = loss(rates_);
    for (double step = 1.0; step > 0.004; step *= 0.6)
      for (int round = 0; round < 3; ++round)
        for (double FamilyRates::* constant :
             {&FamilyRates::flop_rate, &FamilyRates::byte_rate, &FamilyRates::seconds})
          for (const double factor : {std::exp(step), std::exp(-step)}) {
            FamilyRates other = rates_;
            other.*constant *= factor;
            if (const double now = loss(other); now < best) best = now, rates_ = other;
          }
    return rates_;
  }

 private:
  // The best rate that any reached, and the least time.
  void start() {
    rates_.flop_rate = rates_.byte_rate = 0;
    rates_.seconds = ops_[0].seconds;
    for (const Neighbour& op : ops_) {
      rates_.flop_rate = std::max(rates_.flop_rate, op.features.products / op.seconds);
      rates_.byte_rate = std::max(rates_.byte_rate, op.features.bytes / op.seconds);
      rates_.seconds = std::min(rates_.seconds, op.seconds);
    }
  }
  double loss(const FamilyRates& rates) const {
    double sum = 0;
    for (const Neighbour& op : ops_) {
      const double miss = std::abs(std::log(op.seconds / seconds_by(rates, op.features)));
      sum += miss < kLargeMiss ? miss : kLargeMiss * (1 + std::log(miss / kLargeMiss));
    }
    return sum;
  }

  std::span<const Neighbour> ops_;
  FamilyRates rates_;
};

// Where 68.3 % and 90 % of the sizes of misses are below.
double share_below(std::vector<double> sizes, double share) {
  std::ranges::sort(sizes);
  return sizes.empty() ? 0 : sizes[static_cast<std::size_t>(share * static_cast<double>(sizes.size() - 1))];
}

// How far neighbours speak for each other, by what leaving each out in turn says is most likely.
void fit_reach(std::span<const Neighbour> ops, FamilyRates& rates) {
  constexpr std::array kReaches{0.7, 1.5, 3.0, 6.0, 12.0};
  constexpr std::array kNoises{0.01, 0.03, 0.06, 0.12};
  double best = -1e300;
  const FamilyRates start = rates;
  for (const double reach : kReaches)
    for (const double noise : kNoises) {
      FamilyRates tried = start;
      tried.reach = reach, tried.noise = noise;
      double likelihood = 0;
      std::vector<double> sizes;
      for (std::size_t i = 0; i < ops.size(); ++i) {
        const Miss told = miss_of(ops, tried, ops[i].features, i);
        const double off = (ops[i].miss - told.mean) / told.deviation;
        // As a distribution with long tails: a few ops run by another kernel than all that are like them.
        likelihood -= std::log(told.deviation) + 2.5 * std::log1p(off * off / 4);
        sizes.push_back(std::abs(std::expm1(told.mean - ops[i].miss)));
      }
      if (likelihood <= best) continue;
      best = likelihood, rates = tried;
      rates.error_median = share_below(sizes, 0.5), rates.error_p90 = share_below(sizes, 0.9);
    }
}

FamilyRates fitted(std::vector<Neighbour>& ops, Family family, DType dtype) {
  FamilyRates rates = RateFit(ops, {.family = family, .dtype = dtype}).run();
  rates.points = static_cast<std::uint32_t>(ops.size());
  std::vector<double> sizes;
  for (Neighbour& op : ops) {
    op.miss = std::log(op.seconds / seconds_by(rates, op.features));
    sizes.push_back(std::abs(op.miss));
  }
  rates.spread = std::max(share_below(sizes, 0.683), 0.05);
  if (ops.size() >= kFewest) fit_reach(ops, rates);
  else rates.spread = std::max(rates.spread, 0.3), rates.error_median = rates.error_p90 = 0;
  return rates;
}

}  // namespace

std::vector<Neighbour> measured_ops(const Calibration& calibration, std::optional<Family> family) {
  std::vector<std::string> texts;
  std::vector<std::size_t> calls;
  for (std::size_t i = 0; i < calibration.calls.size(); ++i) {
    const std::string_view text = calibration.calls[i].text;
    std::string_view op = text.substr(0, text.find('('));
    op = op.substr(0, op.find('.', op.find("::")));
    if (family && family_of(op) != *family) continue;
    texts.emplace_back(text), calls.push_back(i);
  }
  const Graph graph = graph_of_calls(texts);
  const std::vector<OpCost> costs = estimate(graph, Convention::kOpscope);
  std::vector<Neighbour> ops;
  ops.reserve(texts.size());
  OpCall call(graph);
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    call.reset(graph.ops[i]);
    ops.push_back({.features = features_of(call, costs[i], product_dtype(graph, graph.ops[i])),
                   .seconds = calibration.calls[calls[i]].seconds,
                   .call = calls[i]});
  }
  return ops;
}

void fit_families(Calibration& calibration) {
  std::map<std::pair<Family, DType>, std::vector<Neighbour>> groups;
  for (Neighbour& op : measured_ops(calibration))
    if (op.seconds > 0) groups[{op.features.family, op.features.dtype}].push_back(std::move(op));
  calibration.families.clear();
  for (auto& [key, ops] : groups) calibration.families.push_back(fitted(ops, key.first, key.second));
}

}  // namespace opscope
