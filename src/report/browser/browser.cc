// The tree of items, and the browser's state: what is open, what is chosen, in which order, and what is
// looked for.
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

// What rows of modules and of layers have alike.
void describe(BrowserItem& item, const Graph& graph, const auto& row, std::uint32_t source) {
  item.type = graph.text(graph.modules[row.module].type);
  item.source = source;
  item.output = row.output;
  item.metrics = row.metrics;
  item.parameters = row.parameters;
}

BrowserItem layer_item(const Graph& graph, const LayerRow& layer, std::uint32_t row) {
  BrowserItem item;
  item.kind = ItemKind::kLayer;
  item.name = last_part(layer.name);
  item.path = layer.name;
  describe(item, graph, layer, row);
  return item;
}

BrowserItem op_item(const Profile& profile, OpId op, const LayerRow& layer) {
  const Graph& graph = *profile.graph;
  const auto outputs = graph.outputs_of(graph.ops[op]);
  BrowserItem item;
  item.kind = ItemKind::kOp;
  item.type = graph.op_name(graph.ops[op]);
  item.name = layer.is_module ? short_op_name(item.type) : last_part(layer.name);
  item.path = layer.name;
  item.source = item.first_op = op;
  if (!outputs.empty()) item.output = outputs.front();
  item.metrics += profile.costs[op];
  if (!layer.is_module) item.parameters = layer.parameters;
  return item;
}

}  // namespace

// A module's layers are below it: its own free-standing ops, or its calls where a leaf was called several
// times; the ops of a leaf that was called once are directly below it.
BrowserTree::BrowserTree(const Profile& profile) : ModuleTree(module_tree<BrowserItem>(profile)) {
  const Graph& graph = *profile.graph;
  const std::vector<ItemId> of_module = by_module();
  for (std::uint32_t r = 0; r < profile.modules().size(); ++r) {
    items[r].path = graph.path(graph.modules[profile.modules()[r].module]);
    describe(items[r], graph, profile.modules()[r], r);
  }
  std::vector<ItemId> of_layer(profile.layers().size(), kNone);
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    const std::uint32_t l = profile.layer_of()[op];
    const LayerRow& layer = profile.layers()[l];
    ItemId parent = of_module[layer.module];
    // A leaf that was called once is its own layer; an op by itself needs no layer around it.
    if (layer.is_module && profile.modules()[parent].calls > 1) {
      if (of_layer[l] == kNone) of_layer[l] = add(layer_item(graph, layer, l), parent);
      parent = of_layer[l];
    }
    add(op_item(profile, op, layer), parent);
  }
  for (std::size_t i = items.size(); i-- > 1;) {
    OpId& first = items[items[i].parent].first_op;
    first = std::min(first, items[i].first_op);
  }
  for (BrowserItem& item : items)
    std::ranges::stable_sort(item.children, {}, [&](ItemId id) { return items[id].first_op; });
}

std::vector<OpId> BrowserTree::ops_below(ItemId item) const {
  std::vector<OpId> ops;
  const auto take = [&](ItemId id) {
    if (items[id].kind == ItemKind::kOp) ops.push_back(items[id].source);
  };
  each_shown(take, item);
  std::ranges::sort(ops);
  return ops;
}

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

bool Browser::press(const KeyPress& pressed) {
  struct Command {
    Key key;
    char letter;  // that does the same; 0 for none
    void (*run)(Browser&);
  };
  static constexpr Command kCommands[] = {
      {Key::kUp, 'k', [](Browser& b) { b.move(-1); }},
      {Key::kDown, 'j', [](Browser& b) { b.move(1); }},
      {Key::kPageUp, 0, [](Browser& b) { b.move(-b.page_); }},
      {Key::kPageDown, 0, [](Browser& b) { b.move(b.page_); }},
      {Key::kHome, 0, [](Browser& b) { b.move(-static_cast<std::ptrdiff_t>(b.rows_.size())); }},
      {Key::kEnd, 0, [](Browser& b) { b.move(static_cast<std::ptrdiff_t>(b.rows_.size())); }},
      {Key::kLeft, 0,  // folds, or leaves for what is around
       [](Browser& b) {
         const ItemId above = b.chosen().parent;
         if (b.open_[b.here()]) return b.set_open(b.here(), false, false);
         if (above != kNone) b.reveal(above);
       }},
      {Key::kRight, 0,  // unfolds, or enters
       [](Browser& b) {
         if (!b.chosen().children.empty()) b.open_[b.here()] ? b.move(1) : b.set_open(b.here(), true, false);
       }},
      {Key::kEnter, ' ', [](Browser& b) { b.set_open(b.here(), !b.open_[b.here()], false); }},
      {Key::kEscape, 0, [](Browser& b) { b.search_.clear(); }},
      {Key::kText, '?', [](Browser& b) { b.help_ = true; }},
      {Key::kText, '/', [](Browser& b) { b.typing_ = true, b.search_.clear(); }},
      {Key::kText, 'n', [](Browser& b) { b.find(true, false); }},
      {Key::kText, 'N', [](Browser& b) { b.find(false, false); }},
      {Key::kText, 's', [](Browser& b) { b.order_ = b.next(b.order_), b.show_rows(); }},
      {Key::kText, 'm',
       [](Browser& b) {
         b.metric_ = b.next(b.metric_ == b.metrics_.back() ? nullptr : b.metric_), b.show_rows();
       }},
      {Key::kText, 'b', [](Browser& b) { b.only_costly_ = !b.only_costly_, b.show_rows(); }},
      {Key::kText, 'e', [](Browser& b) { b.set_open(b.here(), true, true); }},
      {Key::kText, 'c', [](Browser& b) { b.set_open(b.here(), false, true); }},
      {Key::kText, ']', [](Browser& b) { ++b.details_top_; }},
      {Key::kText, '[', [](Browser& b) { b.details_top_ -= b.details_top_ > 0; }},
  };
  message_.clear();
  if (std::exchange(help_, false)) return true;
  if (typing_) return press_search(pressed), true;
  const auto& [key, text] = pressed;
  const bool typed = key == Key::kText;
  const auto found = std::ranges::find_if(kCommands, [&](const Command& command) {
    return typed ? text == std::string_view(&command.letter, 1) : command.key == key;
  });
  if (found != std::end(kCommands))
    found->run(*this);
  else if (typed && text != "q")
    message_ = "no such key; ? shows those that there are";
  return !typed || text != "q";
}

void Browser::press_search(const KeyPress& pressed) {
  // Of a character's bytes, all but the first.
  const auto is_inside = [](char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; };
  if (pressed.key == Key::kText) search_ += pressed.text;
  if (pressed.key == Key::kBackspace) {
    while (!search_.empty() && is_inside(search_.back())) search_.pop_back();
    if (!search_.empty()) search_.pop_back();
  }
  if (pressed.key == Key::kEscape) typing_ = false, search_.clear();
  if (pressed.key == Key::kEnter) typing_ = false, find(true, true);
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

// The chosen item stays chosen; where it has gone, the nearest above it that is there.
void Browser::show_rows() {
  ItemId chosen = rows_.empty() ? 0 : here();
  rows_.clear();
  const auto cost = [&](ItemId id) { return measure(tree_.items[id], *order_); };
  std::vector<ItemId> pending{0};
  while (!pending.empty()) {
    const ItemId id = pending.back();
    pending.pop_back();
    rows_.push_back(id);
    if (!open_[id]) continue;
    std::vector<ItemId> children = tree_.items[id].children;
    if (only_costly_) std::erase_if(children, [&](ItemId child) { return !is_costly(tree_.items[child]); });
    if (order_) std::ranges::stable_sort(children, std::greater{}, cost);
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
  const auto set = [&](ItemId id) { open_[id] = open && !tree_.items[id].children.empty(); };
  all_below ? tree_.each_shown(set, item) : set(item);
  show_rows();
}

// In the order of the run, around the end.
void Browser::find(bool forward, bool from_here) {
  if (search_.empty()) return void(message_ = "/ looks for a name, type or shape");
  const auto matches = [&](const BrowserItem& item) {
    const std::string shape = shape_text(graph_, item.output);
    return std::ranges::any_of(
        std::initializer_list<std::string_view>{item.name, item.path, item.type, shape},
        [&](std::string_view text) { return contains_text(text, search_); });
  };
  std::vector<ItemId> order;
  tree_.each_shown([&](ItemId id) { order.push_back(id); });
  const std::size_t count = order.size();
  const auto from = static_cast<std::size_t>(std::ranges::find(order, here()) - order.begin());
  for (std::size_t i = from_here ? 0 : 1; i <= count; ++i) {
    const ItemId id = order[(from + (forward ? i : count - i % count)) % count];
    if (matches(tree_.items[id])) return reveal(id);
  }
  message_ = "nothing has '" + std::exchange(search_, "") + "' in its name, type or shape";
}

// Opens what is above it; lets go of a filter that would hide it.
void Browser::reveal(ItemId item) {
  for (ItemId id = item; id != kNone; id = tree_.items[id].parent) {
    if (id != item) open_[id] = true;
    if (only_costly_ && !is_costly(tree_.items[id])) only_costly_ = false;
  }
  show_rows();
  at_ = static_cast<std::size_t>(std::ranges::find(rows_, item) - rows_.begin());
  details_top_ = 0;
}

}  // namespace opscope
