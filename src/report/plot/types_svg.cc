// Costs by op type: two panels of bars beside each other, FLOPs and bytes, on one scale of shares.
#include <algorithm>

#include "base/text.h"
#include "report/core/document.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"
#include "report/svg/axis.h"

namespace opscope {
namespace {

constexpr Font kRowFont{.size = 11}, kValueFont{.size = 10};
constexpr double kRow = 24, kBar = 14;
constexpr double kValueRoom = 108;  // behind the longest bar: "99.7%  3.63G"

struct Bar {
  std::string label;
  std::string_view color;
  std::uint64_t ops = 0;
  Metrics metrics;
};

std::vector<Bar> bars_of(const TypesPlot& plot) {
  std::vector<Bar> bars;
  for (const TypeRow& row : plot.rows)
    bars.push_back({row.type, color_of(row.category), row.metrics.ops, row.metrics});
  if (plot.others) bars.push_back({plural(plot.others, "other type"), kGrid, plot.rest.ops, plot.rest});
  return bars;
}

struct Panel {
  std::string title;
  Box box;
  Axis axis{};
  bool bytes = false;
};

class TypesDrawing {
 public:
  TypesDrawing(const Profile& profile, const TypesPlot& plot, const PlotSize& size)
      : plot_(plot),
        bars_(bars_of(plot)),
        svg_(size.width, 86 + kRow * static_cast<double>(bars_.size()) + 84,
             model_name(*profile.graph) + ": cost by op type") {
    draw_title(svg_, model_name(*profile.graph) + ": cost by op type", model_line(profile));
  }

  std::string draw() {
    const double labels = label_width();
    const double left = kMargin + labels + 12, gap = 26;
    const double width = (svg_.width() - left - kMargin - gap) / 2;
    const double height = kRow * static_cast<double>(bars_.size());
    draw_panel(
        {.title = "share of " + std::string(plot_.beside_bytes().words), .box = {left, 86, width, height}});
    draw_panel(
        {.title = "share of bytes moved", .box = {left + width + gap, 86, width, height}, .bytes = true});
    for (std::size_t i = 0; i < bars_.size(); ++i) draw_row_label(bars_[i], left - 12, center_of(i));
    draw_colors();
    return svg_.document();
  }

 private:
  static std::string row_label(const Bar& bar) { return fitted(bar.label, 190, kRowFont); }
  static std::string ops_label(const Bar& bar) { return " \xc3\x97" + std::to_string(bar.ops); }
  double center_of(std::size_t row) const { return 86 + kRow * (static_cast<double>(row) + 0.5); }

  double label_width() const {
    double widest = 0;
    for (const Bar& bar : bars_)
      widest =
          std::max(widest, text_width(row_label(bar), kRowFont) + text_width(ops_label(bar), kValueFont));
    return widest;
  }

  void draw_row_label(const Bar& bar, double right, double y) {
    const std::string ops = ops_label(bar);
    svg_.text({right - text_width(ops, kValueFont), y}, row_label(bar),
              {.font = kRowFont, .anchor = Anchor::kEnd, .baseline = Baseline::kMiddle});
    svg_.text(
        {right, y}, ops,
        {.font = kValueFont, .color = kQuietInk, .anchor = Anchor::kEnd, .baseline = Baseline::kMiddle});
  }

  const Metric& metric(const Panel& panel) const {
    return panel.bytes ? metric_at("memory_bytes") : plot_.beside_bytes();
  }
  Count value(const Metrics& metrics, const Panel& panel) const {
    return plotted_count(metric(panel), metrics);
  }

  void draw_panel(Panel panel) {
    const Count total = value(plot_.totals, panel);
    double most = 0;
    for (const Bar& bar : bars_) most = std::max(most, share(bar, panel, total));
    panel.axis = linear_axis(most, panel.box.x, panel.box.right() - kValueRoom, Unit::kShare, 4);
    Box axis_box = panel.box;
    axis_box.width -= kValueRoom;
    svg_.text({panel.box.x, 76}, heading(metric(panel)) + ", " + value_text(metric(panel), total) + " in all",
              {.font = {.size = 11, .bold = true}});
    draw_x_axis(svg_, panel.axis, axis_box, panel.title);
    svg_.line({panel.box.x, panel.box.y}, {panel.box.x, panel.box.bottom()}, {.stroke = kAxis});
    for (std::size_t i = 0; i < bars_.size(); ++i) draw_bar(bars_[i], panel, total, center_of(i));
  }

  double share(const Bar& bar, const Panel& panel, Count total) const {
    return total ? static_cast<double>(value(bar.metrics, panel)) / static_cast<double>(total) : 0;
  }

  void draw_bar(const Bar& bar, const Panel& panel, Count total, double y) {
    const Count amount = value(bar.metrics, panel);
    const double end = panel.axis.at(share(bar, panel, total));
    const std::string exact = value_text(metric(panel), amount);
    const std::string percent = format_percent(amount, total);
    if (amount)
      svg_.rect({panel.box.x, y - kBar / 2, std::max(end - panel.box.x, 0.8), kBar},
                {.fill = bar.color, .stroke = bar.color == kGrid ? kAxis : "", .stroke_width = 0.6}, 1,
                bar.label + ": " + percent + ", " + exact);
    const TextStyle strong{.font = kValueFont, .baseline = Baseline::kMiddle, .halo = kPaper},
        quiet{.font = kValueFont, .color = kQuietInk, .baseline = Baseline::kMiddle, .halo = kPaper};
    svg_.text({end + 6, y}, amount ? percent : "\xe2\x80\x93", strong);
    if (amount) svg_.text({end + 6 + text_width(percent, kValueFont) + 7, y}, exact, quiet);
  }

  void draw_colors() {
    std::vector<Category> categories;
    for (const TypeRow& row : plot_.rows) categories.push_back(row.category);
    draw_legend_row(svg_, {kMargin, svg_.height() - 24}, groups_of(categories));
  }

  const TypesPlot& plot_;
  std::vector<Bar> bars_;
  Svg svg_;
};

}  // namespace

std::string types_svg(const Profile& profile, const TypesPlot& plot, const PlotSize& size) {
  return TypesDrawing(profile, plot, size).draw();
}

}  // namespace opscope
