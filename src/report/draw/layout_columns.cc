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

struct ColumnOrder {
  const Scene& scene;
  const Look& look;
  std::size_t size = scene.boxes.size();
  std::vector<std::uint32_t> order{};  // boxes by place
  // By place: where its inputs stand, the clusters that it is in, and what a cut right before it costs.
  std::vector<std::vector<std::size_t>> inputs = std::vector<std::vector<std::size_t>>(size);
  std::vector<std::vector<std::uint32_t>> chains{};
  std::vector<double> cut_cost = std::vector<double>(size + 1);
  std::vector<std::vector<Extent>> extents = std::vector<std::vector<Extent>>(size);

  std::vector<std::uint32_t> best() {
    order_boxes();
    find_extents();
    find_cut_costs();
    std::vector<std::size_t> cuts;
    double least = std::numeric_limits<double>::max();
    for (std::size_t columns = 1; columns <= std::min(kMostColumns, size); ++columns) {
      const std::vector<std::size_t> trial = cut_into(columns);
      if (const double off = misfit(trial); off < least) least = off, cuts = trial;
    }
    std::vector<std::uint32_t> column_of(size);
    for (std::uint32_t c = 0; c + 1 < cuts.size(); ++c)
      for (std::size_t i = cuts[c]; i < cuts[c + 1]; ++i) column_of[order[i]] = c;
    return column_of;
  }

  // What takes nothing comes right before the first that takes it.
  void order_boxes() {
    std::vector<std::uint32_t> first_taker(size, kNone);
    std::vector<bool> takes(size, false);
    for (const SceneEdge& edge : scene.edges) {
      takes[edge.to] = true;
      first_taker[edge.from] = std::min(first_taker[edge.from], edge.to);
    }
    const auto only_gives = [&](std::uint32_t b) {
      return !takes[b] && first_taker[b] != kNone && scene.boxes[b].cluster == kNone;
    };
    std::vector<std::vector<std::uint32_t>> before(size);
    for (std::uint32_t b = 0; b < size; ++b)
      if (only_gives(b)) before[first_taker[b]].push_back(b);
    for (std::uint32_t b = 0; b < size; ++b) {
      if (only_gives(b)) continue;
      order.insert(order.end(), before[b].begin(), before[b].end());
      order.push_back(b);
    }
    std::vector<std::size_t> place(size);
    for (std::size_t i = 0; i < size; ++i) place[order[i]] = i;
    for (const SceneEdge& edge : scene.edges)
      if (place[edge.from] < place[edge.to]) inputs[place[edge.to]].push_back(place[edge.from]);
    for (const std::uint32_t b : order) chains.push_back(clusters_of(scene, scene.boxes[b]));
  }

  // Titles and margins of the clusters that an edge leaves and comes into.
  double frames_between(std::size_t from, std::size_t to) const {
    const auto outside = [&](std::size_t a, std::size_t b) {
      return std::ranges::count_if(chains[a], [&](auto c) { return std::ranges::count(chains[b], c) == 0; });
    };
    return kFrameTop * static_cast<double>(outside(to, from)) +
           kFrameFoot * static_cast<double>(outside(from, to));
  }

  // extents[a][b - a]: of the boxes from a to b, both included.
  void find_extents() {
    std::vector<double> foot(size);
    for (std::size_t a = 0; a < size; ++a) {
      Extent extent;
      std::map<long, double> used;  // width by band of height
      for (std::size_t i = a; i < size; ++i) {
        const BoxLook& box = look.boxes[order[i]];
        const auto depth = static_cast<double>(chains[i].size());
        double top = kFrameTop * depth;
        for (const std::size_t input : inputs[i])
          if (input >= a) top = std::max(top, foot[input] + kRankGap + frames_between(input, i));
        foot[i] = top + box.height + 2;
        double& width = used[std::lround(top / 60)];
        width += box.width + kBoxGap;
        extent.width = std::max(extent.width, width + kFrame * depth);
        extent.height = std::max(extent.height, foot[i] + kFrameFoot * depth);
        extents[a].push_back(extent);
      }
    }
  }

  void find_cut_costs() {
    for (std::size_t i = 1; i < size; ++i) {
      std::set<std::size_t> crossing;
      for (std::size_t taker = i; taker < size; ++taker)
        for (const std::size_t giver : inputs[taker])
          if (giver < i) crossing.insert(giver);
      cut_cost[i] = kCrossing * static_cast<double>(crossing.size()) + open_clusters(i);
    }
  }
  double open_clusters(std::size_t place) const {
    std::set<std::uint32_t> before, both;
    for (std::size_t i = 0; i < place; ++i) before.insert(chains[i].begin(), chains[i].end());
    for (std::size_t i = place; i < size; ++i)
      std::ranges::copy_if(chains[i], std::inserter(both, both.end()),
                           [&](std::uint32_t c) { return before.contains(c); });
    double sum = 0;
    for (const std::uint32_t c : both) sum += scene.clusters[c].repeat > 1 ? kSplitRepeat : kSplit;
    return sum;
  }

  // Columns of equal height with cheap cuts.
  std::vector<std::size_t> cut_into(std::size_t columns) const {
    const double target = extents[0].back().height / static_cast<double>(columns);
    const double far = std::numeric_limits<double>::max() / 4;
    std::vector<std::vector<double>> cost(columns + 1, std::vector<double>(size + 1, far));
    std::vector<std::vector<std::size_t>> from(columns + 1, std::vector<std::size_t>(size + 1, 0));
    cost[0][0] = 0;
    for (std::size_t c = 1; c <= columns; ++c)
      for (std::size_t end = c; end <= size; ++end)
        for (std::size_t begin = c - 1; begin < end; ++begin) {
          if (cost[c - 1][begin] >= far) continue;
          const double off = extents[begin][end - 1 - begin].height / target - 1;
          const double sum = cost[c - 1][begin] + off * off + (begin > 0 ? cut_cost[begin] : 0);
          if (sum < cost[c][end]) cost[c][end] = sum, from[c][end] = begin;
        }
    std::vector<std::size_t> cuts{size};
    for (std::size_t c = columns; c > 0; --c) cuts.push_back(from[c][cuts.back()]);
    std::ranges::reverse(cuts);
    return cuts;
  }

  double misfit(const std::vector<std::size_t>& cuts) const {
    double height = 0, width = 0, cutting = 0, used = 0;
    for (std::size_t c = 0; c + 1 < cuts.size(); ++c) {
      const Extent& extent = extents[cuts[c]][cuts[c + 1] - 1 - cuts[c]];
      height = std::max(height, extent.height);
      width += extent.width + 40;
      used += extent.height * (extent.width + 40);
      if (c > 0) cutting += cut_cost[cuts[c]];
    }
    const double off = std::log(height / width / kBestAspect);
    return 1.2 * off * off + cutting + kWaste * (1 - used / (height * width));
  }
};

}  // namespace

std::vector<std::uint32_t> choose_columns(const Scene& scene, const Look& look) {
  if (scene.boxes.size() > kMostToDivide) return std::vector<std::uint32_t>(scene.boxes.size(), 0);
  return ColumnOrder{scene, look}.best();
}

}  // namespace opscope
