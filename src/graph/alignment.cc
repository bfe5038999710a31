// E. W. Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): x runs over `expected`, y over
// `seen`, a diagonal k = x - y is a run of equal elements, and reach_[k] is how far along it D differences
// lead. After kMostDifferences the furthest way so far is taken and the search begins anew behind it.
#include "graph/alignment.h"

#include <algorithm>
#include <utility>

namespace opscope {
namespace {

constexpr int kMostDifferences = 1500;  // in one search: some 10 MB of ways back
constexpr int kNowhere = -1;

class Matcher {
 public:
  Matcher(std::span<const Id> expected, std::span<const Id> seen)
      : expected_(expected), seen_(seen), found_(seen.size(), kNone) {}

  std::vector<Id> run() {
    while (x0_ < expected_.size() && y0_ < seen_.size()) search();
    return std::move(found_);
  }

 private:
  int width() const { return static_cast<int>(expected_.size() - x0_); }
  int height() const { return static_cast<int>(seen_.size() - y0_); }
  int& reach(int k) { return *(reach_.begin() + k + kMostDifferences + 1); }

  void search() {
    reach_.assign(2 * kMostDifferences + 3, kNowhere);
    ways_.clear();
    reach(1) = 0;
    for (int d = 0; d <= kMostDifferences; ++d) {
      for (int k = -d; k <= d; k += 2) {
        reach(k) = slide(step(k), k);
        if (reach(k) == width() && reach(k) - k == height()) return take(k, d);
      }
      ways_.emplace_back(reach_.begin() + kMostDifferences + 1 - d,
                         reach_.begin() + kMostDifferences + 2 + d);
    }
    take(furthest(), kMostDifferences);
  }

  // Where one difference more leads on diagonal k, an element of `seen` or of `expected` passed over, from
  // how far its neighbours reach; kNowhere outside the table.
  std::pair<int, int> steps(int above, int below, int k) const {
    const bool can_right = below != kNowhere && below < width();
    return {above - k <= height() ? above : kNowhere, can_right ? below + 1 : kNowhere};
  }
  int step(int k) {
    const auto [down, right] = steps(reach(k + 1), reach(k - 1), k);
    return std::max(down, right);
  }
  int slide(int x, int k) const {
    if (x == kNowhere) return x;
    for (int y = x - k; x < width() && y < height() && equal(x, y); ++y) ++x;
    return x;
  }
  bool equal(int x, int y) const {
    return expected_[x0_ + static_cast<std::size_t>(x)] == seen_[y0_ + static_cast<std::size_t>(y)];
  }
  int furthest() {
    int best = 0;
    for (int k = -kMostDifferences; k <= kMostDifferences; k += 2)
      if (reach(k) != kNowhere && 2 * reach(k) - k > 2 * reach(best) - best) best = k;
    return best;
  }

  // Walks back from the end of diagonal k to where the search began and notes the partners on the way.
  void take(int k, int d) {
    const int end_x = reach(k), end_y = end_x - k;
    int x = end_x;
    for (; d > 0; --d) {
      const auto before = [&](int diagonal) {
        const std::vector<int>& way = ways_[static_cast<std::size_t>(d - 1)];
        const int i = diagonal + d - 1;
        return i < 0 || i >= static_cast<int>(way.size()) ? kNowhere : way[static_cast<std::size_t>(i)];
      };
      const auto [down, right] = steps(before(k + 1), before(k - 1), k);
      const bool went_down = down >= right;
      note(x, k, std::max(down, right));
      x = went_down ? down : right - 1;
      k += went_down ? 1 : -1;
    }
    note(x, k, 0);
    x0_ += static_cast<std::size_t>(end_x), y0_ += static_cast<std::size_t>(end_y);
  }
  void note(int x, int k, int from) {
    while (x > from) {
      --x;
      found_[y0_ + static_cast<std::size_t>(x - k)] = static_cast<Id>(x0_ + static_cast<std::size_t>(x));
    }
  }

  std::span<const Id> expected_, seen_;
  std::vector<Id> found_;
  std::size_t x0_ = 0, y0_ = 0;  // where the search began
  std::vector<int> reach_;
  std::vector<std::vector<int>> ways_;  // reach_ of the diagonals -d..d, by d
};

}  // namespace

std::vector<Id> align(std::span<const Id> expected, std::span<const Id> seen) {
  return Matcher(expected, seen).run();
}

}  // namespace opscope
