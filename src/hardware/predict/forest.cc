// The text: for each trait that decides, its letter and its limits, "A 1.5 2 8;"; a bar; the largest part
// that a leaf has; a bar; the trees. A branch is two letters, its trait and which of the limits; a leaf is
// '-' and two letters, a number of 12 bits around zero.
#include "hardware/predict/forest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text.h"
#include "hardware/predict/packed_bytes.h"

namespace opscope {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr int kHalf = 2047;  // as far up as down
static_assert(kTraits <= kLetters.size());

class ForestReader {
 public:
  explicit ForestReader(std::string_view text) : rest_(text) {}

  std::vector<Forest::Node> read() {
    limits();
    const auto most = number_from<float>(until('|'));
    if (!most) fail();
    most_ = *most;
    while (!rest_.empty()) tree();
    return std::move(nodes_);
  }

 private:
  [[noreturn]] static void fail() {
    throw Error("the trees of a calibration cannot be read", "", "run `opscope calibrate` again");
  }
  std::string_view until(char end) {
    const auto at = rest_.find(end);
    if (at == std::string_view::npos) fail();
    const std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return found;
  }
  std::size_t letter() {
    const auto at = rest_.empty() ? std::string_view::npos : kLetters.find(rest_.front());
    if (at == std::string_view::npos) fail();
    rest_.remove_prefix(1);
    return at;
  }
  void limits() {
    for (std::string_view all = until('|'); !all.empty();) {
      const std::string_view one = all.substr(0, all.find(';'));
      all.remove_prefix(std::min(one.size() + 1, all.size()));
      const auto trait = one.empty() ? std::string_view::npos : kLetters.find(one.front());
      if (trait >= kTraits) fail();
      for (const std::string_view each : split_by(one.substr(std::min<std::size_t>(2, one.size())), ' ')) {
        const auto limit = number_from<float>(each);
        if (!limit) fail();
        limits_[trait].push_back(*limit);
      }
    }
  }
  // Without recursion: a file decides how deep it goes.
  void tree() {
    std::vector<std::uint32_t> open;  // branches whose right side is to come
    for (bool done = false; !done;) {
      const auto here = static_cast<std::uint32_t>(nodes_.size());
      Forest::Node& node = nodes_.emplace_back();
      if (!rest_.empty() && rest_.front() == '-') {
        rest_.remove_prefix(1);
        const auto high = static_cast<int>(letter()), low = static_cast<int>(letter());
        node.value = most_ * static_cast<float>(high * 64 + low - kHalf - 1) / kHalf;
        if (open.empty())
          done = true;
        else
          nodes_[open.back()].right = here + 1, open.pop_back();
        continue;
      }
      node.trait = static_cast<std::uint32_t>(letter());
      const std::size_t at = letter();
      if (node.trait >= kTraits || at >= limits_[node.trait].size()) fail();
      node.value = limits_[node.trait][at];
      open.push_back(here);
    }
  }

  std::string_view rest_;
  std::array<std::vector<float>, kTraits> limits_;
  float most_ = 0;
  std::vector<Forest::Node> nodes_;
};

}  // namespace

Forest Forest::read(std::string_view text) { return Forest(ForestReader(text).read()); }

std::string Forest::text() const {
  std::array<std::vector<float>, kTraits> limits;
  float most = 0;
  for (const Node& node : nodes_)
    if (node.right != 0)
      limits[node.trait].push_back(node.value);
    else
      most = std::max(most, std::abs(node.value));
  std::string out;
  for (std::size_t trait = 0; trait < kTraits; ++trait) {
    auto& own = limits[trait];
    if (own.empty()) continue;
    std::ranges::sort(own);
    own.erase(std::ranges::unique(own).begin(), own.end());
    OPSCOPE_CHECK(own.size() <= kLetters.size());
    out += kLetters[trait];
    for (const float limit : own) out += fmt::format(" {}", limit);
    out += ';';
  }
  out += fmt::format("|{}|", most);
  for (const Node& node : nodes_) {
    if (node.right != 0) {
      const auto& own = limits[node.trait];
      out += kLetters[node.trait];
      out += kLetters[static_cast<std::size_t>(std::ranges::lower_bound(own, node.value) - own.begin())];
      continue;
    }
    const float part = most > 0 ? node.value / most * kHalf : 0;
    const int number = static_cast<int>(std::lround(part)) + kHalf + 1;
    out += '-';
    out += kLetters[static_cast<std::size_t>(number / 64)];
    out += kLetters[static_cast<std::size_t>(number % 64)];
  }
  return out;
}

Forest::Forest(std::vector<Node> nodes) {
  struct Kept {
    std::vector<Node> nodes;
    std::vector<std::uint32_t> roots;
  };
  auto kept = std::make_shared<Kept>(Kept{std::move(nodes), {}});
  for (std::size_t at = 0; at < kept->nodes.size(); ++at) {
    kept->roots.push_back(static_cast<std::uint32_t>(at));
    while (kept->nodes[at].right != 0)
      at = kept->nodes[at].right;  // a tree's last node is its rightmost leaf
  }
  nodes_ = kept->nodes, roots_ = kept->roots;
  kept_ = std::move(kept);
}

std::vector<char> Forest::packed() const {
  if (empty()) return {};
  return ListPacker({nodes_.size(), roots_.size()}).add(nodes_).add(roots_).take();
}

Forest Forest::unpack(std::string_view packed) {
  Forest forest;
  if (packed.empty()) return forest;
  PackedLists lists(packed);
  forest.nodes_ = lists.next<Node>(0), forest.roots_ = lists.next<std::uint32_t>(1);
  return forest;
}

double Forest::told(const Traits& traits) const {
  double sum = 0;
  for (std::size_t at : roots_) {
    while (nodes_[at].right != 0)
      at = traits[nodes_[at].trait] <= nodes_[at].value ? at + 1 : nodes_[at].right;
    sum += static_cast<double>(nodes_[at].value);
  }
  return sum;
}

}  // namespace opscope
