// The module tree as nested slices, depth from left to right, so that names run along their slices.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"
#include "report/core/document.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"

namespace opscope {
namespace {

constexpr Font kNameFont{.size = 10.5}, kStrongFont{.size = 10.5, .bold = true}, kShareFont{.size = 9.5};
constexpr double kTop = 66, kBottom = 62;
constexpr double kLeastKeyed = 1.2;  // colours of thinner ones are not in the legend
constexpr double kLeastDrawn = 0.4;  // thinner slices are left out: a hairline tells nothing
constexpr double kNameHeight = 12.5, kSmallHeight = 9.5, kTwoLines = 27;
constexpr double kStrip = 12, kWidest = 220;  // of columns

// Taller where there are many slices, so that more of them can be named.
double height_for(const IciclePlot& plot, double least) {
  const auto named =
      std::ranges::count_if(plot.slices, [](const IcicleSlice& s) { return s.category && s.share >= 0.01; });
  return std::clamp(kTop + kBottom + 20.0 * static_cast<double>(named), least, 2 * least);
}

class IcicleDrawing {
 public:
  IcicleDrawing(const Profile& profile, const IciclePlot& plot, const PlotSize& size)
      : plot_(plot),
        svg_(size.width, height_for(plot, size.height),
             model_name(*profile.graph) + ": " + std::string(plot.metric->words) + " by module"),
        box_{kMargin, kTop, size.width - 2 * kMargin, svg_.height() - kTop - kBottom} {
    draw_title(svg_, model_name(*profile.graph) + ": " + std::string(plot.metric->words) + " by module",
               model_line(profile));
    make_columns();
  }

  std::string draw() {
    for (const IcicleSlice& slice : plot_.slices) draw_slice(slice);
    draw_notes();
    return svg_.document();
  }

 private:
  // As wide as the names of its level need, within reason; what is left goes to all that have names. A level
  // too thin for any name is a strip.
  void make_columns() {
    std::vector<double> wanted(plot_.depth + 1, kStrip);
    for (const IcicleSlice& slice : plot_.slices)
      if (slice.share * box_.height >= kSmallHeight)
        wanted[slice.depth] =
            std::max(wanted[slice.depth], std::min(text_width(label(slice), kStrongFont) + 58, kWidest));
    const double sum = std::accumulate(wanted.begin(), wanted.end(), 0.0);
    const auto named = std::ranges::count_if(wanted, [](double width) { return width > kStrip; });
    const double scale = sum > box_.width ? box_.width / sum : 1;
    const double more = sum < box_.width && named ? (box_.width - sum) / static_cast<double>(named) : 0;
    double x = box_.x;
    for (const double width : wanted) {
      columns_.push_back(x);
      x += width * scale + (width > kStrip ? more : 0);
    }
    columns_.push_back(box_.right());
  }

  // Numbers alone say little: "0..11 ×12 BertLayer".
  static std::string label(const IcicleSlice& slice) {
    std::string text = slice.name;
    if (slice.folded > 1) text += " \xc3\x97" + std::to_string(slice.folded);
    const bool numbers = slice.name.find_first_not_of("0123456789.") == std::string::npos;
    return numbers ? text + " " + std::string(slice.type) : text;
  }

  // Ends at the same pixel as the next begins, however many there are.
  Box box_of(const IcicleSlice& slice) const {
    const double x = columns_[slice.depth], y = box_.y + slice.begin * box_.height;
    return {x, y, columns_[slice.depth + 1] - x, slice.share * box_.height};
  }

  void draw_slice(const IcicleSlice& slice) {
    Box box = box_of(slice);
    if (box.height < kLeastDrawn) return;
    const std::string fill =
        slice.category ? std::string(color_of(*slice.category)) : module_color(slice.depth);
    svg_.rect(box, {.fill = fill, .stroke = kPaper, .stroke_width = box.height > 4 ? 1 : box.height / 4}, 0,
              slice_tooltip(plot_, slice));
    draw_text(slice, box, ink_on(fill));
  }

  static std::string module_color(std::uint32_t depth) { return depth % 2 ? "#e3e7ee" : "#eceff3"; }

  void draw_text(const IcicleSlice& slice, const Box& box, std::string_view ink) {
    if (box.height < kSmallHeight) return;
    const double smaller = box.height < kNameHeight ? 0.8 : 1;
    const std::string share = format_percent(slice.share, 1.0);
    const double room = box.width - 10, share_width = text_width(share, kShareFont);
    Font font = slice.category ? kNameFont : kStrongFont, share_font = kShareFont;
    font.size *= smaller, share_font.size *= smaller;
    const bool stacked = box.height >= kTwoLines && text_width(label(slice), font) > room - share_width - 8;
    const std::string name = fitted_middle(label(slice), stacked ? room : room - share_width - 8, font);
    if (name.empty()) return;
    const double middle = box.center().y;
    const TextStyle quiet{.font = share_font,
                          .color = ink,
                          .anchor = stacked ? Anchor::kStart : Anchor::kEnd,
                          .baseline = Baseline::kMiddle};
    svg_.text({box.x + 5, stacked ? middle - 6.5 : middle}, name,
              {.font = font, .color = ink, .baseline = Baseline::kMiddle});
    if (stacked)
      svg_.text({box.x + 5, middle + 7}, share, quiet);
    else
      svg_.text({box.right() - 5, middle}, share, quiet);
  }

  void draw_notes() {
    std::vector<Category> categories;
    for (const IcicleSlice& slice : plot_.slices)
      if (slice.category && slice.share * box_.height >= kLeastKeyed) categories.push_back(*slice.category);
    draw_legend_row(svg_, {box_.x, box_.bottom() + 16}, groups_of(categories));
    const std::string note = "Height: share of " + amount_text(*plot_.metric, plot_.total) +
                             ". Depth from left to right; grey modules have others below them.";
    svg_.text({box_.x, svg_.height() - 14}, note, {.font = {.size = 9.5}, .color = kQuietInk});
  }

  const IciclePlot& plot_;
  Svg svg_;
  Box box_;
  std::vector<double> columns_;  // left edges by depth, then the right edge
};

}  // namespace

std::string icicle_svg(const Profile& profile, const IciclePlot& plot, const PlotSize& size) {
  return IcicleDrawing(profile, plot, size).draw();
}

}  // namespace opscope
