// The browser's screen: a title, the tree beside the details, and the keys; help over all of it.
#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "report/browser/browser.h"
#include "report/core/document.h"

namespace opscope {
namespace {

constexpr int kMeasureWidth = 8, kShareWidth = 6, kBarWidth = 8;
constexpr int kRoomForBars = 56;

struct KeyHelp {
  std::string_view keys, what;
};
constexpr std::array kHelp{
    KeyHelp{"Up, Down, k, j", "the item above, the item below"},
    KeyHelp{"PgUp, PgDn, Home, End", "a screen up or down; the first, the last"},
    KeyHelp{"Right", "unfold; go to the first item inside"},
    KeyHelp{"Left", "fold; go to the item around it"},
    KeyHelp{"Enter, Space", "fold or unfold"},
    KeyHelp{"e, c", "unfold all inside, fold all inside"},
    KeyHelp{"/", "look for a name, type, op or shape; Esc forgets it"},
    KeyHelp{"n, N", "the next found, the one before"},
    KeyHelp{"s", "order: as run, by FLOPs, bytes moved, ops, ..."},
    KeyHelp{"m", "the next metric: FLOPs, bytes moved, ops, ..."},
    KeyHelp{"b", "only what has 1% of the measure or more"},
    KeyHelp{"[, ]", "scroll the details"},
    KeyHelp{"?", "this help"},
    KeyHelp{"q, Ctrl-C", "leave"},
};

std::string repeated(std::string_view text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::string bar(double share) {
  const double filled = std::clamp(share, 0.0, 1.0) * kBarWidth;
  const int whole = static_cast<int>(filled + 0.5);
  return repeated("█", whole) + repeated(" ", kBarWidth - whole);
}

}  // namespace

std::string text_of(const ScreenLine& line) {
  std::string text;
  for (const Piece& piece : line) text += piece.text;
  return text;
}

ScreenLine fitted(ScreenLine line, int width) {
  int used = 0;
  for (Piece& piece : line) {
    if (used + display_width(piece.text) > width)
      piece.text = used < width ? truncate(piece.text, width - used) : "";
    used += display_width(piece.text);
  }
  if (used < width) line.push_back({std::string(static_cast<std::size_t>(width - used), ' ')});
  return line;
}

ScreenLine Browser::title_line(int width) const {
  const Metrics& totals = profile_.totals;
  std::string text = " " + model_name(graph_) + "   " + format_params(profile_.parameters.total) +
                     " params   " + flops_text(totals) + " FLOPs   " + format_bytes(totals.memory_bytes()) +
                     " moved   " + plural(profile_.partition().subgraphs.size(), "subgraph");
  std::string state = "by " + std::string(metric_->words) +
                      ", order: " + std::string(order_ ? order_->words : "run") +
                      (only_costly_ ? ", 1% or more " : " ");
  const int room = width - display_width(state) - 1;
  if (room < 20) return fitted({{text, Ink::kChosen}}, width);
  return fitted({{pad_right(truncate(text, room), room + 1), Ink::kChosen}, {state, Ink::kChosen}}, width);
}

std::string Browser::measure_text(const BrowserItem& item) const {
  if (metric_->key == "flops") return flops_text(item.metrics);
  return text(*metric_, amount_of(*metric_, costs_of(item)).value_or(Amount{}), Zero::kDash);
}

ScreenLine Browser::tree_line(std::size_t row, int width) const {
  const ItemId id = rows_[row];
  const BrowserItem& item = tree_.items[id];
  const bool chosen = row == at_, bars = width >= kRoomForBars;
  const auto ink = [&](Ink plain) { return chosen ? Ink::kChosen : plain; };
  const double whole = measure(tree_.items[0], *metric_);
  const double share = whole > 0 ? measure(item, *metric_) / whole : 0;
  const bool shares = adds_up(metric_->unit);
  // Deep in the tree the indent stops growing, so that names stay in sight.
  const int indent = std::min(static_cast<int>(item.depth) * 2, width / 3);
  const int right = kMeasureWidth + (shares ? kShareWidth : 0) + (bars && shares ? kBarWidth + 1 : 0) + 1;
  const int room = std::max(8, width - indent - 2 - right);
  const std::string_view mark = item.children.empty() ? "· " : open_[id] ? "▾ " : "▸ ";
  const std::string name = truncate_middle(item.name, room);
  const int left = room - display_width(name) - 2;
  const std::string type = left >= 6 && item.type != item.name ? "  " + truncate(item.type, left) : "";
  ScreenLine line{{std::string(static_cast<std::size_t>(indent), ' ') + std::string(mark), ink(Ink::kQuiet)},
                  {name, ink(item.kind == ItemKind::kModule ? Ink::kStrong : Ink::kPlain)},
                  {pad_right(type, room - display_width(name)), ink(Ink::kQuiet)},
                  {pad_left(measure_text(item), kMeasureWidth), ink(Ink::kPlain)}};
  if (shares)
    line.push_back({pad_left(share > 0 ? format_percent(share, 1.0) : "", kShareWidth), ink(Ink::kQuiet)});
  if (bars && shares) line.push_back({" " + bar(share), ink(Ink::kBar)});
  line = fitted(std::move(line), width);
  if (chosen) line.back().ink = Ink::kChosen;
  return line;
}

ScreenLine Browser::keys_line(int width, Screen& screen) const {
  if (typing_) {
    const std::string text = "/" + search_;
    screen.cursor = std::min(display_width(text), width - 1);
    return fitted({{text, Ink::kStrong}}, width);
  }
  if (!message_.empty()) return fitted({{message_, Ink::kWarning}}, width);
  std::string keys = "↑↓ move  ←→ fold  / find  n next  s sort  m measure  b costly  ? help  q quit";
  if (!search_.empty())
    keys = "found '" + search_ + "'  n next  N before  / find  Esc forget  ? help  q quit";
  return fitted({{keys, Ink::kQuiet}}, width);
}

Screen Browser::help_screen(int width, int height) const {
  Screen screen;
  screen.lines.push_back(fitted({{" Keys", Ink::kChosen}, {"", Ink::kChosen}}, width));
  for (const KeyHelp& help : kHelp)
    screen.lines.push_back(
        fitted({{"  " + pad_right(help.keys, 24), Ink::kStrong}, {std::string(help.what)}}, width));
  screen.lines.resize(static_cast<std::size_t>(std::max(height - 1, 0)), fitted({}, width));
  screen.lines.push_back(fitted({{"any key goes back", Ink::kQuiet}}, width));
  return screen;
}

Screen Browser::draw(int width, int height) {
  width = std::max(width, 20), height = std::max(height, 4);
  if (help_) return help_screen(width, height);
  page_ = height - 2;
  const auto page = static_cast<std::size_t>(page_);
  if (at_ < top_) top_ = at_;
  if (at_ >= top_ + page) top_ = at_ - page + 1;
  if (top_ > 0 && rows_.size() < top_ + page) top_ = rows_.size() > page ? rows_.size() - page : 0;
  const int left = width < 60 ? width : std::clamp(width * 48 / 100, 38, 84);
  const int right = width - left - 3;
  std::vector<ScreenLine> about = right > 0 ? details(right) : std::vector<ScreenLine>{};
  const std::size_t most = about.size() > page ? about.size() - page : 0;
  details_top_ = std::min(details_top_, most);
  Screen screen{.lines = {title_line(width)}, .cursor = -1};
  for (std::size_t i = 0; i < page; ++i) {
    ScreenLine line = top_ + i < rows_.size() ? tree_line(top_ + i, left) : fitted({}, left);
    if (right > 0) {
      line.push_back({" │ ", Ink::kQuiet});
      const std::size_t d = details_top_ + i;
      const bool more = i + 1 == page && d + 1 < about.size();
      ScreenLine other = more               ? ScreenLine{{"… ] shows more", Ink::kQuiet}}
                         : d < about.size() ? about[d]
                                            : ScreenLine{};
      std::ranges::move(fitted(std::move(other), right), std::back_inserter(line));
    }
    screen.lines.push_back(std::move(line));
  }
  screen.lines.push_back(keys_line(width, screen));
  return screen;
}

}  // namespace opscope
