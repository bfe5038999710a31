// Costs by op type: two panels of bars beside each other, FLOPs and bytes, on one scale of shares.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/core/document.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"

namespace opscope {
namespace {

constexpr Font kRowFont{.size = 11}, kValueFont{.size = 10};
constexpr double kTop = 86, kRow = 24, kBar = 14;
constexpr double kValueRoom = 108;  // behind the longest bar: "99.7%  3.63G"

struct Bar {
  std::string label;
  std::string_view color;
  const Metrics& metrics;
};

std::vector<Bar> bars_of(const TypesPlot& plot) {
  std::vector<Bar> bars;
  for (const TypeRow& row : plot.rows) bars.push_back({row.type, color_of(row.category), row.metrics});
  if (plot.others) bars.push_back({plural(plot.others, "other type"), kGrid, plot.rest});
  return bars;
}

struct TypesDrawing {
  const TypesPlot& plot;
  std::string title;
  double width;
  std::vector<Bar> bars = bars_of(plot);
  double height = kRow * static_cast<double>(bars.size());
  Svg svg{width, kTop + height + 84, title};

  std::string draw(const Profile& profile) {
    draw_title(svg, title, model_line(profile));
    const double left = kMargin + label_width() + 12, gap = 26;
    const double panel = (width - left - kMargin - gap) / 2;
    const Metric& metric = plot.beside_bytes();
    draw_panel(metric, fmt::format("share of {}", metric.words), {left, kTop, panel, height});
    draw_panel(metric_at("memory_bytes"), "share of bytes moved", {left + panel + gap, kTop, panel, height});
    for (std::size_t i = 0; i < bars.size(); ++i) draw_row_label(bars[i], left - 12, center_of(i));
    std::vector<Category> categories;
    for (const TypeRow& row : plot.rows) categories.push_back(row.category);
    draw_legend_row(svg, {kMargin, svg.height() - 24}, groups_of(categories));
    return svg.document();
  }

  static std::string row_label(const Bar& bar) { return fitted(bar.label, 190, kRowFont); }
  static std::string ops_label(const Bar& bar) { return fmt::format(" \u00d7{}", bar.metrics.ops); }
  double center_of(std::size_t row) const { return kTop + kRow * (static_cast<double>(row) + 0.5); }

  double label_width() const {
    double widest = 0;
    for (const Bar& bar : bars)
      widest =
          std::max(widest, text_width(row_label(bar), kRowFont) + text_width(ops_label(bar), kValueFont));
    return widest;
  }

  void draw_row_label(const Bar& bar, double right, double y) {
    const std::string ops = ops_label(bar);
    svg.text({right - text_width(ops, kValueFont), y}, row_label(bar),
             {.font = kRowFont, .anchor = Anchor::kEnd, .centred = true});
    svg.text({right, y}, ops,
             {.font = kValueFont, .color = kQuietInk, .anchor = Anchor::kEnd, .centred = true});
  }

  void draw_panel(const Metric& metric, const std::string& axis_title, const Box& box) {
    const Count total = plotted_count(metric, plot.totals);
    double most = 0;
    for (const Bar& bar : bars) most = std::max(most, share_of(plotted_count(metric, bar.metrics), total));
    const Axis axis = linear_axis(most, box.x, box.right() - kValueRoom, Unit::kShare, 4);
    svg.text({box.x, 76}, heading(metric) + ", " + value_text(metric, total) + " in all",
             {.font = {.size = 11, .bold = true}});
    draw_x_axis(svg, axis, {box.x, box.y, box.width - kValueRoom, box.height}, axis_title);
    svg.line({box.x, box.y}, {box.x, box.bottom()}, {.stroke = kAxis});
    for (std::size_t i = 0; i < bars.size(); ++i) draw_bar(bars[i], metric, total, axis, center_of(i));
  }

  void draw_bar(const Bar& bar, const Metric& metric, Count total, const Axis& axis, double y) {
    const Count amount = plotted_count(metric, bar.metrics);
    const double end = axis.at(share_of(amount, total));
    const std::string exact = value_text(metric, amount), percent = format_percent(amount, total);
    TextStyle style{.font = kValueFont, .centred = true, .halo = kPaper};
    if (!amount) return svg.text({end + 6, y}, "\u2013", style);
    svg.rect({axis.from, y - kBar / 2, std::max(end - axis.from, 0.8), kBar},
             {.fill = bar.color, .stroke = bar.color == kGrid ? kAxis : "", .stroke_width = 0.6}, 1,
             bar.label + ": " + percent + ", " + exact);
    svg.text({end + 6, y}, percent, style);
    style.color = kQuietInk;
    svg.text({end + 6 + text_width(percent, kValueFont) + 7, y}, exact, style);
  }
};

}  // namespace

std::string types_svg(const Profile& profile, const TypesPlot& plot, const PlotSize& size) {
  return TypesDrawing{plot, model_name(*profile.graph) + ": cost by op type", size.width}.draw(profile);
}

}  // namespace opscope
