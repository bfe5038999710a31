// Nodes on the left, the subgraphs they run in on the right; nodes of one subgraph are held together by a
// bracket. Where the terminal is too narrow for both, the subgraph follows its nodes.
#include <algorithm>
#include <array>
#include <span>

#include "base/text.h"
#include "graph/names.h"
#include "report/explore/explore.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr int kLeastLeft = 38, kLeastRight = 38, kMostLeft = 64;
constexpr std::size_t kOthersShown = 4;

// A line in pieces that are painted after it has been cut to its width.
using Line = std::vector<Cell>;

int width_of(const Line& line) {
  int width = 0;
  for (const Cell& piece : line) width += display_width(text_of(piece));
  return width;
}

std::string painted(const Line& line, bool color) {
  std::string out;
  for (const Cell& piece : line) out += paint(text_of(piece), piece.style, color);
  return out;
}

// Words into lines of at most `width`, those after the first indented.
std::vector<std::string> wrap(std::string_view text, int width, int indent) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const auto space = std::min(text.find(' '), text.size());
    std::string word(text.substr(0, space));
    if (!line.empty() && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(std::move(line));
      line.assign(static_cast<std::size_t>(indent), ' ');
    } else if (!line.empty() && line.find_first_not_of(' ') != std::string::npos) {
      line += ' ';
    }
    line += truncate_middle(word, std::max(8, width - display_width(line)));
    text.remove_prefix(std::min(space + 1, text.size()));
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

class SideBySide {
 public:
  SideBySide(const GraphView& view, const Selection& selection, const TextOptions& options)
      : view_(view),
        partition_(view.profile->partition()),
        selection_(selection),
        options_(options),
        told_(partition_.subgraphs.size(), false),
        digits_(static_cast<int>(std::to_string(view.nodes.size()).size())) {
    for (const std::uint32_t n : selection.nodes) standings_.push_back(standing_of(view, view.nodes[n]));
    settle_widths();
  }

  std::string text() {
    std::string out;
    const auto& nodes = selection_.nodes;
    for (std::size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
      end = begin + 1;
      while (end < nodes.size() && together(end - 1, end)) ++end;
      if (begin > 0 && nodes[begin] != nodes[begin - 1] + 1 && !selection_.ranked) out += gap();
      add_group(begin, end, out);
    }
    return out;
  }

 private:
  std::string gap() const { return std::string(static_cast<std::size_t>(digits_), ' ') + "...\n\n"; }

  // Neighbours in the list that are in one and the same subgraph.
  bool together(std::size_t a, std::size_t b) const {
    return standings_[a].subgraphs.size() == 1 && standings_[a].subgraphs == standings_[b].subgraphs;
  }

  void settle_widths() {
    int longest = 0;
    for (const std::uint32_t n : selection_.nodes) longest = std::max(longest, natural_width(view_.nodes[n]));
    left_ = std::clamp(longest, kLeastLeft, std::min(kMostLeft, options_.width * 3 / 5));
    right_ = options_.width - left_ - 3;
    if (right_ < kLeastRight) left_ = options_.width - kLeastRight - 3, right_ = kLeastRight;
    stacked_ = left_ < kLeastLeft;
    if (stacked_) left_ = options_.width, right_ = options_.width - indent() - 2;
  }
  int indent() const { return digits_ + 2; }
  int natural_width(const ViewNode& node) const {
    const int first = display_width(node.kind) + 3 + display_width(node.name) + 8;
    const int second = display_width(target(node)) + 2 + display_width(shapes_text(view_, node));
    return indent() + std::max(first, second);
  }
  // Of inputs and outputs it is the name once more.
  static std::string_view target(const ViewNode& node) {
    return node.kind == "placeholder" || node.kind == "output" ? std::string_view{} : node.target;
  }

  // " 12. [call_module] layer1.0.conv1      231M"
  Line name_line(std::uint32_t n) const {
    const ViewNode& node = view_.nodes[n];
    const bool center = selection_.center == n;
    const std::string kind = "[" + std::string(node.kind) + "] ";
    const std::string flops = node.metrics.flops ? flops_text(node.metrics) : std::string();
    const int room = left_ - indent() - display_width(kind) - (flops.empty() ? 0 : display_width(flops) + 1);
    const auto width = static_cast<std::size_t>(std::max(8, room));
    const std::string name =
        display_width(node.name) > room ? shortened_name(node.name, width) : std::string(node.name);
    return {{pad_left(std::to_string(n + 1), digits_) + ". ", center ? Style::kStrong : Style::kQuiet},
            {kind, Style::kQuiet},
            {pad_right(name, flops.empty() ? 0 : room), center ? Style::kStrong : Style::kPlain},
            {flops.empty() ? "" : " " + flops}};
  }
  Line detail_line(const ViewNode& node) const {
    const int room = left_ - indent();
    const std::string shapes = shapes_text(view_, node);
    const std::string_view called = target(node);
    std::string text(called);
    if (!shapes.empty() && !text.empty()) text += "  ";
    if (display_width(text) + display_width(shapes) > room && node.output != kNone && node.kind != "output") {
      text += "-> " + shape_of(*view_.profile->graph, node.output);  // what it takes others show
    } else {
      text += shapes;
    }
    return {{std::string(static_cast<std::size_t>(indent()), ' ')}, {truncate(text, room), Style::kQuiet}};
  }
  std::vector<Line> left_lines(std::uint32_t n) const {
    std::vector<Line> lines{name_line(n)};
    const ViewNode& node = view_.nodes[n];
    if (!target(node).empty() || !shapes_text(view_, node).empty()) lines.push_back(detail_line(node));
    return lines;
  }

  void say(std::vector<Line>& lines, std::string_view text, Style style = Style::kPlain) const {
    for (std::string& line : wrap(text, right_ - 3, 2)) lines.push_back({{"   "}, {std::move(line), style}});
  }

  static std::string sums_text(const Standing& standing) {
    return "FLOPs: " + format_count(standing.flops) + ", memory: " + format_bytes(standing.memory_bytes);
  }
  void say_sums(std::vector<Line>& lines, const Standing& standing, std::string saved) const {
    say(lines, sums_text(standing) + saved);
    if (!standing.bound) return;
    const std::string intensity = format_ratio(standing.arithmetic_intensity()) + " FLOPs/byte, ";
    const auto line_with = [&](const std::string& label) {
      return Line{
          {"   "}, {label + intensity}, {std::string(name(*standing.bound)), style_of(*standing.bound)}};
    };
    Line line = line_with("Intensity: ");
    if (width_of(line) > right_) line = line_with("");
    lines.push_back(std::move(line));
  }

  std::vector<Line> right_lines(std::size_t begin, std::size_t end) {
    const Standing& standing = standings_[begin];
    std::vector<Line> lines;
    if (standing.subgraphs.empty()) {
      for (std::string& line : wrap("not partitioned: " + std::string(standing.why_none), right_, 3))
        lines.push_back({{std::move(line), Style::kQuiet}});
    } else if (standing.subgraphs.size() > 1) {
      several(standing, view_.nodes[selection_.nodes[begin]], lines);
    } else {
      one(standing, begin, end, lines);
    }
    return lines;
  }
  void several(const Standing& standing, const ViewNode& node, std::vector<Line>& lines) const {
    lines.push_back({{truncate(">> " + plural(standing.subgraphs.size(), "subgraph") + ": " +
                                   subgraphs_text(standing.subgraphs),
                               right_),
                      Style::kStrong}});
    say_sums(lines, standing, "");
    say(lines, "costliest: #" + std::to_string(node.subgraph + 1) + " " +
                   std::string(partition_.subgraphs[node.subgraph].type));
  }
  void one(const Standing& standing, std::size_t begin, std::size_t end, std::vector<Line>& lines) {
    const SubgraphId id = standing.subgraphs.front();
    const Subgraph& subgraph = partition_.subgraphs[id];
    const std::string head = ">> Subgraph #" + std::to_string(id + 1);
    if (told_[id]) {
      lines.push_back({{head + ", continued", Style::kStrong}});
      return;
    }
    told_[id] = true;
    lines.push_back({{truncate_middle(head + ": " + std::string(subgraph.type), right_), Style::kStrong}});
    say_sums(lines, standing,
             subgraph.saved_bytes() ? ", saved: " + format_bytes(subgraph.saved_bytes()) : std::string());
    say(lines, border_text("begins", "after", subgraph.begins, subgraph.begins_at), Style::kQuiet);
    say(lines, border_text("ends", "before", subgraph.ends, subgraph.ends_at), Style::kQuiet);
    if (const std::string others = others_text(id, begin, end); !others.empty())
      say(lines, others, Style::kQuiet);
  }
  // With the number alone: the node is in the list, or one --node away.
  std::string border_text(std::string text, std::string_view side, Border border, OpId at) const {
    if (at != kNone) text.append(" ").append(side).append(" node ") += std::to_string(view_.node_of[at] + 1);
    return text.append(": ").append(explanation(border));
  }
  // Its nodes that do not stand beside these.
  std::string others_text(SubgraphId id, std::size_t begin, std::size_t end) const {
    const std::span<const std::uint32_t> here(selection_.nodes.data() + begin, end - begin);
    std::vector<std::uint32_t> others = nodes_of_subgraph(view_, id);
    std::erase_if(others, [&](std::uint32_t n) { return std::ranges::find(here, n) != here.end(); });
    std::string text;
    for (std::size_t i = 0; i < others.size() && i < kOthersShown; ++i)
      text += (i ? ", " : "also: ") + node_text(view_, others[i]);
    if (others.size() > kOthersShown)
      text += " and " + std::to_string(others.size() - kOthersShown) + " more";
    return text;
  }

  void add_group(std::size_t begin, std::size_t end, std::string& out) {
    std::vector<Line> left;
    for (std::size_t i = begin; i < end; ++i)
      for (Line& line : left_lines(selection_.nodes[i])) left.push_back(std::move(line));
    const std::vector<Line> right = right_lines(begin, end);
    stacked_ ? stack(left, right, out) : join(left, right, end - begin > 1, out);
    out += '\n';
  }
  void join(const std::vector<Line>& left, const std::vector<Line>& right, bool bracket,
            std::string& out) const {
    const std::size_t height = std::max(left.size(), right.size());
    for (std::size_t i = 0; i < height; ++i) {
      const Line line = i < left.size() ? left[i] : Line{};
      out += painted(line, options_.color);
      out.append(static_cast<std::size_t>(std::max(0, left_ - width_of(line))), ' ');
      out += ' ' + paint(bracket ? edge(i, height) : " ", Style::kQuiet, options_.color) + ' ';
      if (i < right.size()) out += painted(right[i], options_.color);
      end_line(out);
    }
  }
  static std::string_view edge(std::size_t i, std::size_t height) {
    return i == 0 ? "╮" : i + 1 == height ? "╯" : "│";
  }
  void stack(const std::vector<Line>& left, const std::vector<Line>& right, std::string& out) const {
    for (const Line& line : left) out += painted(line, options_.color), end_line(out);
    for (const Line& line : right) {
      out.append(static_cast<std::size_t>(indent()) + 2, ' ');
      out += painted(line, options_.color);
      end_line(out);
    }
  }

  const GraphView& view_;
  const Partition& partition_;
  const Selection& selection_;
  const TextOptions& options_;
  std::vector<Standing> standings_;  // by place in the selection
  std::vector<bool> told_;           // by subgraph
  int digits_, left_ = 0, right_ = 0;
  bool stacked_ = false;
};

std::string title(const GraphView& view, const Selection& selection, const TextOptions& options) {
  const std::size_t shown = selection.nodes.size();
  const std::string all =
      " of " + std::to_string(view.nodes.size()) +
      (view.level == Level::kLayer ? "" : " at the level of " + std::string(name(view.level)) + "s");
  if (selection.ranked)
    return "The " + std::to_string(shown) + " costliest" + all + ", by " + flag_name(*options.sort);
  const bool run = selection.nodes.back() - selection.nodes.front() + 1 == shown;
  std::string text = run && shown > 1 ? "Nodes " + std::to_string(selection.nodes.front() + 1) + " to " +
                                            std::to_string(selection.nodes.back() + 1)
                                      : plural(shown, "node");
  text += all;
  if (selection.center) text += ", around " + node_text(view, *selection.center);
  if (selection.found > shown && !run) text += "; " + std::to_string(selection.found) + " fit";
  return text;
}

}  // namespace

std::string side_by_side(const GraphView& view, const Selection& selection, const TextOptions& options) {
  Document head{header_cells(*view.profile), note_lines(*view.profile, options), {}};
  std::string out = to_text(head, options);
  out += "\nCreated " + plural(view.profile->partition().subgraphs.size(), "subgraph") + " from " +
         plural(view.nodes.size(), "node") + "\n";
  out += paint(title(view, selection, options), Style::kStrong, options.color) + "\n\n";
  out += SideBySide(view, selection, options).text();
  if (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::string explore_listing(const GraphView& view, const Selection& selection, Format format,
                            const TextOptions& options) {
  const auto document = [&] {
    Document made{header_cells(*view.profile), note_lines(*view.profile, options), {}};
    made.sections.push_back(nodes_section(view, selection.nodes));
    made.sections.back().title = title(view, selection, options);
    return made;
  };
  if (format == Format::kText) return side_by_side(view, selection, options);
  return to_format(Report{[&](JsonWriter& json) { write_selection(json, view, selection); },
                          [&] { return nodes_table(view, selection.nodes); }, document},
                   format, options);
}

}  // namespace opscope
