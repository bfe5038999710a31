// All about the chosen item: costs, shapes, where its values come from and go, its subgraphs, the formula.
#include <algorithm>

#include "base/text.h"
#include "report/browser/browser.h"
#include "report/core/document.h"

namespace opscope {
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
