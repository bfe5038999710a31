// Nodes on the left, the subgraphs they run in on the right; nodes of one subgraph are held together by a
// bracket. Where the terminal is too narrow for both, the subgraph follows its nodes.
#include <fmt/format.h>
#include <fmt/ranges.h>

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

struct SideBySide {
  const GraphView& view;
  const Selection& selection;
  const TextOptions& options;
  const Partition& partition = view.profile->partition();
  std::vector<Standing> standings{};                                       // by place in the selection
  std::vector<bool> told = std::vector<bool>(partition.subgraphs.size());  // by subgraph
  int digits = static_cast<int>(std::to_string(view.nodes.size()).size()), left_width = 0, right_width = 0;
  bool stacked = false;
  std::vector<Line> left{}, right{};  // of the group that is being written
  std::string out{};

  // Neighbours in the list that are in one and the same subgraph are a group.
  std::string text() {
    const auto& nodes = selection.nodes;
    for (const std::uint32_t n : nodes) standings.push_back(standing_of(view, view.nodes[n]));
    settle_widths();
    for (std::size_t begin = 0, end = 0; begin < nodes.size(); begin = end) {
      const auto& subgraphs = standings[begin].subgraphs;
      end = begin + 1;
      while (end < nodes.size() && subgraphs.size() == 1 && standings[end].subgraphs == subgraphs) ++end;
      if (begin > 0 && nodes[begin] != nodes[begin - 1] + 1 && !selection.ranked)
        out += std::string(static_cast<std::size_t>(digits), ' ') + "...\n\n";
      left.clear(), right.clear();
      for (std::size_t i = begin; i < end; ++i) say_node(nodes[i]);
      say_standing(begin, end);
      write_group(end - begin > 1);
    }
    return std::move(out);
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
    text += result_alone ? "-> " + shape_text(*view.profile->graph, node.output) : shapes;
    return {{std::string(static_cast<std::size_t>(indent()), ' ')}, {truncate(text, room), Style::kQuiet}};
  }
  void say_node(std::uint32_t n) {
    const ViewNode& node = view.nodes[n];
    left.push_back(name_line(n));
    if (!target(node).empty() || !shapes_text(view, node).empty()) left.push_back(detail_line(node));
  }

  void say(std::string_view text, Style style = Style::kPlain) {
    for (std::string& line : wrapped_words(text, right_width - 3, 2))
      right.push_back({{"   "}, {std::move(line), style}});
  }
  void say_head(std::string text) { right.push_back({{std::move(text), Style::kStrong}}); }

  void say_sums(const Standing& standing, Count saved = {}) {
    say(fmt::format("FLOPs: {}, memory: {}{}", format_count(standing.flops),
                    format_bytes(standing.memory_bytes), saved ? ", saved: " + format_bytes(saved) : ""));
    if (!standing.bound) return;
    const std::string intensity = format_ratio(standing.arithmetic_intensity()) + " FLOPs/byte, ";
    Line line{{"   Intensity: " + intensity}, {name(*standing.bound), style_of(*standing.bound)}};
    if (width_of(line) > right_width) line[0] = "   " + intensity;
    right.push_back(std::move(line));
  }

  void say_standing(std::size_t begin, std::size_t end) {
    const Standing& standing = standings[begin];
    const auto& ids = standing.subgraphs;
    if (ids.size() == 1) return say_subgraph(standing, begin, end);
    if (ids.empty()) {
      for (std::string& line :
           wrapped_words(fmt::format("not partitioned: {}", standing.why_none), right_width, 3))
        right.push_back({{std::move(line), Style::kQuiet}});
      return;
    }
    const SubgraphId costliest = view.nodes[selection.nodes[begin]].subgraph;
    say_head(
        truncate(fmt::format(">> {}: {}", plural(ids.size(), "subgraph"), subgraphs_text(ids)), right_width));
    say_sums(standing);
    say(fmt::format("costliest: #{} {}", costliest + 1, partition.subgraphs[costliest].type));
  }
  void say_subgraph(const Standing& standing, std::size_t begin, std::size_t end) {
    const SubgraphId id = standing.subgraphs.front();
    const Subgraph& subgraph = partition.subgraphs[id];
    const std::string head = fmt::format(">> Subgraph #{}", id + 1);
    if (told[id]) return say_head(head + ", continued");
    told[id] = true;
    say_head(truncate_middle(fmt::format("{}: {}", head, subgraph.type), right_width));
    say_sums(standing, subgraph.saved_bytes());
    // With the number alone: the node is in the list, or one --node away.
    const auto say_border = [&](std::string_view verb, std::string_view side, Border border, OpId at) {
      const std::string where = at == kNone ? "" : fmt::format(" {} node {}", side, view.node_of[at] + 1);
      say(fmt::format("{}{}: {}", verb, where, explanation(border)), Style::kQuiet);
    };
    say_border("begins", "after", subgraph.begins, subgraph.begins_at);
    say_border("ends", "before", subgraph.ends, subgraph.ends_at);
    say(others_text(id, begin, end), Style::kQuiet);
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

  void write(const Line& line, std::size_t indented = 0) {
    out.append(indented, ' ') += painted(line, options.color);
    end_line(out);
  }
  void write_group(bool bracket) {
    const std::size_t height = std::max(left.size(), right.size());
    if (stacked) {
      for (const Line& line : left) write(line);
      for (const Line& line : right) write(line, static_cast<std::size_t>(indent()) + 2);
    }
    for (std::size_t i = 0; i < height && !stacked; ++i) {
      Line line = i < left.size() ? left[i] : Line{};
      const auto gap = static_cast<std::size_t>(std::max(0, left_width - width_of(line)) + 1);
      line.push_back(std::string(gap, ' '));
      line.push_back({!bracket ? " " : i == 0 ? "╮" : i + 1 == height ? "╯" : "│", Style::kQuiet});
      line.push_back(" ");
      if (i < right.size()) std::ranges::copy(right[i], std::back_inserter(line));
      write(line);
    }
    out += '\n';
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

std::vector<std::string> wrapped_words(std::string_view text, int width, int indent) {
  const std::string spaces(static_cast<std::size_t>(indent), ' ');
  std::vector<std::string> lines = wrapped_lines(text, width, display_width, spaces);
  for (std::string& line : lines)
    if (const auto word = line.find_first_not_of(' '); word != line.npos && display_width(line) > width)
      line.replace(word, line.npos,
                   truncate_middle(line.substr(word), std::max(8, width - static_cast<int>(word))));
  return lines;
}

std::string explore_listing(const GraphView& view, const Selection& selection, Format format,
                            const TextOptions& options) {
  if (format == Format::kText) return side_by_side(view, selection, options);
  const auto sections = [&] {
    return std::vector<Section>{{title(view, selection, options), nodes_table(view, selection.nodes)}};
  };
  return explore_report(view, format, options, {.nodes = selection.nodes, .sections = sections});
}

}  // namespace opscope
