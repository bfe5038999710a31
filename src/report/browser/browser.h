// A browser for the terminal without the terminal: keys change the state, the state gives the screen. The
// tree of the model on the left, all about the chosen item on the right, the keys in the last line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/explore/view.h"
#include "analyse/tree/module_tree.h"
#include "metrics/metric.h"

namespace opscope {

// The model as a tree to walk through: modules, the layers that they run themselves, single ops at the ends.
using ItemId = std::uint32_t;

enum class ItemKind : std::uint8_t { kModule, kLayer, kOp };

struct BrowserItem : TreeNode {
  ItemKind kind = ItemKind::kModule;
  std::string_view path{};   // "layer1.0.conv1"
  std::string_view type{};   // "Conv2d", "add", ""
  std::uint32_t source = 0;  // row of Profile::modules, of Profile::layers, or the op
  OpId first_op = kNone;     // kNone: it never ran
  ValueId output = kNone;
  Metrics metrics{};
  Parameters parameters{};
};

// Children in the order of their first op; those that never ran last, in the model's order.
struct BrowserTree : ModuleTree<BrowserItem> {
  explicit BrowserTree(const Profile& profile);

  std::vector<OpId> ops_below(ItemId item) const;  // in execution order
};

enum class Key : std::uint8_t {
  kUp,
  kDown,
  kLeft,
  kRight,
  kPageUp,
  kPageDown,
  kHome,
  kEnd,
  kEnter,
  kEscape,
  kBackspace,
  kText
};
struct KeyPress {
  Key key = Key::kText;
  std::string text{};  // of kText: a character, in UTF-8
};

enum class Ink : std::uint8_t { kPlain, kStrong, kQuiet, kGood, kWarning, kChosen, kBar };
struct Piece {
  std::string text{};
  Ink ink = Ink::kPlain;
};
// A line's pieces are together as wide as the screen.
using ScreenLine = std::vector<Piece>;
struct Screen {
  std::vector<ScreenLine> lines;
  int cursor = -1;  // column in the last line, where text is being typed; -1: none
};

class Browser {
 public:
  explicit Browser(const Profile& profile);

  bool press(const KeyPress& pressed);  // false: the user wants to leave
  Screen draw(int width, int height);

  const BrowserItem& chosen() const { return tree_.items[here()]; }
  std::size_t row_count() const { return rows_.size(); }

 private:
  // browser.cc: the state
  ItemId here() const { return rows_[at_]; }
  void move(std::ptrdiff_t by);
  void show_rows();  // after anything that changes what is visible
  bool is_costly(const BrowserItem& item) const;
  const Metric* next(const Metric* metric) const;
  void set_open(ItemId item, bool open, bool all_below);
  void press_search(const KeyPress& pressed);
  void find(bool forward, bool from_here);
  void reveal(ItemId item);

  // screen.cc
  ScreenLine title_line(int width) const;
  ScreenLine tree_line(std::size_t row, int width) const;
  ScreenLine keys_line(int width, Screen& screen) const;
  Screen help_screen(int width, int height) const;

  Costs costs_of(const BrowserItem& item) const {
    return opscope::costs_of(profile_, item.metrics, &item.parameters);
  }
  double measure(const BrowserItem& item, const Metric& metric) const {
    return value_of(metric, costs_of(item));
  }

  const Profile& profile_;
  const Graph& graph_;
  BrowserTree tree_;
  GraphView view_;  // of ops, for who takes what from whom
  std::vector<bool> open_;
  std::vector<ItemId> rows_;  // visible, from the top
  std::size_t at_ = 0, top_ = 0;
  int page_ = 10;
  std::size_t details_top_ = 0;
  std::vector<const Metric*> metrics_;  // those that the keys go round
  const Metric* metric_;
  const Metric* order_ = nullptr;  // nullptr: as they run
  bool only_costly_ = false, typing_ = false, help_ = false;
  std::string search_, message_;
};

// Cut or padded to exactly `width` columns.
ScreenLine fitted(ScreenLine line, int width);

}  // namespace opscope
