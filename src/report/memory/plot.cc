// The timeline in characters: a column for a stretch of ops, stacked by kind above the weights, which are
// there all the time; below it the phases and the module calls.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <span>

#include "base/text.h"
#include "graph/scopes.h"
#include "report/memory/report.h"

namespace opscope {
namespace {

constexpr int kPlotRows = 12;
constexpr int kEighths = 8;
constexpr int kLabelWidth = 9;  // "1234.5MB "
constexpr std::string_view kTops[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};

struct KindLook {
  std::string_view glyph;
  Style style;
};
// By kind.
constexpr std::array<KindLook, kMemoryKinds> kLooks{{{"█", Style::kGood},
                                                     {"▞", Style::kQuiet},
                                                     {"█", Style::kGood},
                                                     {"▚", Style::kWarning},
                                                     {"▓", Style::kWarning},
                                                     {"▒", Style::kStrong},
                                                     {"░", Style::kQuiet}}};
const KindLook& look_of(MemoryKind kind) { return kLooks[static_cast<std::size_t>(kind)]; }

// Ops in a row, cut where the module call changes.
struct Segments {
  const Graph& graph;
  double most;  // ops in one segment
  std::vector<std::uint32_t> depths = scope_depths(graph);
  std::vector<AxisSegment> found{};

  // The call at that depth which an op is in; kNone for an op of a call above.
  ScopeId ancestor(OpId op, std::uint32_t depth) const {
    ScopeId scope = graph.ops[op].scope;
    if (depths[scope] < depth) return kNone;
    while (depths[scope] > depth) scope = graph.scopes[scope].parent;
    return scope;
  }

  // An op between two calls joins the one before it.
  void split(OpId begin, OpId end, std::uint32_t depth) {
    for (OpId first = begin; first < end;) {
      ScopeId scope = ancestor(first, depth);
      OpId last = first + 1;
      for (; last < end; ++last) {
        const ScopeId next = ancestor(last, depth);
        if (scope == kNone) scope = next;
        if (next != kNone && next != scope) break;
      }
      if (scope != kNone && last - first > most && is_split(first, last, depth + 1))
        split(first, last, depth + 1);
      else
        found.push_back({first, last, scope == kNone ? "" : label_of(scope)});
      first = last;
    }
  }
  bool is_split(OpId begin, OpId end, std::uint32_t depth) const {
    std::set<ScopeId> calls;
    for (OpId op = begin; op < end && calls.size() < 2; ++op)
      if (const ScopeId scope = ancestor(op, depth); scope != kNone) calls.insert(scope);
    return calls.size() > 1;
  }

  std::string label_of(ScopeId scope) const {
    const auto path = graph.path(graph.modules[graph.scopes[scope].module]);
    const auto above = graph.path(graph.modules[graph.scopes[graph.scopes[scope].parent].module]);
    const bool is_below =
        !above.empty() && path.size() > above.size() && path.starts_with(above) && path[above.size()] == '.';
    return std::string(is_below ? path.substr(above.size() + 1) : path);
  }
};

struct Plot {
  const MemoryReport& report;
  const TextOptions& options;
  std::size_t columns = static_cast<std::size_t>(std::max(options.width, 40) - kLabelWidth - 2);
  std::vector<OpId> ops = column_ops(report, columns);  // by column
  std::string out{};

  std::string text() {
    if (ops.empty()) return "";
    for (int row = kPlotRows; row-- > 0;) line(row);
    out += std::string(kLabelWidth, ' ') + "└";
    for (std::size_t c = 0; c < columns; ++c) out += is_phase_start(c) ? "┴" : "─";
    out += '\n';
    peak_line();
    std::vector<AxisSegment> phases;
    for (const auto& phase : report.phases)
      phases.push_back({phase.begin, phase.end, std::string(phase.name)});
    if (phases.size() > 1) segments(phases, "│");
    segments(axis_segments(report), "╵");
    legend();
    return std::move(out);
  }

  // In eighths of a row.
  double height(Count bytes) const {
    const auto peak = static_cast<double>(report.timeline().peak);
    return peak == 0 ? 0 : static_cast<double>(bytes) / peak * kPlotRows * kEighths;
  }
  // The kind at a height in eighths, from the weights up.
  MemoryKind kind_at(OpId op, double eighths) const {
    double sum = 0;
    MemoryKind top = MemoryKind::kActivations;
    for (const auto kind : kStacking) {
      const Count bytes = report.splits[op][kind];
      if (kind == MemoryKind::kWeights || !bytes) continue;
      sum += height(bytes);
      top = kind;
      if (eighths < sum) break;
    }
    return top;
  }

  void line(int row) {
    const auto& timeline = report.timeline();
    std::string label;
    if (row == kPlotRows - 1) label = format_bytes(timeline.peak_memory_bytes());
    if (row == kPlotRows / 2 - 1) label = format_bytes(timeline.weights + timeline.peak / 2);
    if (row == 0) label = format_bytes(timeline.weights);
    out += paint(pad_left(label, kLabelWidth - 1), Style::kQuiet, options.color);
    out += label.empty() ? " │" : " ┤";
    cells(row);
    end_line(out);
  }
  // Equal looks are painted together.
  void cells(int row) {
    std::string run;
    Style style = Style::kPlain;
    const auto flush = [&](Style next) {
      if (!run.empty()) out += paint(run, style, options.color && style != Style::kPlain);
      run.clear();
      style = next;
    };
    for (const auto op : ops) {
      const int filled = static_cast<int>(height(report.timeline().alive[op]) + 0.5) - row * kEighths;
      const auto look = look_of(kind_at(op, row * kEighths + std::min(filled, kEighths) / 2.0));
      const Style next = filled > 0 ? look.style : Style::kPlain;
      if (next != style) flush(next);
      run += filled >= kEighths ? look.glyph : kTops[std::max(filled, 0)];
    }
    flush(Style::kPlain);
  }

  std::size_t column_of(OpId op) const {
    return std::min(columns - 1, static_cast<std::size_t>(op) * columns / report.graph().ops.size());
  }
  bool is_phase_start(std::size_t column) const {
    return std::ranges::any_of(report.phases, [&](const MemoryPhase& phase) {
      return phase.begin > 0 && phase.begin < phase.end && column_of(phase.begin) == column;
    });
  }

  void peak_line() {
    const OpId peak = report.timeline().peak_op;
    const auto found = std::ranges::find(ops, peak);
    const auto column = static_cast<std::size_t>(found == ops.end() ? 0 : found - ops.begin());
    const std::string label = truncate_middle(fmt::format("peak: {}", layer_name(*report.profile, peak)),
                                              static_cast<int>(columns) - 3);
    const auto width = static_cast<std::size_t>(display_width(label));
    const bool is_left = column + 2 + width > columns && column > width;
    const std::size_t before = is_left ? column - width - 1 : column;
    out += std::string(static_cast<std::size_t>(kLabelWidth) + 1 + before, ' ');
    out += paint(is_left ? label + " ▲" : "▲ " + label, Style::kStrong, options.color) + "\n";
  }

  // "layer.11" -> "11" where there is no room for more.
  static std::string short_label(const std::string& label, int room) {
    if (display_width(label) <= room) return label;
    const auto dot = label.rfind('.');
    if (dot != std::string::npos && static_cast<int>(label.size() - dot - 1) <= room)
      return label.substr(dot + 1);
    return room >= 4 ? truncate(label, room) : "";
  }
  void segments(const std::vector<AxisSegment>& all, std::string_view mark) {
    std::string line;
    std::size_t at = 0;
    bool has_labels = false;
    for (const auto& segment : all) {
      if (segment.begin >= segment.end) continue;
      const auto begin = column_of(segment.begin);
      const auto end = segment.end >= report.graph().ops.size() ? columns : column_of(segment.end);
      if (begin < at || end <= begin) continue;
      const int room = static_cast<int>(end - begin) - 2;
      const std::string label = short_label(segment.label, room);
      if (label.empty() && room < 1) continue;
      line += std::string(begin - at, ' ');
      line += std::string(mark) + label;
      at = begin + 1 + static_cast<std::size_t>(display_width(label));
      has_labels = has_labels || !label.empty();
    }
    if (!has_labels) return;
    out += std::string(kLabelWidth + 1, ' ') + paint(line, Style::kQuiet, options.color) + "\n";
  }

  // Kinds that do not fit are below the first ones.
  void legend() {
    const std::string indent(kLabelWidth + 1, ' ');
    const std::string words = "above " + format_bytes(report.timeline().weights) + " of weights:";
    out += indent + paint(words, Style::kQuiet, options.color);
    int used = display_width(indent + words);
    for (const auto kind : kinds_in_use(report)) {
      if (kind == MemoryKind::kWeights) continue;
      const auto look = look_of(kind);
      const int needed = 4 + display_width(title(kind));
      if (used + needed > options.width) {
        out += "\n" + indent.substr(2);
        used = static_cast<int>(indent.size()) - 2;
      }
      out += "  " + paint(look.glyph, look.style, options.color) + " " + std::string(title(kind));
      used += needed;
    }
    out += "\n";
  }
};

}  // namespace

std::string memory_plot(const MemoryReport& report, const TextOptions& options) {
  return Plot{report, options}.text();
}

std::vector<AxisSegment> axis_segments(const MemoryReport& report, double share) {
  Segments segments{report.graph(), static_cast<double>(report.graph().ops.size()) * share};
  for (const MemoryPhase& phase : report.phases) segments.split(phase.begin, phase.end, 1);
  return segments.found;
}

std::vector<OpId> column_ops(const MemoryReport& report, std::size_t columns) {
  const auto& alive = report.timeline().alive;
  std::vector<OpId> result;
  for (std::size_t c = 0; c < columns && !alive.empty(); ++c) {
    const auto first = c * alive.size() / columns;
    const auto end = std::max(first + 1, (c + 1) * alive.size() / columns);
    const auto some = std::span(alive).subspan(first, end - first);
    result.push_back(static_cast<OpId>(first) +
                     static_cast<OpId>(std::ranges::max_element(some) - some.begin()));
  }
  return result;
}

std::vector<MemoryKind> kinds_in_use(const MemoryReport& report) {
  std::vector<MemoryKind> kinds(std::begin(kStacking), std::end(kStacking));
  std::erase_if(kinds, [&](MemoryKind kind) {
    return std::ranges::none_of(report.splits, [&](const MemorySplit& split) { return bool(split[kind]); });
  });
  return kinds;
}

}  // namespace opscope
