// The module tree as slices, each as long as its share, and costs by op type as bars. As an icicle depth goes
// from left to right, so that names run along their slices; as a flame graph each module stands on the one
// that called it, so that the widest tips are where the time goes.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/text.h"
#include "report/core/document.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"

namespace opscope {
namespace {

constexpr Font kNameFont{.size = 10.5}, kStrongFont{.size = 10.5, .bold = true}, kShareFont{.size = 9.5};
constexpr double kTop = 66, kBottom = 62;

// Numbers alone say little: "0..11 ×12 BertLayer".
std::string label(const IcicleSlice& slice) {
  const bool numbers = slice.name.find_first_not_of("0123456789.") == std::string::npos;
  return slice.name + repeat_text(slice.folded) + (numbers ? " " + std::string(slice.type) : "");
}

constexpr std::string_view kOutsideFill = "#4b5563";

std::string outside_note(const IciclePlot& plot) {
  const bool has = std::ranges::any_of(plot.slices, &IcicleSlice::is_outside);
  return has ? " Dark grey: no op runs; Python and dispatch." : "";
}

std::string fill_of(const IcicleSlice& slice) {
  if (slice.is_outside) return std::string(kOutsideFill);
  return std::string(slice.category ? color_of(*slice.category) : slice.depth % 2 ? "#e3e7ee" : "#eceff3");
}

// What a browser shows over a slice: its path and type, its amount and share.
std::string tooltip(const IciclePlot& plot, const IcicleSlice& slice) {
  return fmt::format("{}{}\n{}, {}{}", slice.path.empty() ? slice.name : slice.path,
                     slice.type == slice.name ? "" : fmt::format(" ({})", slice.type),
                     amount_text(*plot.metric, slice.value), format_percent(slice.share, 1.0),
                     slice.repeat > 1 ? fmt::format("\n{} equal blocks together", slice.repeat) : "");
}

Svg titled(const Profile& profile, const IciclePlot& plot, double width, double height) {
  const std::string title = fmt::format("{}: {} by module", model_name(*profile.graph), plot.metric->words);
  Svg svg(width, height, title);
  draw_title(svg, title, model_line(profile));
  return svg;
}

// The colours of slices that are at least `least` of `length`, and what lengths mean.
std::string finished(Svg& svg, const IciclePlot& plot, const Box& box, double length, double least,
                     const std::string& note) {
  std::vector<Category> categories;
  for (const IcicleSlice& slice : plot.slices)
    if (slice.category && slice.share * length >= least) categories.push_back(*slice.category);
  draw_legend_row(svg, {box.x, box.bottom() + 16}, groups_of(categories));
  svg.text({box.x, svg.height() - 14}, note, {.font = {.size = 9.5}, .color = kQuietInk});
  return svg.document();
}

struct Icicle {
  static constexpr double kLeastKeyed = 1.2;  // colours of thinner ones are not in the legend
  static constexpr double kLeastDrawn = 0.4;  // thinner slices are left out: a hairline tells nothing
  static constexpr double kNameHeight = 12.5, kSmallHeight = 9.5, kTwoLines = 27;
  static constexpr double kStrip = 12, kWidest = 220;  // of columns

  const IciclePlot& plot;
  Svg svg;
  Box box{kMargin, kTop, svg.width() - 2 * kMargin, svg.height() - kTop - kBottom};
  std::vector<double> columns{};  // left edges by depth, then the right edge

  // Taller where there are many slices, so that more of them can be named.
  static double height_for(const IciclePlot& plot) {
    const auto named = std::ranges::count_if(
        plot.slices, [](const IcicleSlice& s) { return s.category && s.share >= 0.01; });
    return std::clamp(kTop + kBottom + 20.0 * static_cast<double>(named), kPlotHeight, 2 * kPlotHeight);
  }

  std::string draw() {
    make_columns();
    for (const IcicleSlice& slice : plot.slices) draw_slice(slice);
    return finished(svg, plot, box, box.height, kLeastKeyed,
                    "Height: share of " + amount_text(*plot.metric, plot.total) +
                        ". Depth from left to right; grey modules have others below them." +
                        outside_note(plot));
  }

  // As wide as the names of its level need, within reason; what is left goes to all that have names. A level
  // too thin for any name is a strip.
  void make_columns() {
    std::vector<double> wanted(plot.depth + 1, kStrip);
    for (const IcicleSlice& slice : plot.slices)
      if (slice.share * box.height >= kSmallHeight)
        wanted[slice.depth] =
            std::max(wanted[slice.depth], std::min(text_width(label(slice), kStrongFont) + 58, kWidest));
    const double sum = std::accumulate(wanted.begin(), wanted.end(), 0.0);
    const auto named = std::ranges::count_if(wanted, [](double width) { return width > kStrip; });
    const double scale = sum > box.width ? box.width / sum : 1;
    const double more = sum < box.width && named ? (box.width - sum) / static_cast<double>(named) : 0;
    double x = box.x;
    for (const double width : wanted) {
      columns.push_back(x);
      x += width * scale + (width > kStrip ? more : 0);
    }
    columns.push_back(box.right());
  }

  // Ends at the same pixel as the next begins, however many there are.
  void draw_slice(const IcicleSlice& slice) {
    const double x = columns[slice.depth];
    const Box place{x, box.y + slice.begin * box.height, columns[slice.depth + 1] - x,
                    slice.share * box.height};
    if (place.height < kLeastDrawn) return;
    const std::string fill = fill_of(slice);
    svg.rect(place, {.fill = fill, .stroke = kPaper, .stroke_width = std::min(1.0, place.height / 4)}, 0,
             tooltip(plot, slice));
    if (place.height >= kSmallHeight) draw_text(slice, place, ink_on(fill));
  }

  void draw_text(const IcicleSlice& slice, const Box& place, std::string_view ink) {
    const double smaller = place.height < kNameHeight ? 0.8 : 1;
    const std::string share = format_percent(slice.share, 1.0);
    const double room = place.width - 10, share_width = text_width(share, kShareFont);
    Font font = slice.category ? kNameFont : kStrongFont, share_font = kShareFont;
    font.size *= smaller, share_font.size *= smaller;
    const bool stacked = place.height >= kTwoLines && text_width(label(slice), font) > room - share_width - 8;
    const std::string name = fitted_middle(label(slice), stacked ? room : room - share_width - 8, font);
    if (name.empty()) return;
    const double middle = place.center().y;
    TextStyle style{.font = font, .color = ink, .centred = true};
    svg.text({place.x + 5, stacked ? middle - 6.5 : middle}, name, style);
    style.font = share_font, style.anchor = stacked ? Anchor::kStart : Anchor::kEnd;
    svg.text(stacked ? Point{place.x + 5, middle + 7} : Point{place.right() - 5, middle}, share, style);
  }
};

struct Flame {
  static constexpr double kWidth = 1200;
  static constexpr double kRow = 23, kGap = 1;  // of a level; white between neighbours
  static constexpr double kLeastDrawn = 0.5;    // narrower slices are left out: a hairline tells nothing
  static constexpr Font kUprightFont{.size = 8.5};
  static constexpr double kLongest = 110;  // of a name that stands on its tip

  const Profile& profile;
  const IciclePlot& plot;
  Box box{kMargin, kTop + room_above(), kWidth - 2 * kMargin, kRow*(plot.depth + 1.0)};
  Svg svg = titled(profile, plot, kWidth, box.bottom() + kBottom);

  std::string draw() {
    for (const IcicleSlice& slice : plot.slices) draw_slice(slice);
    return finished(svg, plot, box, box.width, 1,
                    "Width: share of " + amount_text(*plot.metric, plot.total) +
                        ", in the model's order. A box stands on the module that it is in; grey modules have "
                        "others above them." +
                        outside_note(plot));
  }

  // Above the highest level, for names that stand on tips.
  double room_above() const {
    double room = 0;
    for (const IcicleSlice& slice : plot.slices)
      if (stands_upright(slice))
        room = std::max(
            room, text_width(upright_label(slice), kUprightFont) + 8 - kRow * (plot.depth - slice.depth));
    return room;
  }
  // A tip too narrow for its name has it standing above, where nothing else is.
  bool stands_upright(const IcicleSlice& slice) const {
    const double room = slice.share * (kWidth - 2 * kMargin);
    return slice.category && room >= kUprightFont.size && text_width(label(slice), kNameFont) + 8 > room;
  }
  static std::string upright_label(const IcicleSlice& slice) {
    return fitted_middle(label(slice), kLongest, kUprightFont);
  }

  void draw_slice(const IcicleSlice& slice) {
    const Box place{box.x + slice.begin * box.width, box.bottom() - kRow * (slice.depth + 1.0),
                    slice.share * box.width, kRow};
    if (place.width < kLeastDrawn) return;
    const std::string fill = fill_of(slice);
    Box inner = place;
    inner.width -= place.width > 4 ? kGap : 0, inner.height -= kGap;
    svg.rect(inner, {.fill = fill}, place.width > 6 ? 1.5 : 0, tooltip(plot, slice));
    if (stands_upright(slice))
      svg.text({place.center().x + kUprightFont.size * 0.36, place.y - 4}, upright_label(slice),
               {.font = kUprightFont, .color = kQuietInk, .rotation = -90});
    else
      draw_name(slice, inner, ink_on(fill));
  }

  void draw_name(const IcicleSlice& slice, const Box& place, std::string_view ink) {
    const Font font = slice.category ? kNameFont : kStrongFont;
    const std::string name = label(slice), share = format_percent(slice.share, 1.0);
    const double room = place.width - 8, middle = place.center().y;
    const bool both = text_width(name, font) + 8 + text_width(share, kShareFont) <= room;
    const std::string shown = both ? name : fitted(name, room, font);
    svg.text({place.x + 4, middle}, shown, {.font = font, .color = ink, .centred = true});
    if (both)
      svg.text({place.right() - 4, middle}, share,
               {.font = kShareFont, .color = ink, .anchor = Anchor::kEnd, .centred = true});
  }
};

// Two panels of bars beside each other, FLOPs and bytes, on one scale of shares.
struct TypesDrawing {
  static constexpr Font kRowFont{.size = 11}, kValueFont{.size = 10};
  static constexpr double kPanelTop = 86, kRow = 24, kBar = 14;
  static constexpr double kValueRoom = 108;  // behind the longest bar: "99.7%  3.63G"

  const TypesPlot& plot;
  std::string title;
  std::vector<TypeBar> bars = bars_of(plot);
  double height = kRow * static_cast<double>(bars.size());
  Svg svg{kPlotWidth, kPanelTop + height + 84, title};

  std::string draw(const Profile& profile) {
    draw_title(svg, title, model_line(profile));
    const double left = kMargin + label_width() + 12, gap = 26;
    const double panel = (kPlotWidth - left - kMargin - gap) / 2;
    const Metric& metric = plot.beside_bytes();
    draw_panel(metric, fmt::format("share of {}", metric.words), {left, kPanelTop, panel, height});
    draw_panel(metric_at("memory_bytes"), "share of bytes moved",
               {left + panel + gap, kPanelTop, panel, height});
    for (std::size_t i = 0; i < bars.size(); ++i) draw_row_label(bars[i], left - 12, center_of(i));
    std::vector<Category> categories;
    for (const TypeRow& row : plot.rows) categories.push_back(row.category);
    draw_legend_row(svg, {kMargin, svg.height() - 24}, groups_of(categories));
    return svg.document();
  }

  static std::string row_label(const TypeBar& bar) { return fitted(bar.label, 190, kRowFont); }
  static std::string ops_label(const TypeBar& bar) { return fmt::format(" \u00d7{}", bar.metrics.ops); }
  double center_of(std::size_t row) const { return kPanelTop + kRow * (static_cast<double>(row) + 0.5); }

  double label_width() const {
    double widest = 0;
    for (const TypeBar& bar : bars)
      widest =
          std::max(widest, text_width(row_label(bar), kRowFont) + text_width(ops_label(bar), kValueFont));
    return widest;
  }

  void draw_row_label(const TypeBar& bar, double right, double y) {
    const std::string ops = ops_label(bar);
    svg.text({right - text_width(ops, kValueFont), y}, row_label(bar),
             {.font = kRowFont, .anchor = Anchor::kEnd, .centred = true});
    svg.text({right, y}, ops,
             {.font = kValueFont, .color = kQuietInk, .anchor = Anchor::kEnd, .centred = true});
  }

  void draw_panel(const Metric& metric, const std::string& axis_title, const Box& box) {
    const Count total = plotted_count(metric, plot.totals);
    double most = 0;
    for (const TypeBar& bar : bars) most = std::max(most, ratio(plotted_count(metric, bar.metrics), total));
    const Axis axis = linear_axis(most, box.x, box.right() - kValueRoom, Unit::kShare, 4);
    svg.text({box.x, 76}, heading(metric) + ", " + value_text(metric, total) + " in all",
             {.font = {.size = 11, .bold = true}});
    draw_x_axis(svg, axis, {box.x, box.y, box.width - kValueRoom, box.height}, axis_title);
    svg.line({box.x, box.y}, {box.x, box.bottom()}, {.stroke = kAxis});
    for (std::size_t i = 0; i < bars.size(); ++i) draw_bar(bars[i], metric, total, axis, center_of(i));
  }

  void draw_bar(const TypeBar& bar, const Metric& metric, Count total, const Axis& axis, double y) {
    const Count amount = plotted_count(metric, bar.metrics);
    const double end = axis.at(ratio(amount, total));
    const std::string exact = value_text(metric, amount), percent = format_percent(amount, total);
    TextStyle style{.font = kValueFont, .centred = true, .halo = kPaper};
    if (!amount) return svg.text({end + 6, y}, "\u2013", style);
    svg.rect({axis.from, y - kBar / 2, std::max(end - axis.from, 0.8), kBar},
             {.fill = bar.row ? color_of(bar.row->category) : kGrid,
              .stroke = bar.row ? "" : kAxis,
              .stroke_width = 0.6},
             1, bar.label + ": " + percent + ", " + exact);
    svg.text({end + 6, y}, percent, style);
    style.color = kQuietInk;
    svg.text({end + 6 + text_width(percent, kValueFont) + 7, y}, exact, style);
  }
};

}  // namespace

std::string icicle_svg(const Profile& profile, const IciclePlot& plot) {
  return Icicle{plot, titled(profile, plot, kPlotWidth, Icicle::height_for(plot))}.draw();
}

std::string flame_svg(const Profile& profile, const IciclePlot& plot) { return Flame{profile, plot}.draw(); }

std::string types_svg(const Profile& profile, const TypesPlot& plot) {
  return TypesDrawing{plot, model_name(*profile.graph) + ": cost by op type"}.draw(profile);
}

}  // namespace opscope
