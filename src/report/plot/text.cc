// Op types and the roofline in characters.
#include "base/text.h"

#include <algorithm>
#include <cmath>

#include "report/core/document.h"
#include "report/memory/report.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"
#include "report/svg/axis.h"

namespace opscope {
namespace {

constexpr int kGridRows = 16;
constexpr int kAxisRoom = 7;  // for "100G ┤"

std::string as_line(const std::string& text, const TextOptions& options, Style style = Style::kQuiet) {
  return paint(indented(text, options.width, 0), style, options.color) + "\n";
}

// A scatter of characters; of points that share a place the one with most time is seen.
class CharacterGrid {
 public:
  CharacterGrid(const RooflinePlot& plot, int columns)
      : plot_(plot), columns_(columns), cells_(static_cast<std::size_t>(columns * kGridRows)) {
    double low_x = plot.roof.ridge, high_x = plot.roof.ridge, low_y = 1e300, high_y = 0;
    for (const RooflinePoint& point : plot.points) {
      if (point.intensity == 0) continue;
      const auto flops = static_cast<double>(point.flops);
      low_x = std::min(low_x, point.intensity), high_x = std::max(high_x, point.intensity);
      low_y = std::min(low_y, flops), high_y = std::max(high_y, flops);
    }
    if (high_y == 0) low_y = high_y = 1;
    x_ = log_axis(low_x, high_x, 0, columns - 1, Unit::kPlain);
    y_ = log_axis(low_y, high_y, kGridRows - 1, 0, Unit::kCount);
    for (const RooflinePoint& point : plot.points)
      if (point.intensity > 0) put(point);
  }

  std::string draw(bool color) const {
    std::string out;
    const auto labels = row_labels();
    for (int row = 0; row < kGridRows; ++row) {
      out += pad_left(labels[static_cast<std::size_t>(row)], kAxisRoom - 2) +
             (labels[static_cast<std::size_t>(row)].empty() ? " │" : " ┤");
      std::string line;
      for (int column = 0; column < columns_; ++column) line += cell_text(row, column, color);
      while (line.ends_with(' ')) line.pop_back();
      out += line + "\n";
    }
    return out + bottom();
  }

 private:
  struct GridCell {
    const RooflinePoint* point = nullptr;
  };

  int ridge_column() const { return static_cast<int>(std::lround(x_.at(plot_.roof.ridge))); }

  // Points come by time: the first in a cell has the most.
  void put(const RooflinePoint& point) {
    const auto column = std::lround(x_.at(point.intensity));
    const auto row = std::lround(y_.at(static_cast<double>(point.flops)));
    GridCell& cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
    if (!cell.point) cell.point = &point;
  }

  std::string cell_text(int row, int column, bool color) const {
    const GridCell& cell = cells_[static_cast<std::size_t>(row * columns_ + column)];
    if (!cell.point) return column == ridge_column() ? paint("│", Style::kQuiet, color) : " ";
    const double share = cell.point->time_share;
    return painted(share >= 0.05 ? "●" : share >= 0.01 ? "•" : "·", color_of(cell.point->category), color);
  }

  std::vector<std::string> row_labels() const {
    std::vector<std::string> labels(kGridRows);
    for (const Tick& tick : y_.ticks(4))
      if (!tick.label.empty()) labels[static_cast<std::size_t>(std::lround(y_.at(tick.value)))] = tick.label;
    return labels;
  }

  std::string bottom() const {
    std::string axis, labels;
    int used = 0;
    for (int column = 0; column < columns_; ++column) axis += "─";
    for (const Tick& tick : x_.ticks(columns_ / 14)) {
      const int at = static_cast<int>(std::lround(x_.at(tick.value))) - display_width(tick.label) / 2;
      if (tick.label.empty() || at < used || at + display_width(tick.label) > columns_) continue;
      labels += std::string(static_cast<std::size_t>(at - used), ' ') + tick.label;
      used = at + display_width(tick.label);
    }
    const std::string room(kAxisRoom - 1, ' ');
    return room + "└" + axis + "\n" + room + " " + labels + "\n";
  }

  const RooflinePlot& plot_;
  int columns_;
  std::vector<GridCell> cells_;
  Axis x_, y_;
};

Table sides_table(const RooflinePlot& plot) {
  Table table{{words(""), number(std::string(name(plot.level)) + "s"), number("% FLOPs"), number("% Bytes"),
               number("% Time"), words("")},
              {}};
  const auto add = [&](const std::string& title, const RooflineSide& side) {
    table.add({title + svg_number(plot.roof.ridge), side.nodes, format_percent(side.flops, plot.flops),
               format_percent(side.memory_bytes, plot.memory_bytes), format_percent(side.time_share, 1.0),
               bar_cell(side.time_share, Style::kGood)});
  };
  add("memory-bound, AI <= ", plot.memory_bound);
  add("compute-bound, AI > ", plot.compute_bound);
  return table;
}

Table points_table(const RooflinePlot& plot, std::size_t top) {
  using Row = const RooflinePoint&;
  const Columns<RooflinePoint> columns{
      {words("Longest roofline times", 16, 30), &RooflinePoint::name},
      {words(""), [](Row point) { return point.count > 1 ? "x" + std::to_string(point.count) : ""; }},
      {words("Type", 8).or_not(), &RooflinePoint::type},
      {number("FLOPs", Unit::kCount), &RooflinePoint::flops},
      {number("Bytes", Unit::kBytes), &RooflinePoint::memory_bytes},
      {number("AI", Unit::kRatio), &RooflinePoint::intensity},
      {words("Bound"), [](Row point) { return point.compute_bound ? "compute" : "memory"; }},
      {number("% Time"), [](Row point) { return format_percent(point.time_share, 1.0); }},
      {words(""),
       [&](Row point) { return bar_cell(point.time_share / plot.points[0].time_share, Style::kGood); }}};
  return table_of(columns, std::span(plot.points).first(std::min(top, plot.points.size())));
}

}  // namespace

std::string roofline_text(const Profile& profile, const RooflinePlot& plot, const TextOptions& options) {
  std::string out = text_head(
      profile, model_name(*profile.graph) + ": roofline by " + std::string(name(plot.level)), options);
  out += paint("FLOPs of each " + std::string(name(plot.level)), Style::kQuiet, options.color) + "\n";
  out += CharacterGrid(plot, options.width - kAxisRoom).draw(options.color);
  const std::string axis =
      "arithmetic intensity, FLOPs per byte; the ridge is at " + svg_number(plot.roof.ridge);
  out += std::string(kAxisRoom, ' ') +
         paint(truncate(axis, options.width - kAxisRoom), Style::kQuiet, options.color) + "\n";
  out += std::string(kAxisRoom, ' ') +
         paint("● 5% of the time or more   • 1% or more   · less", Style::kQuiet, options.color) + "\n\n";
  out += text_table(sides_table(plot), options) + "\n";
  out += text_table(points_table(plot, static_cast<std::size_t>(options.top)), options);
  return out +
         as_line("FLOPs and bytes moved are of one; time is the sum of the roofline times of all", options);
}

std::string types_text(const Profile& profile, const TypesPlot& plot, const TextOptions& options) {
  const Metric& metric = plot.beside_bytes();
  Table table{{{"Type", Align::kLeft, 12},
               {"Ops"},
               {std::string(metric.title)},
               {"% " + std::string(metric.title)},
               {"", Align::kLeft},
               {"Bytes"},
               {"% Bytes"},
               {"", Align::kLeft}},
              {}};
  const auto amount = [&](const Metrics& m) { return plotted_count(metric, m); };
  const auto share = [](Count part, Count whole) {
    return whole ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  };
  const auto add = [&](const std::string& label, const Metrics& m, Style style) {
    const Count flops = amount(m), bytes = m.memory_bytes(), all = amount(plot.totals),
                moved = plot.totals.memory_bytes();
    table.rows.push_back({{label, style},
                          {std::to_string(m.ops), style},
                          {flops ? value_text(metric, flops) : "-", style},
                          {format_percent(flops, all, Zero::kDash), style},
                          bar_cell(share(flops, all), Style::kGood),
                          {format_bytes(bytes, Zero::kDash), style},
                          {format_percent(bytes, moved, Zero::kDash), style},
                          bar_cell(share(bytes, moved), Style::kWarning)});
  };
  for (const TypeRow& row : plot.rows) add(row.type, row.metrics, Style::kPlain);
  if (plot.others) add(plural(plot.others, "other type"), plot.rest, Style::kQuiet);
  return text_head(profile, model_name(*profile.graph) + ": cost by op type", options) +
         text_table(table, options);
}

std::string timeline_text(const Profile& profile, const TextOptions& options) {
  return text_head(profile, model_name(*profile.graph) + ": memory over time", options) +
         memory_plot(profile, options);
}

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
