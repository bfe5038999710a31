// A browser for the terminal without the terminal: keys change the state, the state gives the screen. The
// tree of the model on the left, all about the chosen item on the right, the keys in the last line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/metric.h"
#include "report/browser/tree.h"

namespace opscope {

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
  kText,  // KeyPress::text is a character
};
struct KeyPress {
  Key key = Key::kText;
  std::string text{};  // UTF-8
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

  bool press(const KeyPress& key);  // false: the user wants to leave
  Screen draw(int width, int height);

  const BrowserItem& chosen() const { return tree_.items[rows_[at_]]; }
  std::size_t row_count() const { return rows_.size(); }

 private:
  // browser.cc: the state
  void move(std::ptrdiff_t by);
  void show_rows();  // after anything that changes what is visible
  void add_rows(ItemId item);
  std::vector<ItemId> ordered_children(const BrowserItem& item) const;
  bool is_costly(const BrowserItem& item) const;
  const Metric* next(const Metric* metric) const;
  void fold_or_leave();
  void unfold_or_enter();
  void set_open(ItemId item, bool open, bool all_below);
  bool press_command(const std::string& text);
  void press_search(const KeyPress& key);
  void find(bool forward, bool from_here);
  bool matches(const BrowserItem& item) const;
  void reveal(ItemId item);

  // browser_screen.cc
  ScreenLine title_line(int width) const;
  ScreenLine tree_line(std::size_t row, int width) const;
  ScreenLine keys_line(int width, Screen& screen) const;
  Screen help_screen(int width, int height) const;
  std::string measure_text(const BrowserItem& item) const;

  Costs costs_of(const BrowserItem& item) const {
    return opscope::costs_of(profile_, item.metrics, &item.parameters);
  }
  double measure(const BrowserItem& item, const Metric& metric) const {
    return value_of(metric, costs_of(item));
  }

  // browser_details.cc
  std::vector<ScreenLine> details(int width) const;

  const Profile& profile_;
  const Graph& graph_;
  BrowserTree tree_;
  GraphView view_;  // of ops, for who takes what from whom
  std::vector<bool> open_;
  std::vector<ItemId> rows_;  // visible, from the top
  std::size_t at_ = 0, top_ = 0;
  int page_ = 10;
  std::size_t details_top_ = 0;
  mutable std::vector<ScreenLine> details_;  // of details_of_ at details_width_
  mutable ItemId details_of_ = kNone;
  mutable int details_width_ = 0;
  std::vector<const Metric*> metrics_;  // those that the keys go round
  const Metric* metric_;
  const Metric* order_ = nullptr;  // nullptr: as they run
  bool only_costly_ = false, typing_ = false, help_ = false;
  std::string search_, message_;
};

// Cut or padded to exactly `width` columns.
ScreenLine fitted(ScreenLine line, int width);
std::string text_of(const ScreenLine& line);

}  // namespace opscope
