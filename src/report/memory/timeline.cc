// The timeline in characters and as a picture: areas over the ops, stacked by kind, the phases and the module
// calls. In characters the weights, which are there all the time, are left out; in the picture they are drawn
// to scale where they leave room for the rest, and as a strip of their own where not.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>

#include "base/terminal_text.h"
#include "base/text.h"
#include "graph/graph.h"
#include "report/memory/report.h"
#include "report/svg/axis.h"
#include "report/svg/colors.h"
#include "report/svg/svg.h"

namespace opscope {
namespace {

constexpr int kPlotRows = 12;
constexpr double kLongest = 0.4;  // of all ops: in one segment of the axis
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

// What runs when, for the axis under a timeline.
struct AxisSegment {
  OpId begin = 0, end = 0;  // ops of begin..end-1
  std::string label{};      // "layer1", "layer.3"; relative to the module around it
};

// Ops in a row, cut where the module call changes. A call of more than a share of them is shown by the calls
// inside it.
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
    const auto above =
        std::string(graph.path(graph.modules[graph.scopes[graph.scopes[scope].parent].module])) + ".";
    return printable(path.starts_with(above) ? path.substr(above.size()) : path);
  }
};

// The module calls that the ops belong to, as finely as there is room for.
std::vector<AxisSegment> axis_segments(const MemoryReport& report) {
  Segments segments{report.graph(), static_cast<double>(report.graph().ops.size()) * kLongest};
  for (const MemoryPhase& phase : report.phases) segments.split(phase.begin, phase.end, 1);
  return segments.found;
}

// The op that stands for each of `columns` equal stretches of the run: the one with the most in use.
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
      const int filled = static_cast<int>(std::lround(height(report.timeline().alive[op]))) - row * kEighths;
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
    const std::string label = truncate_middle("peak: " + printable(layer_name(*report.profile, peak)),
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
    for (const auto kind : kinds_in_use(report.splits)) {
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

constexpr double kWidth = 960;
constexpr Box kPlot{84, 100, 852, 262};
constexpr double kStrip = 20;  // a strip below the plot: weights, modules
constexpr Font kTitle{.size = 16, .bold = true}, kText{.size = 11}, kSmall{.size = 10};
constexpr double kScaleUpTo = 0.6;  // weights' share of the peak up to which they are drawn to scale

struct Picture {
  const MemoryReport& report;
  const Graph& graph = report.graph();
  const double weights = static_cast<double>(report.timeline().weights);
  const double total = static_cast<double>(report.timeline().peak_memory_bytes());
  bool is_to_scale = weights <= kScaleUpTo * total;
  double bottom = kPlot.bottom() + kStrip * (is_to_scale ? 1 : 2);
  Svg svg{kWidth, bottom + 56, "memory over time of " + model_name(graph)};
  std::vector<MemoryKind> kinds = kinds_in_use(report.splits);
  // By column.
  std::vector<OpId> ops =
      column_ops(report, std::min(graph.ops.size(), static_cast<std::size_t>(kPlot.width)));
  double most = is_to_scale ? total : static_cast<double>(report.timeline().peak);
  Axis y = linear_axis(std::max(most * 1.12, 1.0), kPlot.bottom(), kPlot.y, Unit::kBytes);
  Axis x{.low = 0,
         .high = std::max(1.0, static_cast<double>(graph.ops.size())),
         .from = kPlot.x,
         .to = kPlot.right()};

  std::string draw() {
    titles();
    legend();
    phases();
    const Box frame{kPlot.x, kPlot.y, kPlot.width, bottom - kPlot.y};
    draw_x_axis(svg, x, frame, "op, in the order of the run");
    draw_y_axis(svg, y, kPlot, is_to_scale ? "in use" : "in use, above the weights");
    areas();
    if (!is_to_scale) weights_strip();
    module_strip();
    peak();
    return svg.document();
  }

  void titles() {
    const auto& timeline = report.timeline();
    svg.text({24, 32}, fitted(model_name(graph) + ": memory over time", kWidth - 48, kTitle),
             {.font = kTitle});
    std::string words = "peak " + format_bytes(timeline.peak_memory_bytes());
    const auto split = split_text(timeline.at_peak);
    if (split.find('+') != std::string::npos) words += " = " + split;
    svg.text({24, 52}, fitted(words, kWidth - 48, kText), {.font = kText, .color = kQuietInk});
  }

  void legend() {
    double left = kPlot.x;
    for (const auto kind : kinds) {
      svg.rect({left, 70, 12, 12}, {.fill = color_of(kind)}, 2);
      svg.text({left + 17, 76}, title(kind), {.font = kText, .centred = true});
      left += 17 + text_width(title(kind), kText) + 18;
    }
  }

  void phases() {
    if (report.phases.size() < 2) return;
    for (std::size_t i = 0; i < report.phases.size(); ++i) {
      const auto& phase = report.phases[i];
      if (phase.begin >= phase.end) continue;
      const Box band{x.at(phase.begin), kPlot.y, x.at(phase.end) - x.at(phase.begin), kPlot.height};
      if (i % 2 == 0) svg.rect(band, {.fill = kPanel});
      const auto label = fitted(phase.name, band.width - 8, kSmall);
      svg.text({band.center().x, kPlot.y - 6}, label,
               {.font = kSmall, .color = kQuietInk, .anchor = Anchor::kMiddle});
    }
  }

  // The run in as many steps as there are columns; each kind above those before it.
  void areas() {
    std::vector<double> base(ops.size(), 0);
    for (const auto kind : kinds) {
      if (kind == MemoryKind::kWeights && !is_to_scale) continue;
      std::vector<double> top = base;
      for (std::size_t c = 0; c < ops.size(); ++c) top[c] += static_cast<double>(report.splits[ops[c]][kind]);
      svg.path(steps(base, top), {.fill = color_of(kind)}, title(kind));
      base = std::move(top);
    }
  }
  double column_x(std::size_t column) const {
    return kPlot.x + kPlot.width * static_cast<double>(column) / static_cast<double>(ops.size());
  }
  // Along the top from left to right, back along the base; equal neighbours are one step.
  std::string steps(const std::vector<double>& base, const std::vector<double>& top) const {
    std::string path = "M" + svg_number(kPlot.x) + " " + svg_number(y.at(base.front()));
    for (std::size_t c = 0; c < top.size(); ++c) {
      if (c > 0 && top[c] == top[c - 1]) continue;
      if (c > 0) path += "H" + svg_number(column_x(c));
      path += "V" + svg_number(y.at(top[c]));
    }
    path += "H" + svg_number(kPlot.right());
    for (std::size_t c = base.size(); c-- > 0;) {
      if (c + 1 < base.size() && base[c] == base[c + 1]) continue;
      if (c + 1 < base.size()) path += "H" + svg_number(column_x(c + 1));
      path += "V" + svg_number(y.at(base[c]));
    }
    return path + "Z";
  }

  void weights_strip() {
    const Box strip{kPlot.x, kPlot.bottom() + 2, kPlot.width, kStrip - 4};
    const auto color = color_of(MemoryKind::kWeights);
    svg.rect(strip, {.fill = color}, 2);
    svg.text({strip.center().x, strip.center().y},
             "weights " + format_bytes(report.timeline().weights) + ", all the time (not to scale)",
             {.font = kSmall, .color = ink_on(color), .anchor = Anchor::kMiddle, .centred = true});
  }

  void module_strip() {
    for (const auto& segment : axis_segments(report)) {
      const double from = x.at(segment.begin), to = x.at(segment.end);
      if (to - from < 2) continue;
      const Box box{from + 0.5, bottom - kStrip + 2, to - from - 1, kStrip - 4};
      svg.rect(box, {.fill = "#e4e7eb"}, 2, segment.label);
      auto label = fitted(segment.label, box.width - 4, kSmall);
      const auto dot = segment.label.rfind('.');
      if (label != segment.label && dot != std::string::npos)
        label = fitted(segment.label.substr(dot + 1), box.width - 4, kSmall);
      if (label.size() < 3 + std::string_view("…").size() && label.ends_with("…")) continue;
      svg.text({box.center().x, box.center().y}, label,
               {.font = kSmall, .anchor = Anchor::kMiddle, .centred = true});
    }
  }

  void peak() {
    const auto& timeline = report.timeline();
    if (timeline.peak_op == kNone) return;
    const Point at{(x.at(timeline.peak_op) + x.at(timeline.peak_op + 1)) / 2, y.at(most)};
    svg.line({at.x, at.y}, {at.x, kPlot.bottom()}, {.stroke = kInk, .stroke_width = 1, .dash = "3 3"});
    svg.circle(at, 3.5, {.fill = kInk, .stroke = kPaper, .stroke_width = 1.5});
    const std::string label =
        fitted_middle(fmt::format("peak {} at {} (op {})", format_bytes(timeline.peak_memory_bytes()),
                                  layer_name(*report.profile, timeline.peak_op), timeline.peak_op),
                      kPlot.width - 20, kText);
    const double half = text_width(label, kText) / 2;
    const Point above{std::clamp(at.x, kPlot.x + half + 6, kPlot.right() - half - 6), at.y - 10};
    const TextStyle style{.font = kText, .anchor = Anchor::kMiddle};
    svg.rect(text_box(above, label, style).inset(-2), {.fill = kPaper, .opacity = 0.85}, 3);
    svg.text(above, label, style);
  }
};

}  // namespace

std::vector<MemoryKind> kinds_in_use(std::span<const MemorySplit> splits) {
  std::vector<MemoryKind> kinds(std::begin(kStacking), std::end(kStacking));
  std::erase_if(kinds, [&](MemoryKind kind) {
    return std::ranges::none_of(splits, [&](const MemorySplit& split) { return bool(split[kind]); });
  });
  return kinds;
}

std::string memory_plot(const MemoryReport& report, const TextOptions& options) {
  return Plot{report, options}.text();
}

std::string memory_svg(const MemoryReport& report) {
  if (!report.graph().ops.empty()) return Picture{report}.draw();
  Svg svg(kWidth, 80, "memory over time of " + model_name(report.graph()));
  svg.text({24, 44}, model_name(report.graph()) + ": no op ran", {.font = kTitle});
  return svg.document();
}

}  // namespace opscope
