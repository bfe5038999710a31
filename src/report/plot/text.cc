// Op types, the roofline and the module tree in characters.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>

#include "report/core/document.h"
#include "report/memory/report.h"
#include "report/plot/frame.h"
#include "report/plot/plot.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr int kGridRows = 16;
constexpr int kAxisRoom = 7;  // for "100G ┤"

std::string quiet(std::string_view text, const TextOptions& options) {
  return paint(text, Style::kQuiet, options.color) + "\n";
}

// The title block, with the notes and an empty line after it.
std::string text_head(const Profile& profile, const std::string& what, const TextOptions& options) {
  const std::string title = model_name(*profile.graph) + ": " + what;
  std::string out = paint(truncate(title, options.width), Style::kStrong, options.color) + "\n";
  if (const std::string model = model_line(profile); !model.empty())
    out += quiet(truncate(model, options.width), options);
  for (const std::string& note : note_lines(profile, options))
    out += quiet(indented(note, options.width, 0), options);
  return out + "\n";
}

// Text in one of a terminal's 256 colours, the nearest to an SVG colour.
int xterm_color(std::string_view color) {
  int code = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    int part = 0;
    std::from_chars(color.data() + 1 + 2 * i, color.data() + 3 + 2 * i, part, 16);
    // The levels of the cube: 0, 95, 135, 175, 215, 255.
    code = code * 6 + (part < 48 ? 0 : part < 115 ? 1 : (part - 35) / 40);
  }
  return 16 + code;
}

// A scatter of characters; of points that share a place the one with most time is seen.
struct CharacterGrid {
  const RooflinePlot& plot;
  int columns;
  RooflineAxes axes = roofline_axes(plot, {0, 0, columns - 1.0, kGridRows - 1.0}, 1);

  std::string draw(bool color) const {
    std::string out;
    const auto labels = row_labels();
    const auto points = points_by_place();
    const auto ridge = std::lround(axes.x.at(plot.roof.ridge));
    for (std::size_t row = 0; row < kGridRows; ++row) {
      out += pad_left(labels[row], kAxisRoom - 2) + (labels[row].empty() ? " │" : " ┤");
      for (int column = 0; column < columns; ++column)
        if (const auto found = points.find({row, column}); found != points.end())
          out += dot_text(*found->second, color);
        else
          out += column == ridge ? paint("│", Style::kQuiet, color) : " ";
      end_line(out);
    }
    return out + bottom();
  }

  // Points come by time: the first in a place has the most.
  std::map<std::pair<long, long>, const RooflinePoint*> points_by_place() const {
    std::map<std::pair<long, long>, const RooflinePoint*> places;
    for (const RooflinePoint& point : plot.points)
      if (point.intensity > 0)
        places.emplace(std::pair(std::lround(axes.y.at(static_cast<double>(point.flops))),
                                 std::lround(axes.x.at(point.intensity))),
                       &point);
    return places;
  }

  static std::string dot_text(const RooflinePoint& point, bool color) {
    const char* dot = point.time_share >= 0.05 ? "●" : point.time_share >= 0.01 ? "•" : "·";
    return color ? fmt::format("\x1b[38;5;{}m{}\x1b[0m", xterm_color(color_of(point.category)), dot) : dot;
  }

  std::vector<std::string> row_labels() const {
    std::vector<std::string> labels(kGridRows);
    for (const Tick& tick : axes.y.ticks(4))
      if (!tick.label.empty())
        labels[static_cast<std::size_t>(std::lround(axes.y.at(tick.value)))] = tick.label;
    return labels;
  }

  std::string bottom() const {
    std::string axis, labels;
    int used = 0;
    for (int column = 0; column < columns; ++column) axis += "─";
    for (const Tick& tick : axes.x.ticks(columns / 14)) {
      const int at = static_cast<int>(std::lround(axes.x.at(tick.value))) - display_width(tick.label) / 2;
      if (tick.label.empty() || at < used || at + display_width(tick.label) > columns) continue;
      labels += std::string(static_cast<std::size_t>(at - used), ' ') + tick.label;
      used = at + display_width(tick.label);
    }
    const std::string room(kAxisRoom - 1, ' ');
    return room + "└" + axis + "\n" + room + " " + labels + "\n";
  }
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
    const std::string block = "▏" + pad_right(label(slice, end - begin - 1), end - begin - 1);
    const std::string_view behind = slice.category ? color_of(*slice.category) : kPaper;
    line += color && slice.category
                ? fmt::format("\x1b[{};48;5;{}m{}\x1b[0m", ink_on(behind) == kPaper ? 97 : 30,
                              xterm_color(behind), block)
                : block;
    used = end;
  }
  end_line(line);
  return line;
}

Table leaves_table(const IciclePlot& plot, std::size_t top) {
  std::vector<const IcicleSlice*> leaves;
  for (const IcicleSlice& slice : plot.slices)
    if (slice.category) leaves.push_back(&slice);
  std::ranges::stable_sort(leaves, std::ranges::greater{}, [](const IcicleSlice* s) { return s->value; });
  leaves.resize(std::min(top, leaves.size()));
  const std::string what(plot.metric->words);
  using Leaf = const IcicleSlice*;
  const Columns<Leaf> columns{
      {words("Most " + what, 16, 30), [](Leaf leaf) { return leaf->path.empty() ? leaf->name : leaf->path; }},
      {words(""), [](Leaf leaf) { return leaf->repeat > 1 ? "x" + std::to_string(leaf->repeat) : ""; }},
      {words("Type", 8).or_not(), [](Leaf leaf) { return leaf->type; }},
      {number(what), [&](Leaf leaf) { return value_text(*plot.metric, leaf->value); }},
      {number("%"), [](Leaf leaf) { return format_percent(leaf->share, 1.0); }},
      {words(""), [&](Leaf leaf) { return bar_cell(leaf->share / leaves[0]->share, Style::kGood); }}};
  return table_of(columns, leaves);
}

}  // namespace

std::string roofline_text(const Profile& profile, const RooflinePlot& plot, const TextOptions& options) {
  const std::string level(name(plot.level)), indent(kAxisRoom, ' ');
  const std::string axis =
      "arithmetic intensity, FLOPs per byte; the ridge is at " + svg_number(plot.roof.ridge);
  return text_head(profile, "roofline by " + level, options) + quiet("FLOPs of each " + level, options) +
         CharacterGrid{plot, options.width - kAxisRoom}.draw(options.color) + indent +
         quiet(truncate(axis, options.width - kAxisRoom), options) + indent +
         quiet("● 5% of the time or more   • 1% or more   · less", options) + "\n" +
         text_table(sides_table(plot), options) + "\n" +
         text_table(points_table(plot, static_cast<std::size_t>(options.top)), options) +
         quiet(indented("FLOPs and bytes moved are of one; time is the sum of the roofline times of all",
                        options.width, 0),
               options);
}

std::string types_text(const Profile& profile, const TypesPlot& plot, const TextOptions& options) {
  struct Row {
    std::string label;
    const Metrics& metrics;
    Style style;
  };
  std::vector<Row> rows;
  for (const TypeRow& row : plot.rows) rows.push_back({row.type, row.metrics, Style::kPlain});
  if (plot.others) rows.push_back({plural(plot.others, "other type"), plot.rest, Style::kQuiet});
  const Metric& metric = plot.beside_bytes();
  const std::string title(metric.title);
  const Count all = plotted_count(metric, plot.totals), moved = plot.totals.memory_bytes();
  const auto amount = [&](const Row& row) { return plotted_count(metric, row.metrics); };
  const auto bytes = [](const Row& row) { return row.metrics.memory_bytes(); };
  const Columns<Row> columns{
      {words("Type", 12), &Row::label},
      {number("Ops"), [](const Row& row) { return row.metrics.ops; }},
      {number(title), [&](const Row& row) { return amount(row) ? value_text(metric, amount(row)) : "-"; }},
      {number("% " + title), [&](const Row& row) { return format_percent(amount(row), all, Zero::kDash); }},
      {words(""), [&](const Row& row) { return bar_cell(share_of(amount(row), all), Style::kGood); }},
      {number("Bytes", Unit::kBytes), bytes},
      {number("% Bytes"), [&](const Row& row) { return format_percent(bytes(row), moved, Zero::kDash); }},
      {words(""), [&](const Row& row) { return bar_cell(share_of(bytes(row), moved), Style::kWarning); }}};
  return text_head(profile, "cost by op type", options) +
         text_table(table_of(columns, rows, In::kPeople, std::function<Style(const Row&)>(&Row::style)),
                    options);
}

std::string timeline_text(const Profile& profile, const TextOptions& options) {
  return text_head(profile, "memory over time", options) +
         memory_plot(make_memory_report(profile, {.advice = false}), options);
}

std::string icicle_text(const Profile& profile, const IciclePlot& plot, const TextOptions& options,
                        PlotKind kind) {
  std::string out = text_head(
      profile,
      fmt::format("{} by module, {} in all", plot.metric->words, value_text(*plot.metric, plot.total)),
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
