// Boosted regression trees over traits: what the rates leave out, where it has edges (another kernel beyond a
// size) that no smooth neighbourhood has. As text in a calibration file: letters, since there are thousands
// of branches. As nodes in the program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "hardware/predict/traits.h"

namespace opscope {

class Forest {
 public:
  struct Node {
    std::uint32_t right = 0;  // the left follows; 0: a leaf
    std::uint32_t trait = 0;
    float value = 0;  // left where the trait is at most this; a leaf's part of the sum
  };

  Forest() = default;
  explicit Forest(std::vector<Node> nodes);
  // Throws Error where it is no forest's text.
  static Forest read(std::string_view text);
  std::string text() const;
  // As it lies in the program: used there, and not copied.
  static Forest unpack(std::string_view packed);
  std::vector<char> packed() const;

  bool empty() const { return nodes_.empty(); }
  double told(const Traits& traits) const;

 private:
  std::span<const Node> nodes_;  // tree after tree, each from its root, left before right
  std::span<const std::uint32_t> roots_;
  std::shared_ptr<const void> kept_;  // what they lie in; nullptr: somebody else keeps it
};

// The same rows in the same order give the same trees.
Forest grow_forest(std::span<const Traits> rows, std::span<const double> targets);
// What the others say of each, a fifth left out at a time.
std::vector<double> told_when_left_out(std::span<const Traits> rows, std::span<const double> targets);

}  // namespace opscope
