// The browser's state: what is open, what is chosen, in which order, and what is looked for.
#include "report/browser/browser.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "report/core/document.h"

namespace opscope {
namespace {

constexpr double kCostlyShare = 0.01;

// Those that the model has, FLOPs first.
std::vector<const Metric*> metrics_of(const Profile& profile) {
  const Costs costs = costs_of(profile, profile.totals, &profile.parameters);
  std::vector<const Metric*> chosen;
  for (const Metric& metric : metrics())
    if (!metric.is_detail && amount_of(metric, costs)) chosen.push_back(&metric);
  std::ranges::rotate(chosen, std::ranges::find(chosen, &metric_at("flops")));
  return chosen;
}

}  // namespace

Browser::Browser(const Profile& profile)
    : profile_(profile),
      graph_(*profile.graph),
      tree_(profile),
      view_(make_view(profile, Level::kOp)),
      open_(tree_.items.size(), false),
      metrics_(metrics_of(profile)),
      metric_(metrics_.front()) {
  open_[0] = true;
  show_rows();
}

bool Browser::press(const KeyPress& key) {
  message_.clear();
  if (std::exchange(help_, false)) return true;
  if (typing_) {
    press_search(key);
    return true;
  }
  switch (key.key) {
    case Key::kUp:
      move(-1);
      break;
    case Key::kDown:
      move(1);
      break;
    case Key::kPageUp:
      move(-page_);
      break;
    case Key::kPageDown:
      move(page_);
      break;
    case Key::kHome:
      move(-static_cast<std::ptrdiff_t>(rows_.size()));
      break;
    case Key::kEnd:
      move(static_cast<std::ptrdiff_t>(rows_.size()));
      break;
    case Key::kLeft:
      fold_or_leave();
      break;
    case Key::kRight:
      unfold_or_enter();
      break;
    case Key::kEnter:
      set_open(rows_[at_], !open_[rows_[at_]], false);
      break;
    case Key::kEscape:
      search_.clear();
      break;
    case Key::kBackspace:
      break;
    case Key::kText:
      return press_command(key.text);
  }
  return true;
}

bool Browser::press_command(const std::string& text) {
  const char c = text.size() == 1 ? text[0] : '\0';
  switch (c) {
    case 'q':
      return false;
    case '?':
      help_ = true;
      break;
    case '/':
      typing_ = true, search_.clear();
      break;
    case 'n':
      find(true, false);
      break;
    case 'N':
      find(false, false);
      break;
    case 's':
      order_ = next(order_), show_rows();
      break;
    case 'm':
      metric_ = next(metric_), metric_ = metric_ ? metric_ : metrics_.front(), show_rows();
      break;
    case 'b':
      only_costly_ = !only_costly_, show_rows();
      break;
    case 'e':
      set_open(rows_[at_], true, true);
      break;
    case 'c':
      set_open(rows_[at_], false, true);
      break;
    case ']':
      ++details_top_;
      break;
    case '[':
      details_top_ -= details_top_ > 0 ? 1 : 0;
      break;
    case 'k':
      move(-1);
      break;
    case 'j':
      move(1);
      break;
    case ' ':
      set_open(rows_[at_], !open_[rows_[at_]], false);
      break;
    default:
      message_ = "no such key; ? shows those that there are";
  }
  return true;
}

void Browser::press_search(const KeyPress& key) {
  switch (key.key) {
    case Key::kText:
      search_ += key.text;
      break;
    case Key::kBackspace:
      while (!search_.empty() && (static_cast<unsigned char>(search_.back()) & 0xC0) == 0x80)
        search_.pop_back();
      if (!search_.empty()) search_.pop_back();
      break;
    case Key::kEscape:
      typing_ = false, search_.clear();
      break;
    case Key::kEnter:
      typing_ = false;
      find(true, true);
      break;
    default:
      break;
  }
}

void Browser::move(std::ptrdiff_t by) {
  const auto last = static_cast<std::ptrdiff_t>(rows_.size()) - 1;
  at_ = static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(static_cast<std::ptrdiff_t>(at_) + by, 0, last));
  details_top_ = 0;
}

// The one after it: the first after none, none after the last.
const Metric* Browser::next(const Metric* metric) const {
  if (!metric) return metrics_.front();
  const auto at = std::ranges::find(metrics_, metric) + 1;
  return at == metrics_.end() ? nullptr : *at;
}

bool Browser::is_costly(const BrowserItem& item) const {
  if (!adds_up(metric_->unit)) return item.metrics.counts();
  const double value = measure(item, *metric_);
  return value > 0 && value >= kCostlyShare * measure(tree_.items[0], *metric_);
}

std::vector<ItemId> Browser::ordered_children(const BrowserItem& item) const {
  std::vector<ItemId> order = item.children;
  if (only_costly_) std::erase_if(order, [&](ItemId id) { return !is_costly(tree_.items[id]); });
  if (!order_) return order;
  std::ranges::stable_sort(order, std::greater{},
                           [&](ItemId id) { return measure(tree_.items[id], *order_); });
  return order;
}

// The chosen item stays chosen; where it has gone, the nearest above it that is there.
void Browser::show_rows() {
  ItemId chosen = rows_.empty() ? 0 : rows_[at_];
  rows_.clear();
  std::vector<ItemId> pending{0};
  while (!pending.empty()) {
    const ItemId id = pending.back();
    pending.pop_back();
    rows_.push_back(id);
    if (!open_[id]) continue;
    const std::vector<ItemId> children = ordered_children(tree_.items[id]);
    pending.insert(pending.end(), children.rbegin(), children.rend());
  }
  for (;; chosen = tree_.items[chosen].parent) {
    const auto found = std::ranges::find(rows_, chosen);
    if (found == rows_.end()) continue;
    at_ = static_cast<std::size_t>(found - rows_.begin());
    return;
  }
}

void Browser::set_open(ItemId item, bool open, bool all_below) {
  std::vector<ItemId> pending{item};
  while (!pending.empty()) {
    const ItemId id = pending.back();
    pending.pop_back();
    open_[id] = open && !tree_.items[id].children.empty();
    if (!all_below) break;
    for (const ItemId child : tree_.items[id].children) pending.push_back(child);
  }
  show_rows();
}

void Browser::fold_or_leave() {
  const ItemId id = rows_[at_];
  if (open_[id]) return set_open(id, false, false);
  if (tree_.items[id].parent != kNone) reveal(tree_.items[id].parent);
}

void Browser::unfold_or_enter() {
  const ItemId id = rows_[at_];
  if (tree_.items[id].children.empty()) return;
  open_[id] ? move(1) : set_open(id, true, false);
}

bool Browser::matches(const BrowserItem& item) const {
  if (contains_text(item.name, search_) || contains_text(item.path, search_) ||
      contains_text(item.type, search_))
    return true;
  return item.output != kNone && contains_text(shape_text(graph_, item.output), search_);
}

// In the order of the run, around the end.
void Browser::find(bool forward, bool from_here) {
  if (search_.empty()) {
    message_ = "/ looks for a name, type or shape";
    return;
  }
  std::vector<ItemId> order;
  tree_.each_shown([&](ItemId id) { order.push_back(id); });
  const std::size_t count = order.size();
  const auto here = static_cast<std::size_t>(std::ranges::find(order, rows_[at_]) - order.begin());
  for (std::size_t i = from_here ? 0 : 1; i <= count; ++i) {
    const ItemId id = order[(here + (forward ? i : count - i % count)) % count];
    if (matches(tree_.items[id])) return reveal(id);
  }
  message_ = "nothing has '" + std::exchange(search_, "") + "' in its name, type or shape";
}

// Opens what is above it; lets go of a filter that would hide it.
void Browser::reveal(ItemId item) {
  for (ItemId id = tree_.items[item].parent; id != kNone; id = tree_.items[id].parent) {
    open_[id] = true;
    if (only_costly_ && !is_costly(tree_.items[id])) only_costly_ = false;
  }
  if (only_costly_ && !is_costly(tree_.items[item])) only_costly_ = false;
  show_rows();
  at_ = static_cast<std::size_t>(std::ranges::find(rows_, item) - rows_.begin());
  details_top_ = 0;
}

}  // namespace opscope
