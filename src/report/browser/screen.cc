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

namespace {

constexpr int kLabelWidth = 11;
constexpr std::size_t kNeighboursShown = 4, kSubgraphsShown = 3;

class Details {
 public:
  Details(const Profile& profile, const BrowserTree& tree, const GraphView& view, ItemId id, int width)
      : profile_(profile),
        graph_(*profile.graph),
        tree_(tree),
        view_(view),
        item_(tree.items[id]),
        ops_(tree.ops_below(id)),
        width_(width) {}

  std::vector<ScreenLine> lines() {
    say(std::string(item_.path.empty() ? item_.name : item_.path), Ink::kStrong);
    kind();
    blank();
    costs();
    if (ops_.empty()) return std::move(lines_);
    neighbours();
    subgraphs();
    if (item_.kind == ItemKind::kOp || ops_.size() == 1) formula(ops_.front());
    return std::move(lines_);
  }

 private:
  void blank() { lines_.push_back({}); }
  // Words wrapped, further lines indented.
  void say(std::string_view text, Ink ink = Ink::kPlain, int indent = 0, std::string label = "") {
    std::string line;
    const auto flush = [&] {
      ScreenLine pieces;
      if (indent > 0) pieces.push_back({pad_right(std::exchange(label, ""), indent), Ink::kQuiet});
      pieces.push_back({std::exchange(line, ""), ink});
      lines_.push_back(std::move(pieces));
    };
    const int room = std::max(8, width_ - indent);
    while (!text.empty()) {
      const auto space = std::min(text.find(' '), text.size());
      const std::string word = truncate_middle(text.substr(0, space), room);
      if (!line.empty() && display_width(line) + 1 + display_width(word) > room) flush();
      if (!line.empty()) line += ' ';
      line += word;
      text.remove_prefix(std::min(space + 1, text.size()));
    }
    if (!line.empty() || !label.empty()) flush();
  }
  void fact(std::string label, std::string_view text, Ink ink = Ink::kPlain) {
    say(text, ink, kLabelWidth, std::move(label));
  }

  void kind() {
    switch (item_.kind) {
      case ItemKind::kModule: {
        const std::uint32_t calls = profile_.modules()[item_.source].calls;
        say(std::string(item_.type) + ", " +
                (calls == 0   ? "never called"
                 : calls == 1 ? "called once"
                              : "called " + std::to_string(calls) + " times") +
                ", " + plural(ops_.size(), "op"),
            Ink::kQuiet);
        break;
      }
      case ItemKind::kLayer:
        say("a call of " + std::string(item_.type) + ", " + plural(ops_.size(), "op"), Ink::kQuiet);
        break;
      case ItemKind::kOp: {
        const StringId source = graph_.ops[item_.source].source;
        say("op " + std::to_string(item_.source) + ", " + std::string(item_.type), Ink::kQuiet);
        if (source) say(source_text(graph_.text(source)), Ink::kQuiet);
        break;
      }
    }
  }

  void costs() {
    const Metrics& m = item_.metrics;
    if (item_.parameters.total)
      fact("Params", format_params(item_.parameters.total) + ", " + format_bytes(item_.parameters.bytes));
    fact("MACs", format_count(m.work.macs));
    fact("FLOPs", flops_text(m) + "  " + format_percent(m.flops, profile_.totals.flops) + " of the model");
    fact("Bytes", format_bytes(m.memory_bytes()) + "  " +
                      format_percent(m.memory_bytes(), profile_.totals.memory_bytes()));
    if (m.counts()) {
      const Bottleneck bound = bottleneck_of(m, profile_.options.ridge);
      fact("Intensity", format_ratio(m.arithmetic_intensity()) + " FLOPs/byte, " + std::string(name(bound)),
           bound == Bottleneck::kComputeBound ? Ink::kGood : Ink::kWarning);
    }
    if (m.confidence != Confidence::kExact) fact("Confidence", name(m.confidence), Ink::kWarning);
    if (item_.output != kNone)
      fact("Output",
           shape_text(graph_, item_.output) + " " + std::string(name(graph_.values[item_.output].dtype)));
  }

  bool inside(OpId op) const { return std::ranges::binary_search(ops_, op); }
  std::string node_name(std::uint32_t n) const { return std::string(view_.nodes[n].name); }
  // Each neighbour once, the first few.
  void add(std::vector<std::string>& found, std::uint32_t n, ValueId value) const {
    std::string text = node_name(n) + "  " + shape_text(graph_, value);
    if (std::ranges::find(found, text) == found.end() && found.size() <= kNeighboursShown)
      found.push_back(std::move(text));
  }
  void neighbours() {
    std::vector<std::string> from, to;
    for (const OpId op : ops_) {
      const ViewNode& node = view_.nodes[view_.node_of[op]];
      for (const ViewEdge& edge : view_.inputs_of(node))
        if (is_outside(edge.from)) add(from, edge.from, edge.value);
      for (const std::uint32_t e : view_.outputs_of(node))
        if (is_outside(view_.edges[e].to)) add(to, view_.edges[e].to, view_.edges[e].value);
    }
    blank();
    list("From", from);
    list("To", to);
  }
  bool is_outside(std::uint32_t n) const {
    const auto ops = view_.ops_of(view_.nodes[n]);
    return ops.empty() || !inside(ops.front());
  }
  void list(std::string label, const std::vector<std::string>& found) {
    for (std::size_t i = 0; i < found.size() && i < kNeighboursShown; ++i)
      fact(std::exchange(label, ""), found[i]);
    if (found.size() > kNeighboursShown) fact("", "...", Ink::kQuiet);
  }

  void subgraphs() {
    const Partition& partition = profile_.partition();
    std::vector<SubgraphId> ids;
    for (const OpId op : ops_)
      if (partition.of_op[op] != kNone) ids.push_back(partition.of_op[op]);
    std::ranges::sort(ids);
    ids.erase(std::ranges::unique(ids).begin(), ids.end());
    blank();
    if (ids.empty())
      return say("not partitioned: " + std::string(why_not_partitioned(graph_, profile_.costs, ops_.front())),
                 Ink::kQuiet);
    if (ids.size() > kSubgraphsShown) {
      say("in " + plural(ids.size(), "subgraph") + ", #" + std::to_string(ids.front() + 1) + " to #" +
          std::to_string(ids.back() + 1));
      return;
    }
    for (const SubgraphId id : ids) subgraph(id, ids.size() == 1);
  }
  void subgraph(SubgraphId id, bool full) {
    const Subgraph& group = profile_.partition().subgraphs[id];
    say("Subgraph #" + std::to_string(id + 1) + ": " + std::string(group.type), Ink::kStrong);
    fact("FLOPs", format_count(group.flops));
    fact("Bytes",
         format_bytes(group.memory_bytes()) + ", " + format_bytes(group.saved_bytes()) + " saved by fusing");
    if (!full) return;
    fact("Begins", border_text("after ", group.begins, group.begins_at), Ink::kQuiet);
    fact("Ends", border_text("before ", group.ends, group.ends_at), Ink::kQuiet);
  }

  std::string border_text(std::string side, Border border, OpId at) const {
    const std::string where = at == kNone ? "" : side + node_name(view_.node_of[at]) + ": ";
    return where + std::string(explanation(border));
  }

  void formula(OpId op) {
    blank();
    const std::string text = explain(graph_, op);
    for (std::size_t begin = 0; begin < text.size();) {
      const auto end = std::min(text.find('\n', begin), text.size());
      const auto words = std::min(text.find_first_not_of(' ', begin), end);
      say(text.substr(words, end - words), Ink::kQuiet, words > begin ? 2 : 0);
      begin = end + 1;
    }
  }

  const Profile& profile_;
  const Graph& graph_;
  const BrowserTree& tree_;
  const GraphView& view_;
  const BrowserItem& item_;
  std::vector<OpId> ops_;
  int width_;
  std::vector<ScreenLine> lines_;
};

}  // namespace

std::vector<ScreenLine> Browser::details(int width) const {
  if (details_of_ != rows_[at_] || details_width_ != width) {
    details_of_ = rows_[at_];
    details_width_ = width;
    details_ = Details(profile_, tree_, view_, details_of_, width).lines();
  }
  return details_;
}

}  // namespace opscope
