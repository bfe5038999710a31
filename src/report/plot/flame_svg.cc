// The module tree as a flame graph: the model at the bottom, each module as wide as its share on top of the
// one that called it, so that the widest tips are where the time goes.
#include <algorithm>

#include "base/text.h"
#include "report/core/document.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"

namespace opscope {
namespace {

constexpr double kTop = 66, kBottom = 62;
constexpr double kRow = 23, kGap = 1;  // of a level; white between neighbours
constexpr double kLeastDrawn = 0.5;    // narrower slices are left out: a hairline tells nothing
constexpr Font kNameFont{.size = 10.5}, kStrongFont{.size = 10.5, .bold = true}, kShareFont{.size = 9.5};
constexpr Font kUprightFont{.size = 8.5};
constexpr double kLongest = 110;  // of a name that stands on its tip

// Numbers alone say little: "0 Bottleneck".
std::string label(const IcicleSlice& slice) {
  std::string text = slice.name;
  if (slice.folded > 1) text += " \xc3\x97" + std::to_string(slice.folded);
  const bool numbers = slice.name.find_first_not_of("0123456789.") == std::string::npos;
  return numbers ? text + " " + std::string(slice.type) : text;
}

// A tip too narrow for its name has it standing above, where nothing else is.
bool stands_upright(const IcicleSlice& slice, double width) {
  const double room = slice.share * width;
  return slice.category && room >= kUprightFont.size && text_width(label(slice), kNameFont) + 8 > room;
}

std::string upright_label(const IcicleSlice& slice) {
  return fitted_middle(label(slice), kLongest, kUprightFont);
}

// Above the highest level, for names that stand on tips.
double room_above(const IciclePlot& plot, double width) {
  double room = 0;
  for (const IcicleSlice& slice : plot.slices)
    if (stands_upright(slice, width))
      room = std::max(room,
                      text_width(upright_label(slice), kUprightFont) + 8 - kRow * (plot.depth - slice.depth));
  return room;
}

class FlameDrawing {
 public:
  FlameDrawing(const Profile& profile, const IciclePlot& plot, const PlotSize& size)
      : plot_(plot),
        title_(model_name(*profile.graph) + ": " + std::string(plot.metric->words) + " by module"),
        box_{kMargin, kTop + room_above(plot, size.width - 2 * kMargin), size.width - 2 * kMargin,
             kRow * (plot.depth + 1.0)},
        svg_(size.width, box_.bottom() + kBottom, title_) {
    draw_title(svg_, title_, model_line(profile));
  }

  std::string draw() {
    for (const IcicleSlice& slice : plot_.slices) draw_slice(slice);
    draw_notes();
    return svg_.document();
  }

 private:
  Box box_of(const IcicleSlice& slice) const {
    return {box_.x + slice.begin * box_.width, box_.bottom() - kRow * (slice.depth + 1.0),
            slice.share * box_.width, kRow};
  }
  void draw_slice(const IcicleSlice& slice) {
    Box box = box_of(slice);
    if (box.width < kLeastDrawn) return;
    const std::string fill = slice.category    ? std::string(color_of(*slice.category))
                             : slice.depth % 2 ? "#e3e7ee"
                                               : "#eceff3";
    Box inner = box;
    inner.width -= box.width > 4 ? kGap : 0, inner.height -= kGap;
    svg_.rect(inner, {.fill = fill}, box.width > 6 ? 1.5 : 0, slice_tooltip(plot_, slice));
    if (stands_upright(slice, box_.width))
      svg_.text({box.center().x + kUprightFont.size * 0.36, box.y - 4}, upright_label(slice),
                {.font = kUprightFont, .color = kQuietInk, .rotation = -90});
    else
      draw_name(slice, inner, ink_on(fill));
  }

  void draw_name(const IcicleSlice& slice, const Box& box, std::string_view ink) {
    const Font font = slice.category ? kNameFont : kStrongFont;
    const std::string name = label(slice), share = format_percent(slice.share, 1.0);
    const double room = box.width - 8, share_width = text_width(share, kShareFont);
    const bool both = text_width(name, font) + 8 + share_width <= room;
    const double middle = box.center().y;
    const std::string shown = both ? name : fitted(name, room, font);
    if (shown.empty()) return;
    svg_.text({box.x + 4, middle}, shown, {.font = font, .color = ink, .baseline = Baseline::kMiddle});
    if (both)
      svg_.text({box.right() - 4, middle}, share,
                {.font = kShareFont, .color = ink, .anchor = Anchor::kEnd, .baseline = Baseline::kMiddle});
  }

  void draw_notes() {
    std::vector<Category> categories;
    for (const IcicleSlice& slice : plot_.slices)
      if (slice.category && slice.share * box_.width >= 1) categories.push_back(*slice.category);
    draw_legend_row(svg_, {box_.x, box_.bottom() + 16}, groups_of(categories));
    const std::string note =
        "Width: share of " + amount_text(*plot_.metric, plot_.total) +
        ", in the model's order. A box stands on the module that it is in; grey modules have "
        "others above them.";
    svg_.text({box_.x, svg_.height() - 14}, note, {.font = {.size = 9.5}, .color = kQuietInk});
  }

  const IciclePlot& plot_;
  std::string title_;
  Box box_;
  Svg svg_;
};

}  // namespace

std::string flame_svg(const Profile& profile, const IciclePlot& plot, const PlotSize& size) {
  return FlameDrawing(profile, plot, size).draw();
}

}  // namespace opscope
