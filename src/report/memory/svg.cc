// The timeline as a picture: stacked areas by kind over the ops, phases behind them, module calls below.
// Weights are drawn to scale where they leave room for the rest, and as a strip of their own where not.
#include "report/svg/svg.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/memory/report.h"
#include "report/svg/axis.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

constexpr double kWidth = 960;
constexpr Box kPlot{84, 100, 852, 262};
constexpr double kStrip = 20;  // a strip below the plot: weights, modules
constexpr Font kTitle{.size = 16, .bold = true}, kText{.size = 11}, kSmall{.size = 10};
constexpr double kScaleUpTo = 0.6;  // weights' share of the peak up to which they are drawn to scale

bool is_drawn_to_scale(const MemoryReport& report) {
  const auto total = static_cast<double>(report.timeline().peak_memory_bytes());
  return static_cast<double>(report.timeline().weights) <= kScaleUpTo * total;
}

struct Picture {
  const MemoryReport& report;
  const Graph& graph = report.graph();
  bool is_to_scale = is_drawn_to_scale(report);
  double bottom = kPlot.bottom() + kStrip * (is_to_scale ? 1 : 2);
  Svg svg{kWidth, bottom + 56, "memory over time of " + model_name(graph)};
  std::vector<MemoryKind> kinds = kinds_in_use(report);
  // By column.
  std::vector<OpId> ops =
      column_ops(report, std::min(graph.ops.size(), static_cast<std::size_t>(kPlot.width)));
  double most =
      static_cast<double>(is_to_scale ? report.timeline().peak_memory_bytes() : report.timeline().peak);
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

std::string memory_svg(const MemoryReport& report) {
  if (!report.graph().ops.empty()) return Picture{report}.draw();
  Svg svg(kWidth, 80, "memory over time of " + model_name(report.graph()));
  svg.text({24, 44}, model_name(report.graph()) + ": no op ran", {.font = kTitle});
  return svg.document();
}

}  // namespace opscope
