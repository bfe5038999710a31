// Op types, the roofline and the module tree in characters, and their numbers as JSON and CSV.
#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <ranges>

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

Columns<RooflinePoint> point_columns(const RooflinePlot& plot) {
  using Row = const RooflinePoint&;
  Columns<RooflinePoint> columns{
      {keyed("name", words("Longest roofline times", 16, 30)), &RooflinePoint::name},
      {words(""), [](Row point) { return point.count > 1 ? "x" + std::to_string(point.count) : ""; }},
      {keyed("type", words("Type", 8).or_not()), &RooflinePoint::type},
      {"category", [](Row point) { return name(point.category); }},
      {"count", &RooflinePoint::count},
      {keyed("flops", number("FLOPs", Unit::kCount)), &RooflinePoint::flops},
      {keyed("memory_bytes", number("Bytes", Unit::kBytes)), &RooflinePoint::memory_bytes},
      {number("AI", Unit::kRatio), &RooflinePoint::intensity}};
  columns += real_column<RooflinePoint>("arithmetic_intensity", &RooflinePoint::intensity);
  columns +=
      {{keyed("bound", words("Bound")), [](Row point) { return point.compute_bound ? "compute" : "memory"; }},
       {number("% Time"), [](Row point) { return format_percent(point.time_share, 1.0); }},
       {words(""),
        [&](Row point) { return bar_cell(point.time_share / plot.points[0].time_share, Style::kGood); }}};
  return columns += real_column<RooflinePoint>("time_share", &RooflinePoint::time_share);
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
    if (slice.category || slice.is_outside) leaves.push_back(&slice);
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

using Named = std::pair<std::string_view, CellValue>;

// One row a point, bar or slice; what holds for all of them stands before the rows in JSON.
template <class Row, class Rows>
std::string plot_data(const Profile& profile, PlotKind kind, Format format, const std::vector<Named>& about,
                      std::string_view key, const Columns<Row>& columns, const Rows& rows) {
  const auto json = [&](JsonWriter& out) {
    out.begin_object();
    out.fields("schema_version", kSchemaVersion, "plot", name(kind));
    out.fields("model", model_name(*profile.graph), "convention", name(profile.options.convention));
    for (const auto& [field, value] : about) write_field(out, field, value);
    write_rows(out, key, columns, rows);
  };
  return to_format(Report{json, [&] { return table_of(columns, rows, In::kCsv); }, {}}, format, {});
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
         text_table(table_of(point_columns(plot), plot.points | std::views::take(options.top)), options) +
         quiet(indented("FLOPs and bytes moved are of one; time is the sum of the roofline times of all",
                        options.width, 0),
               options);
}

std::string types_text(const Profile& profile, const TypesPlot& plot, const TextOptions& options) {
  using Row = const TypeBar&;
  const Metric& metric = plot.beside_bytes();
  const std::string title(metric.title);
  const Count all = plotted_count(metric, plot.totals), moved = plot.totals.memory_bytes();
  const auto amount = [&](Row row) { return plotted_count(metric, row.metrics); };
  const auto bytes = [](Row row) { return row.metrics.memory_bytes(); };
  const Columns<TypeBar> columns{
      {words("Type", 12), &TypeBar::label},
      {number("Ops"), [](Row row) { return row.metrics.ops; }},
      {number(title), [&](Row row) { return amount(row) ? value_text(metric, amount(row)) : "-"; }},
      {number("% " + title), [&](Row row) { return format_percent(amount(row), all, Zero::kDash); }},
      {words(""), [&](Row row) { return bar_cell(amount(row), all, Style::kGood); }},
      {number("Bytes", Unit::kBytes), bytes},
      {number("% Bytes"), [&](Row row) { return format_percent(bytes(row), moved, Zero::kDash); }},
      {words(""), [&](Row row) { return bar_cell(bytes(row), moved, Style::kWarning); }}};
  const std::function style = [](Row row) { return row.row ? Style::kPlain : Style::kQuiet; };
  return text_head(profile, "cost by op type", options) +
         text_table(table_of(columns, bars_of(plot), In::kPeople, style), options);
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

std::string roofline_data(const Profile& profile, const RooflinePlot& plot, Format format) {
  return plot_data(profile, PlotKind::kRoofline, format,
                   {{"level", name(plot.level)},
                    {"ridge", plot.roof.ridge},
                    {"flops", plot.flops},
                    {"memory_bytes", plot.memory_bytes},
                    {"compute_bound_time_share", plot.compute_bound.time_share},
                    {"memory_bound_time_share", plot.memory_bound.time_share}},
                   "points", point_columns(plot), plot.points);
}

std::string types_data(const Profile& profile, const TypesPlot& plot, Format format) {
  const Metrics& totals = plot.totals;
  Columns<Metrics> costs{{"ops", &Metrics::ops},
                         {"macs", [](const Metrics& row) { return row.work.macs; }},
                         {"flops", &Metrics::flops}};
  const auto add_share = [&](const char* key, const auto& read) {
    costs += real_column<Metrics>(key, [=, &totals](const Metrics& row) {
      return ratio(std::invoke(read, row), std::invoke(read, totals));
    });
  };
  add_share("flops_share", &Metrics::flops);
  costs += {{"memory_bytes", &Metrics::memory_bytes}};
  add_share("memory_bytes_share", &Metrics::memory_bytes);
  if (totals.time) {
    costs += real_column<Metrics>("time_seconds", &Metrics::time_seconds);
    add_share("time_share", &Metrics::time);
  }
  using Row = const TypeBar&;
  Columns<TypeBar> columns{{"type", [](Row bar) { return bar.row ? bar.label : "others"; }},
                           {"category", [](Row bar) { return bar.row ? name(bar.row->category) : ""; }}};
  columns += through<TypeBar>([](Row bar) -> const Metrics& { return bar.metrics; }, costs);
  return plot_data(profile, PlotKind::kTypes, format,
                   {{"metric", plot.metric->key},
                    {"macs", totals.work.macs},
                    {"flops", totals.flops},
                    {"memory_bytes", totals.memory_bytes()}},
                   "types", columns, bars_of(plot));
}

std::string icicle_data(const Profile& profile, const IciclePlot& plot, Format format, PlotKind kind) {
  using Row = const IcicleSlice&;
  const bool is_time = plot.metric->unit == Unit::kSeconds;  // in seconds
  const auto seconds = [](Count count) { return static_cast<double>(count) * kPicosecond; };
  Columns<IcicleSlice> columns{
      {"path", &IcicleSlice::path},
      {"name", &IcicleSlice::name},
      {"type", &IcicleSlice::type},
      {"category", [](Row slice) { return slice.category ? name(*slice.category) : ""; }},
      {"depth", &IcicleSlice::depth},
      {"blocks", &IcicleSlice::repeat}};
  if (is_time)
    columns += real_column<IcicleSlice>("value", [=](Row slice) { return seconds(slice.value); });
  else
    columns += {{"value", &IcicleSlice::value}};
  columns += real_column<IcicleSlice>("begin", &IcicleSlice::begin);
  columns += real_column<IcicleSlice>("share", &IcicleSlice::share);
  const CellValue total = is_time ? CellValue(seconds(plot.total)) : CellValue(plot.total);
  return plot_data(profile, kind, format, {{"metric", plot.metric->key}, {"total", total}}, "slices", columns,
                   plot.slices);
}

}  // namespace opscope
