// Nodes on the left, the subgraphs they run in on the right; nodes of one subgraph are held together by a
// bracket. Where the terminal is too narrow for both, the subgraph follows its nodes.
#include <fmt/format.h>

#include <algorithm>
#include <ranges>
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

struct SideBySide {
  const GraphView& view;
  const Selection& selection;
  const TextOptions& options;
  const Partition& partition = view.profile->partition();
  std::vector<Standing> standings{};                                       // by place in the selection
  std::vector<bool> told = std::vector<bool>(partition.subgraphs.size());  // by subgraph
  int digits = static_cast<int>(std::to_string(view.nodes.size()).size()), left_width = 0, right_width = 0;
  bool stacked = false;

  std::string text() {
    for (const std::uint32_t n : selection.nodes) standings.push_back(standing_of(view, view.nodes[n]));
    settle_widths();
    std::string out;
    const auto& nodes = selection.nodes;
    for (std::size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
      end = begin + 1;
      while (end < nodes.size() && together(end - 1, end)) ++end;
      if (begin > 0 && nodes[begin] != nodes[begin - 1] + 1 && !selection.ranked)
        out += std::string(static_cast<std::size_t>(digits), ' ') + "...\n\n";
      add_group(begin, end, out);
    }
    return out;
  }

  // Neighbours in the list that are in one and the same subgraph.
  bool together(std::size_t a, std::size_t b) const {
    return standings[a].subgraphs.size() == 1 && standings[a].subgraphs == standings[b].subgraphs;
  }

  void settle_widths() {
    int longest = 0;
    for (const std::uint32_t n : selection.nodes) longest = std::max(longest, natural_width(view.nodes[n]));
    left_width = std::clamp(longest, kLeastLeft, std::min(kMostLeft, options.width * 3 / 5));
    right_width = options.width - left_width - 3;
    if (right_width < kLeastRight) left_width = options.width - kLeastRight - 3, right_width = kLeastRight;
    stacked = left_width < kLeastLeft;
    if (stacked) left_width = options.width, right_width = options.width - indent() - 2;
  }
  int indent() const { return digits + 2; }
  int natural_width(const ViewNode& node) const {
    const int first = display_width(node.kind) + 3 + display_width(node.name) + 8;
    const int second = display_width(target(node)) + 2 + display_width(shapes_text(view, node));
    return indent() + std::max(first, second);
  }
  // Of inputs and outputs it is the name once more.
  static std::string_view target(const ViewNode& node) {
    return node.kind == "placeholder" || node.kind == "output" ? std::string_view{} : node.target;
  }

  // " 12. [call_module] layer1.0.conv1      231M"
  Line name_line(std::uint32_t n) const {
    const ViewNode& node = view.nodes[n];
    const bool center = selection.center == n;
    const std::string kind = "[" + std::string(node.kind) + "] ";
    const std::string flops = node.metrics.flops ? flops_text(node.metrics) : std::string();
    const int room =
        left_width - indent() - display_width(kind) - (flops.empty() ? 0 : display_width(flops) + 1);
    const auto width = static_cast<std::size_t>(std::max(8, room));
    const std::string name =
        display_width(node.name) > room ? shortened_name(node.name, width) : std::string(node.name);
    return {{fmt::format("{:>{}}. ", n + 1, digits), center ? Style::kStrong : Style::kQuiet},
            {kind, Style::kQuiet},
            {pad_right(name, flops.empty() ? 0 : room), center ? Style::kStrong : Style::kPlain},
            {flops.empty() ? "" : " " + flops}};
  }
  Line detail_line(const ViewNode& node) const {
    const int room = left_width - indent();
    const std::string shapes = shapes_text(view, node);
    std::string text(target(node));
    if (!shapes.empty() && !text.empty()) text += "  ";
    const bool too_long = display_width(text) + display_width(shapes) > room;
    // What it takes others show.
    const bool result_alone = too_long && node.output != kNone && node.kind != "output";
    text += result_alone ? "-> " + shape_of(*view.profile->graph, node.output) : shapes;
    return {{std::string(static_cast<std::size_t>(indent()), ' ')}, {truncate(text, room), Style::kQuiet}};
  }
  std::vector<Line> left_lines(std::uint32_t n) const {
    std::vector<Line> lines{name_line(n)};
    const ViewNode& node = view.nodes[n];
    if (!target(node).empty() || !shapes_text(view, node).empty()) lines.push_back(detail_line(node));
    return lines;
  }

  void say(std::vector<Line>& lines, std::string_view text, Style style = Style::kPlain) const {
    for (std::string& line : wrap(text, right_width - 3, 2))
      lines.push_back({{"   "}, {std::move(line), style}});
  }

  void say_sums(std::vector<Line>& lines, const Standing& standing, std::string saved) const {
    say(lines, "FLOPs: " + format_count(standing.flops) + ", memory: " + format_bytes(standing.memory_bytes) +
                   saved);
    if (!standing.bound) return;
    const std::string intensity = format_ratio(standing.arithmetic_intensity()) + " FLOPs/byte, ";
    const auto line_with = [&](const std::string& label) {
      return Line{
          {"   "}, {label + intensity}, {std::string(name(*standing.bound)), style_of(*standing.bound)}};
    };
    Line line = line_with("Intensity: ");
    if (width_of(line) > right_width) line = line_with("");
    lines.push_back(std::move(line));
  }

  std::vector<Line> right_lines(std::size_t begin, std::size_t end) {
    const Standing& standing = standings[begin];
    std::vector<Line> lines;
    if (standing.subgraphs.empty()) {
      for (std::string& line : wrap("not partitioned: " + std::string(standing.why_none), right_width, 3))
        lines.push_back({{std::move(line), Style::kQuiet}});
    } else if (standing.subgraphs.size() > 1) {
      several(standing, view.nodes[selection.nodes[begin]], lines);
    } else {
      one(standing, begin, end, lines);
    }
    return lines;
  }
  void several(const Standing& standing, const ViewNode& node, std::vector<Line>& lines) const {
    const std::string head = fmt::format(">> {}: {}", plural(standing.subgraphs.size(), "subgraph"),
                                         subgraphs_text(standing.subgraphs));
    lines.push_back({{truncate(head, right_width), Style::kStrong}});
    say_sums(lines, standing, "");
    say(lines, fmt::format("costliest: #{} {}", node.subgraph + 1, partition.subgraphs[node.subgraph].type));
  }
  void one(const Standing& standing, std::size_t begin, std::size_t end, std::vector<Line>& lines) {
    const SubgraphId id = standing.subgraphs.front();
    const Subgraph& subgraph = partition.subgraphs[id];
    const std::string head = ">> Subgraph #" + std::to_string(id + 1);
    if (told[id]) return lines.push_back({{head + ", continued", Style::kStrong}});
    told[id] = true;
    lines.push_back(
        {{truncate_middle(fmt::format("{}: {}", head, subgraph.type), right_width), Style::kStrong}});
    say_sums(lines, standing,
             subgraph.saved_bytes() ? ", saved: " + format_bytes(subgraph.saved_bytes()) : std::string());
    say_border(lines, "begins", "after", subgraph.begins, subgraph.begins_at);
    say_border(lines, "ends", "before", subgraph.ends, subgraph.ends_at);
    say(lines, others_text(id, begin, end), Style::kQuiet);
  }
  // With the number alone: the node is in the list, or one --node away.
  void say_border(std::vector<Line>& lines, std::string_view verb, std::string_view side, Border border,
                  OpId at) const {
    const std::string where = at == kNone ? "" : fmt::format(" {} node {}", side, view.node_of[at] + 1);
    say(lines, fmt::format("{}{}: {}", verb, where, explanation(border)), Style::kQuiet);
  }
  // Its nodes that do not stand beside these.
  std::string others_text(SubgraphId id, std::size_t begin, std::size_t end) const {
    const auto here = std::span(selection.nodes).subspan(begin, end - begin);
    std::vector<std::uint32_t> others = nodes_of_subgraph(view, id);
    std::erase_if(others, [&](std::uint32_t n) { return std::ranges::find(here, n) != here.end(); });
    if (others.empty()) return "";
    const auto text = [&](std::uint32_t n) { return node_text(view, n); };
    const auto shown = others | std::views::take(kOthersShown) | std::views::transform(text);
    return fmt::format("also: {}", fmt::join(shown, ", ")) +
           (others.size() > kOthersShown ? fmt::format(" and {} more", others.size() - kOthersShown) : "");
  }

  void add_group(std::size_t begin, std::size_t end, std::string& out) {
    std::vector<Line> left;
    for (std::size_t i = begin; i < end; ++i)
      for (Line& line : left_lines(selection.nodes[i])) left.push_back(std::move(line));
    const std::vector<Line> right = right_lines(begin, end);
    stacked ? stack(left, right, out) : join(left, right, end - begin > 1, out);
    out += '\n';
  }
  void join(const std::vector<Line>& left, const std::vector<Line>& right, bool bracket,
            std::string& out) const {
    const std::size_t height = std::max(left.size(), right.size());
    for (std::size_t i = 0; i < height; ++i) {
      const Line line = i < left.size() ? left[i] : Line{};
      out += painted(line, options.color);
      out.append(static_cast<std::size_t>(std::max(0, left_width - width_of(line))), ' ');
      out += ' ' + paint(bracket ? edge(i, height) : " ", Style::kQuiet, options.color) + ' ';
      if (i < right.size()) out += painted(right[i], options.color);
      end_line(out);
    }
  }
  static std::string_view edge(std::size_t i, std::size_t height) {
    return i == 0 ? "╮" : i + 1 == height ? "╯" : "│";
  }
  void stack(const std::vector<Line>& left, const std::vector<Line>& right, std::string& out) const {
    for (const Line& line : left) out += painted(line, options.color), end_line(out);
    for (const Line& line : right) {
      out.append(static_cast<std::size_t>(indent()) + 2, ' ');
      out += painted(line, options.color);
      end_line(out);
    }
  }
};

std::string title(const GraphView& view, const Selection& selection, const TextOptions& options) {
  const std::size_t shown = selection.nodes.size();
  const std::string level =
      view.level == Level::kLayer ? "" : fmt::format(" at the level of {}s", name(view.level));
  const std::string all = fmt::format(" of {}{}", view.nodes.size(), level);
  if (selection.ranked) return fmt::format("The {} costliest{}, by {}", shown, all, flag_name(*options.sort));
  const std::uint32_t first = selection.nodes.front(), last = selection.nodes.back();
  const bool run = last - first + 1 == shown;
  std::string text =
      (run && shown > 1 ? fmt::format("Nodes {} to {}", first + 1, last + 1) : plural(shown, "node")) + all;
  if (selection.center) text += ", around " + node_text(view, *selection.center);
  if (selection.found > shown && !run) text += fmt::format("; {} fit", selection.found);
  return text;
}

std::string side_by_side(const GraphView& view, const Selection& selection, const TextOptions& options) {
  std::string out = to_text({header_cells(*view.profile), note_lines(*view.profile, options), {}}, options);
  out += "\n" + created_text(view) + "\n";
  out += paint(title(view, selection, options), Style::kStrong, options.color) + "\n\n";
  out += SideBySide{view, selection, options}.text();
  if (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace

std::string explore_listing(const GraphView& view, const Selection& selection, Format format,
                            const TextOptions& options) {
  if (format == Format::kText) return side_by_side(view, selection, options);
  const auto sections = [&] {
    Section section = nodes_section(view, selection.nodes);
    section.title = title(view, selection, options);
    return std::vector{section};
  };
  return explore_report(
      view, format, options,
      {[&](JsonWriter& json) { write_selection(json, view, selection); }, selection.nodes, sections});
}

}  // namespace opscope
