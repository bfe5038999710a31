// The module tree in a terminal: a line for each level, each module as wide as its share.
#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/core/document.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"

namespace opscope {
namespace {

std::string label(const IcicleSlice& slice, int room) {
  std::string text = slice.name;
  if (slice.folded > 1) text += " x" + std::to_string(slice.folded);
  const std::string share = format_percent(slice.share, 1.0);
  if (display_width(text) + 1 + display_width(share) <= room) return text + " " + share;
  return display_width(text) <= room ? text : room >= 3 ? truncate_middle(text, room) : "";
}

// One level; slices that are less than a column wide are left out.
std::string level_line(const IciclePlot& plot, std::uint32_t depth, int width, bool color) {
  std::string line;
  int used = 0;
  for (const IcicleSlice& slice : plot.slices) {
    if (slice.depth != depth) continue;
    const int begin = static_cast<int>(std::lround(slice.begin * width));
    const int end = static_cast<int>(std::lround((slice.begin + slice.share) * width));
    if (end <= begin || begin < used) continue;
    line += std::string(static_cast<std::size_t>(begin - used), ' ');
    const std::string text = pad_right(label(slice, end - begin - 1), end - begin - 1);
    const std::string block = "▏" + text;
    line += slice.category ? painted_behind(block, color_of(*slice.category), color) : block;
    used = end;
  }
  while (line.ends_with(' ')) line.pop_back();
  return line + "\n";
}

Table leaves_table(const IciclePlot& plot, std::size_t top) {
  std::vector<const IcicleSlice*> leaves;
  for (const IcicleSlice& slice : plot.slices)
    if (slice.category) leaves.push_back(&slice);
  std::ranges::stable_sort(leaves, std::ranges::greater{}, [](const IcicleSlice* s) { return s->value; });
  const std::string what(plot.metric->words);
  Table table{{{"Most " + what, Align::kLeft, 16, false, 30},
               {"", Align::kLeft},
               {"Type", Align::kLeft, 8, true},
               {what},
               {"%"},
               {"", Align::kLeft}},
              {}};
  for (std::size_t i = 0; i < std::min(top, leaves.size()); ++i) {
    const IcicleSlice& leaf = *leaves[i];
    table.rows.push_back({{leaf.path.empty() ? leaf.name : leaf.path},
                          {leaf.repeat > 1 ? "x" + std::to_string(leaf.repeat) : ""},
                          {std::string(leaf.type)},
                          {value_text(*plot.metric, leaf.value)},
                          {format_percent(leaf.share, 1.0)},
                          bar_cell(leaf.share / leaves[0]->share, Style::kGood)});
  }
  return table;
}

}  // namespace

std::string icicle_text(const Profile& profile, const IciclePlot& plot, const TextOptions& options,
                        PlotKind kind) {
  std::string out = text_head(profile,
                              model_name(*profile.graph) + ": " + std::string(plot.metric->words) +
                                  " by module, " + value_text(*plot.metric, plot.total) + " in all",
                              options);
  for (std::uint32_t level = 0; level <= plot.depth; ++level) {
    const std::uint32_t depth = kind == PlotKind::kFlame ? plot.depth - level : level;
    const std::string line = level_line(plot, depth, options.width, options.color);
    if (line != "\n") out += line;
  }
  out += "\n";
  return out + text_table(leaves_table(plot, static_cast<std::size_t>(options.top)), options);
}

}  // namespace opscope
