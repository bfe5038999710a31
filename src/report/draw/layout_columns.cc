// A long graph as several columns: where to cut it. Cuts are best where few tensors pass and no cluster is
// open; heights and widths are estimated from the longest paths.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "report/draw/layout.h"

namespace opscope {
namespace {

constexpr double kRankGap = 32, kBoxGap = 22, kFrame = 20;
constexpr double kFrameTop = 27, kFrameFoot = 9;
constexpr double kBestAspect = 1.5;  // height to width of the graph, its title and legend not counted
constexpr std::size_t kMostColumns = 6;
constexpr std::size_t kMostToDivide = 300;  // more are one column: choosing takes their number squared
// What is bad about a cut, against a page that is off its best shape: each tensor that crosses it, each
// cluster that it splits, one that stands for several blocks above all, and the share of the page that stays
// empty.
constexpr double kCrossing = 0.06, kSplit = 0.2, kSplitRepeat = 0.7, kWaste = 1.6;

struct Extent {
  double height = 0, width = 0;
};

class ColumnOrder {
 public:
  ColumnOrder(const Scene& scene, const Look& look)
      : scene_(scene), look_(look), size_(scene.boxes.size()), inputs_(size_) {
    order_boxes();
    for (const SceneEdge& edge : scene.edges)
      if (place_[edge.from] < place_[edge.to]) inputs_[place_[edge.to]].push_back(place_[edge.from]);
    find_extents();
    find_cut_costs();
  }

  std::vector<std::uint32_t> best() const {
    std::vector<std::size_t> cuts;
    double least = std::numeric_limits<double>::max();
    for (std::size_t columns = 1; columns <= std::min(kMostColumns, size_); ++columns) {
      const std::vector<std::size_t> trial = cut_into(columns);
      const double off = misfit(trial);
      if (off < least) least = off, cuts = trial;
    }
    std::vector<std::uint32_t> column_of(size_);
    for (std::uint32_t c = 0; c + 1 < cuts.size(); ++c)
      for (std::size_t i = cuts[c]; i < cuts[c + 1]; ++i) column_of[order_[i]] = c;
    return column_of;
  }

 private:
  // What takes nothing comes right before the first that takes it.
  void order_boxes() {
    std::vector<std::uint32_t> first_taker(size_, kNone);
    std::vector<bool> takes(size_, false);
    for (const SceneEdge& edge : scene_.edges) {
      takes[edge.to] = true;
      first_taker[edge.from] = std::min(first_taker[edge.from], edge.to);
    }
    const auto only_gives = [&](std::uint32_t b) {
      return !takes[b] && first_taker[b] != kNone && scene_.boxes[b].cluster == kNone;
    };
    std::vector<std::vector<std::uint32_t>> before(size_);
    for (std::uint32_t b = 0; b < size_; ++b)
      if (only_gives(b)) before[first_taker[b]].push_back(b);
    for (std::uint32_t b = 0; b < size_; ++b) {
      if (only_gives(b)) continue;
      order_.insert(order_.end(), before[b].begin(), before[b].end());
      order_.push_back(b);
    }
    place_.resize(size_);
    for (std::uint32_t i = 0; i < size_; ++i) place_[order_[i]] = i;
    for (const std::uint32_t b : order_) chains_.push_back(clusters_of(scene_, scene_.boxes[b]));
  }

  // Titles and margins of the clusters that an edge leaves and comes into.
  double frames_between(std::size_t from, std::size_t to) const {
    const auto outside = [&](std::size_t a, std::size_t b) {
      return std::ranges::count_if(chains_[a],
                                   [&](auto c) { return std::ranges::count(chains_[b], c) == 0; });
    };
    return kFrameTop * static_cast<double>(outside(to, from)) +
           kFrameFoot * static_cast<double>(outside(from, to));
  }

  // extents_[a][b - a]: of the boxes from a to b, both included.
  void find_extents() {
    extents_.resize(size_);
    std::vector<double> foot(size_);
    for (std::size_t a = 0; a < size_; ++a) {
      Extent extent;
      std::map<long, double> used;  // width by band of height
      for (std::size_t i = a; i < size_; ++i) {
        const BoxLook& box = look_.boxes[order_[i]];
        const auto depth = static_cast<double>(chains_[i].size());
        double top = kFrameTop * depth;
        for (const std::size_t input : inputs_[i])
          if (input >= a) top = std::max(top, foot[input] + kRankGap + frames_between(input, i));
        foot[i] = top + box.height + 2;
        double& width = used[std::lround(top / 60)];
        width += box.width + kBoxGap;
        extent.width = std::max(extent.width, width + kFrame * depth);
        extent.height = std::max(extent.height, foot[i] + kFrameFoot * depth);
        extents_[a].push_back(extent);
      }
    }
  }

  // By place: of a cut right before it.
  void find_cut_costs() {
    cut_cost_.assign(size_ + 1, 0);
    for (std::size_t i = 1; i < size_; ++i) {
      std::set<std::size_t> crossing;
      for (std::size_t taker = i; taker < size_; ++taker)
        for (const std::size_t giver : inputs_[taker])
          if (giver < i) crossing.insert(giver);
      cut_cost_[i] = kCrossing * static_cast<double>(crossing.size()) + open_clusters(i);
    }
  }
  double open_clusters(std::size_t place) const {
    std::set<std::uint32_t> before, both;
    for (std::size_t i = 0; i < place; ++i) before.insert(chains_[i].begin(), chains_[i].end());
    for (std::size_t i = place; i < size_; ++i)
      std::ranges::copy_if(chains_[i], std::inserter(both, both.end()),
                           [&](std::uint32_t c) { return before.contains(c); });
    double sum = 0;
    for (const std::uint32_t c : both) sum += scene_.clusters[c].repeat > 1 ? kSplitRepeat : kSplit;
    return sum;
  }

  // ColumnOrder of equal height with cheap cuts.
  std::vector<std::size_t> cut_into(std::size_t columns) const {
    const double target = extents_[0].back().height / static_cast<double>(columns);
    const double far = std::numeric_limits<double>::max() / 4;
    std::vector<std::vector<double>> cost(columns + 1, std::vector<double>(size_ + 1, far));
    std::vector<std::vector<std::size_t>> from(columns + 1, std::vector<std::size_t>(size_ + 1, 0));
    cost[0][0] = 0;
    for (std::size_t c = 1; c <= columns; ++c)
      for (std::size_t end = c; end <= size_; ++end)
        for (std::size_t begin = c - 1; begin < end; ++begin) {
          if (cost[c - 1][begin] >= far) continue;
          const double off = extents_[begin][end - 1 - begin].height / target - 1;
          const double sum = cost[c - 1][begin] + off * off + (begin > 0 ? cut_cost_[begin] : 0);
          if (sum < cost[c][end]) cost[c][end] = sum, from[c][end] = begin;
        }
    std::vector<std::size_t> cuts{size_};
    for (std::size_t c = columns; c > 0; --c) cuts.push_back(from[c][cuts.back()]);
    std::ranges::reverse(cuts);
    return cuts;
  }

  double misfit(const std::vector<std::size_t>& cuts) const {
    double height = 0, width = 0, cutting = 0, used = 0;
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      const Extent& extent = extents_[cuts[c]][cuts[c + 1] - 1 - cuts[c]];
      height = std::max(height, extent.height);
      width += extent.width + 40;
      used += extent.height * (extent.width + 40);
      if (c > 0) cutting += cut_cost_[cuts[c]];
    }
    const double off = std::log(height / width / kBestAspect);
    return 1.2 * off * off + cutting + kWaste * (1 - used / (height * width));
  }

  const Scene& scene_;
  const Look& look_;
  std::size_t size_;
  std::vector<std::uint32_t> order_, place_;        // boxes by place, and the other way round
  std::vector<std::vector<std::size_t>> inputs_;    // by place
  std::vector<std::vector<std::uint32_t>> chains_;  // by place: the clusters that the box is in
  std::vector<std::vector<Extent>> extents_;
  std::vector<double> cut_cost_;
};

}  // namespace

std::vector<std::uint32_t> choose_columns(const Scene& scene, const Look& look) {
  if (scene.boxes.size() > kMostToDivide) return std::vector<std::uint32_t>(scene.boxes.size(), 0);
  return ColumnOrder(scene, look).best();
}

}  // namespace opscope
