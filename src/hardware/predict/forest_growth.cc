// Trees that are grown one after the other, each on what those before it leave out; every branch is the one
// of some limits of some traits that explains most.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "hardware/predict/forest.h"

namespace opscope {
namespace {

constexpr std::size_t kBins = 60, kFewestRows = 4, kFolds = 5;
constexpr std::size_t kManyRows = 2000;  // that larger trees are grown on, and more of them
constexpr double kRate = 0.08;           // of what a tree found
constexpr double kHolding = 3;           // rows that say zero, in every leaf
constexpr double kHardestPull = 0.2;     // of a row: it may be of another kernel
constexpr double kRowShare = 0.8, kTraitShare = 0.5;

// Numbers as if drawn, the same on every machine: SplitMix64.
class Draws {
 public:
  double next() {
    state_ += 0x9e3779b97f4a7c15u;
    std::uint64_t z = state_;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return static_cast<double>((z ^ z >> 31) >> 11) * 0x1p-53;
  }

 private:
  std::uint64_t state_ = 1;
};

struct Branch {
  double gain = 0;
  std::size_t trait = 0, bin = 0;  // left: bins up to this
};

class Growth {
 public:
  Growth(std::span<const Traits> rows, std::span<const double> targets)
      : targets_(targets),
        trees_(rows.size() < kManyRows ? 240 : 420),
        leaves_(rows.size() < kManyRows ? 16 : 40),
        told_(rows.size()),
        pulls_(rows.size()) {
    for (std::size_t trait = 0; trait < kTraits; ++trait) {
      std::vector<float> values;
      for (const Traits& row : rows) values.push_back(row[trait]);
      std::ranges::sort(values);
      auto& limits = limits_[trait];
      for (std::size_t i = 1; i < kBins; ++i) {
        const std::size_t at = i * values.size() / kBins;
        const float before = values[at - (at > 0 ? 1 : 0)];
        const float here = *std::ranges::upper_bound(values.begin(), values.end() - 1, before);
        const float limit = before + (here - before) / 2;
        if (here > before && (limits.empty() || limit > limits.back())) limits.push_back(limit);
      }
      bins_[trait].reserve(rows.size());
      for (const Traits& row : rows)
        bins_[trait].push_back(
            static_cast<std::uint8_t>(std::ranges::lower_bound(limits, row[trait]) - limits.begin()));
      if (!limits.empty()) varying_.push_back(trait);
    }
  }

  Forest run() {
    for (std::size_t i = 0; i < trees_; ++i) {
      for (std::size_t row = 0; row < pulls_.size(); ++row)
        pulls_[row] = std::clamp(targets_[row] - told_[row], -kHardestPull, kHardestPull);
      grow_tree();
    }
    return Forest(std::move(nodes_));
  }

 private:
  struct Part {  // of a tree that grows: a leaf until it is split
    std::vector<std::uint32_t> rows;
    Branch branch;
    std::size_t left = 0, right = 0;
    double value = 0;
  };

  void grow_tree() {
    used_.clear();
    for (const std::size_t trait : varying_)
      if (draws_.next() < kTraitShare) used_.push_back(trait);
    std::vector<Part> parts(1);
    for (std::uint32_t row = 0; row < pulls_.size(); ++row)
      if (draws_.next() < kRowShare) parts[0].rows.push_back(row);
    measure(parts[0]);
    for (std::size_t leaves = 1; leaves < leaves_; ++leaves) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < parts.size(); ++i)
        if (parts[i].branch.gain > parts[best].branch.gain) best = i;
      if (!(parts[best].branch.gain > 0)) break;
      split(parts, best);
    }
    write(parts, 0);
    for (std::size_t row = 0; row < told_.size(); ++row) told_[row] += value_at(parts, row);
  }

  void split(std::vector<Part>& parts, std::size_t at) {
    Part left, right;
    const Branch branch = parts[at].branch;
    for (const std::uint32_t row : parts[at].rows)
      (bins_[branch.trait][row] <= branch.bin ? left : right).rows.push_back(row);
    measure(left), measure(right);
    parts[at].branch.gain = 0;
    parts[at].rows.clear();
    parts[at].left = parts.size(), parts[at].right = parts.size() + 1;
    parts.push_back(std::move(left)), parts.push_back(std::move(right));
  }

  // Its value, and its best branch.
  void measure(Part& part) const {
    double sum = 0;
    for (const std::uint32_t row : part.rows) sum += pulls_[row];
    const double count = static_cast<double>(part.rows.size());
    part.value = kRate * sum / (count + kHolding);
    const double now = sum * sum / (count + kHolding);
    for (const std::size_t trait : used_) {
      std::array<double, kBins> sums{};
      std::array<std::uint32_t, kBins> counts{};
      for (const std::uint32_t row : part.rows) {
        const std::uint8_t bin = bins_[trait][row];
        sums[bin] += pulls_[row], ++counts[bin];
      }
      double left = 0;
      std::size_t rows = 0;
      for (std::size_t bin = 0; bin < limits_[trait].size(); ++bin) {
        left += sums[bin], rows += counts[bin];
        if (rows < kFewestRows) continue;
        if (part.rows.size() - rows < kFewestRows) break;
        const double there = static_cast<double>(rows), here = count - there;
        const double gain =
            left * left / (there + kHolding) + (sum - left) * (sum - left) / (here + kHolding) - now;
        if (gain > part.branch.gain) part.branch = {gain, trait, bin};
      }
    }
  }

  double value_at(const std::vector<Part>& parts, std::size_t row) const {
    std::size_t at = 0;
    while (parts[at].left != 0)
      at = bins_[parts[at].branch.trait][row] <= parts[at].branch.bin ? parts[at].left : parts[at].right;
    return parts[at].value;
  }

  void write(const std::vector<Part>& parts, std::size_t at) {
    const std::size_t here = nodes_.size();
    nodes_.push_back({.value = static_cast<float>(parts[at].value)});
    if (parts[at].left == 0) return;
    nodes_[here].trait = static_cast<std::uint8_t>(parts[at].branch.trait);
    nodes_[here].value = limits_[parts[at].branch.trait][parts[at].branch.bin];
    write(parts, parts[at].left);
    nodes_[here].right = static_cast<std::uint32_t>(nodes_.size());
    write(parts, parts[at].right);
  }

  std::span<const double> targets_;
  std::size_t trees_, leaves_;
  std::array<std::vector<float>, kTraits> limits_;
  std::array<std::vector<std::uint8_t>, kTraits> bins_;
  std::vector<std::size_t> varying_, used_;
  std::vector<double> told_, pulls_;
  std::vector<Forest::Node> nodes_;
  Draws draws_;
};

}  // namespace

Forest grow_forest(std::span<const Traits> rows, std::span<const double> targets) {
  if (rows.size() < 2 * kFewestRows) return {};
  return Growth(rows, targets).run();
}

std::vector<double> told_when_left_out(std::span<const Traits> rows, std::span<const double> targets) {
  std::vector<double> told(rows.size());
  for (std::size_t fold = 0; fold < kFolds; ++fold) {
    std::vector<Traits> kept;
    std::vector<double> kept_targets;
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (i % kFolds != fold) kept.push_back(rows[i]), kept_targets.push_back(targets[i]);
    const Forest forest = grow_forest(kept, kept_targets);
    for (std::size_t i = fold; i < rows.size(); i += kFolds) told[i] = forest.told(rows[i]);
  }
  return told;
}

}  // namespace opscope
