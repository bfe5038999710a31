// The browser's screen: a title, the tree beside the details, and the keys; help over all of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "report/browser/browser.h"
#include "report/explore/explore.h"

namespace opscope {
namespace {

constexpr int kMeasureWidth = 8, kShareWidth = 6, kBarWidth = 8;
constexpr int kRoomForBars = 56;
constexpr int kLabelWidth = 11;
constexpr std::size_t kNeighboursShown = 4, kSubgraphsShown = 3;

constexpr std::pair<std::string_view, std::string_view> kHelp[] = {
    // keys, and what they do
    {"Up, Down, k, j", "the item above, the item below"},
    {"PgUp, PgDn, Home, End", "a screen up or down; the first, the last"},
    {"Right", "unfold; go to the first item inside"},
    {"Left", "fold; go to the item around it"},
    {"Enter, Space", "fold or unfold"},
    {"e, c", "unfold all inside, fold all inside"},
    {"/", "look for a name, type, op or shape; Esc forgets it"},
    {"n, N", "the next found, the one before"},
    {"s", "order: as run, by FLOPs, bytes moved, ops, ..."},
    {"m", "the next metric: FLOPs, bytes moved, ops, ..."},
    {"b", "only what has 1% of the measure or more"},
    {"[, ]", "scroll the details"},
    {"?", "this help"},
    {"q, Ctrl-C", "leave"},
};

std::string bar(double share) {
  std::string out;
  for (int i = 0; i < std::lround(std::clamp(share, 0.0, 1.0) * kBarWidth); ++i) out += "█";
  return pad_right(out, kBarWidth);
}

// All about the chosen item: costs, shapes, where its values come from and go, its subgraphs, the formula.
struct Details {
  const Profile& profile;
  const BrowserTree& tree;
  const GraphView& view;
  ItemId id;
  int width;
  const Graph& graph = *profile.graph;
  const BrowserItem& item = tree.items[id];
  std::vector<OpId> ops = tree.ops_below(id);
  std::vector<ScreenLine> lines{};

  std::vector<ScreenLine> all() {
    say(std::string(item.path.empty() ? item.name : item.path), Ink::kStrong);
    kind();
    blank();
    costs();
    if (ops.empty()) return std::move(lines);
    neighbours();
    subgraphs();
    if (item.kind == ItemKind::kOp || ops.size() == 1) formula(ops.front());
    return std::move(lines);
  }

  void blank() { lines.push_back({}); }
  // Words wrapped, further lines indented.
  void say(std::string_view text, Ink ink = Ink::kPlain, int indent = 0, std::string label = "") {
    std::vector<std::string> wrapped = wrapped_words(text, std::max(8, width - indent));
    if (wrapped.empty() && !label.empty()) wrapped.emplace_back();
    for (std::string& line : wrapped) {
      ScreenLine& pieces = lines.emplace_back();
      if (indent > 0) pieces.push_back({pad_right(std::exchange(label, ""), indent), Ink::kQuiet});
      pieces.push_back({std::move(line), ink});
    }
  }
  void fact(std::string label, std::string_view text, Ink ink = Ink::kPlain) {
    say(text, ink, kLabelWidth, std::move(label));
  }

  void kind() {
    const std::string count = ", " + plural(ops.size(), "op");
    if (item.kind == ItemKind::kLayer)
      return say(fmt::format("a call of {}{}", item.type, count), Ink::kQuiet);
    if (item.kind == ItemKind::kModule) {
      const std::uint32_t calls = profile.modules()[item.source].calls;
      const std::string times = calls == 0   ? "never called"
                                : calls == 1 ? "called once"
                                             : fmt::format("called {} times", calls);
      return say(fmt::format("{}, {}{}", item.type, times, count), Ink::kQuiet);
    }
    say(fmt::format("op {}, {}", item.source, item.type), Ink::kQuiet);
    if (const StringId source = graph.ops[item.source].source)
      say(source_text(graph.text(source)), Ink::kQuiet);
  }

  void costs() {
    const Metrics& m = item.metrics;
    if (item.parameters.total)
      fact("Params", format_params(item.parameters.total) + ", " + format_bytes(item.parameters.bytes));
    fact("MACs", format_count(m.work.macs));
    fact("FLOPs", flops_text(m) + "  " + format_percent(m.flops, profile.totals.flops) + " of the model");
    fact("Bytes", format_bytes(m.memory_bytes()) + "  " +
                      format_percent(m.memory_bytes(), profile.totals.memory_bytes()));
    if (m.counts()) {
      const Bottleneck bound = bottleneck_of(m, profile.options.ridge);
      fact("Intensity", format_ratio(m.arithmetic_intensity()) + " FLOPs/byte, " + std::string(name(bound)),
           bound == Bottleneck::kComputeBound ? Ink::kGood : Ink::kWarning);
    }
    if (m.confidence != Confidence::kExact) fact("Confidence", name(m.confidence), Ink::kWarning);
    if (item.output != kNone)
      fact("Output",
           shape_text(graph, item.output) + " " + std::string(name(graph.values[item.output].dtype)));
  }

  std::string node_name(std::uint32_t n) const { return std::string(view.nodes[n].name); }
  void neighbours() {
    std::vector<std::string> from, to;
    const auto add = [&](std::vector<std::string>& found, std::uint32_t n, ValueId value) {
      const auto its_ops = view.ops_of(view.nodes[n]);
      const bool inside = !its_ops.empty() && std::ranges::binary_search(ops, its_ops.front());
      if (inside || found.size() > kNeighboursShown) return;
      std::string text = node_name(n) + "  " + shape_text(graph, value);
      if (std::ranges::find(found, text) == found.end()) found.push_back(std::move(text));
    };
    for (const OpId op : ops) {
      const ViewNode& node = view.nodes[view.node_of[op]];
      for (const ViewEdge& edge : view.inputs_of(node)) add(from, edge.from, edge.value);
      for (const std::uint32_t e : view.outputs_of(node)) add(to, view.edges[e].to, view.edges[e].value);
    }
    blank();
    list("From", from);
    list("To", to);
  }
  void list(std::string label, const std::vector<std::string>& found) {
    for (std::size_t i = 0; i < found.size() && i < kNeighboursShown; ++i)
      fact(std::exchange(label, ""), found[i]);
    if (found.size() > kNeighboursShown) fact("", "...", Ink::kQuiet);
  }

  void subgraphs() {
    const std::vector<SubgraphId> ids = subgraphs_of(profile.partition(), ops);
    blank();
    if (ids.empty())
      say(fmt::format("not partitioned: {}", why_not_partitioned(graph, profile.costs, ops.front())),
          Ink::kQuiet);
    else if (ids.size() > kSubgraphsShown)
      say(fmt::format("in {}, #{} to #{}", plural(ids.size(), "subgraph"), ids.front() + 1, ids.back() + 1));
    else
      for (const SubgraphId each : ids) subgraph(each, ids.size() == 1);
  }
  void subgraph(SubgraphId number, bool full) {
    const Subgraph& group = profile.partition().subgraphs[number];
    say(fmt::format("Subgraph #{}: {}", number + 1, group.type), Ink::kStrong);
    fact("FLOPs", format_count(group.flops));
    fact("Bytes",
         format_bytes(group.memory_bytes()) + ", " + format_bytes(group.saved_bytes()) + " saved by fusing");
    if (!full) return;
    const auto border_text = [&](std::string_view side, Border border, OpId at) {
      const std::string where = at == kNone ? "" : fmt::format("{} {}: ", side, node_name(view.node_of[at]));
      return where + std::string(explanation(border));
    };
    fact("Begins", border_text("after", group.begins, group.begins_at), Ink::kQuiet);
    fact("Ends", border_text("before", group.ends, group.ends_at), Ink::kQuiet);
  }

  void formula(OpId op) {
    blank();
    for (const std::string& line : explained_lines(profile, op)) {
      const auto words = std::min(line.find_first_not_of(' '), line.size());
      say(line.substr(words), Ink::kQuiet, words > 0 ? 2 : 0);
    }
  }
};

}  // namespace

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
  const std::string text = fmt::format(" {}   {} params   {} FLOPs   {} moved   {}", model_name(graph_),
                                       format_params(profile_.parameters.total), flops_text(totals),
                                       format_bytes(totals.memory_bytes()),
                                       plural(profile_.partition().subgraphs.size(), "subgraph"));
  const std::string state = fmt::format("by {}, order: {}{}", metric_->words, order_ ? order_->words : "run",
                                        only_costly_ ? ", 1% or more " : " ");
  const int room = width - display_width(state) - 1;
  if (room < 20) return fitted({{text, Ink::kChosen}}, width);
  return fitted({{pad_right(truncate(text, room), room + 1), Ink::kChosen}, {state, Ink::kChosen}}, width);
}

ScreenLine Browser::tree_line(std::size_t row, int width) const {
  const ItemId id = rows_[row];
  const BrowserItem& item = tree_.items[id];
  const bool chosen = row == at_, bars = width >= kRoomForBars;
  const auto ink = [&](Ink plain) { return chosen ? Ink::kChosen : plain; };
  const double whole = measure(tree_.items[0], *metric_);
  const double share = whole > 0 ? measure(item, *metric_) / whole : 0;
  const bool shares = adds_up(metric_->unit);
  const Amount amount = amount_of(*metric_, costs_of(item)).value_or(Amount{});
  const std::string value =
      metric_->key == "flops" ? flops_text(item.metrics) : text(*metric_, amount, Zero::kDash);
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
                  {pad_left(value, kMeasureWidth), ink(Ink::kPlain)}};
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
  for (const auto& [keys, what] : kHelp)
    screen.lines.push_back(fitted({{"  " + pad_right(keys, 24), Ink::kStrong}, {std::string(what)}}, width));
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
  std::vector<ScreenLine> about;
  if (right > 0) about = Details{profile_, tree_, view_, here(), right}.all();
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
