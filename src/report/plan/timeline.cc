// The simulated runs in characters, as a picture and as a trace.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "report/plan/plan.h"
#include "report/svg/axis.h"
#include "report/svg/colors.h"
#include "report/svg/svg.h"

namespace opscope {
namespace {

// The first runs: as many as are in flight, and a few more.
double shown_seconds(const PlanSimulation& simulation, std::size_t most_runs) {
  const std::size_t last =
      std::min({simulation.ends.size() - 1, simulation.options.in_flight + 3, most_runs});
  return simulation.ends[last];
}

char run_glyph(std::uint32_t run) {
  constexpr std::string_view kGlyphs = "123456789abcdefghijklmnopqrstuvwxyz";
  return kGlyphs[run % kGlyphs.size()];
}

// Which run a device computes for most of each cell.
std::string device_row(const PlanSimulation& simulation, std::uint32_t part, double all, std::size_t cells) {
  std::vector<double> most(cells, 0);
  std::string row(cells, ' ');
  const double cell = all / static_cast<double>(cells);
  for (const SimulatedTask& task : simulation.tasks) {
    if (task.kind != StageTask::kCompute || task.part != part || task.begin >= all) continue;
    const auto first = static_cast<std::size_t>(task.begin / cell);
    for (std::size_t i = first; i < cells && static_cast<double>(i) * cell < task.end; ++i) {
      const double from = static_cast<double>(i) * cell;
      const double share = std::min(task.end, from + cell) - std::max(task.begin, from);
      if (share > most[i]) most[i] = share, row[i] = run_glyph(task.run);
    }
  }
  return row;
}

std::string_view color_of_run(std::uint32_t run) {
  const auto groups = color_groups();
  return groups[run % groups.size()].color;
}

constexpr double kWidth = 960, kRow = 30, kTop = 30, kLabels = 150, kBottom = 46;
constexpr std::array kLanes{Box{0, 2, 0, 14}, Box{0, 17, 0, 4}, Box{0, 22, 0, 4}};  // by task, in a row

void draw_tasks(Svg& svg, const PlannedGraph& planned, const Axis& axis, double all) {
  for (const SimulatedTask& task : planned.simulation.tasks) {
    if (task.begin >= all) continue;
    const Box& lane = kLanes[static_cast<std::size_t>(task.kind)];
    const double left = axis.at(task.begin), right = axis.at(std::min(task.end, all));
    const Box box{left, kTop + kRow * task.part + lane.y, std::max(right - left, 0.3), lane.height};
    const std::string title =
        fmt::format("run {}: {}, {}", task.run + 1, name(task.kind), format_time(task.end - task.begin));
    const bool computes = task.kind == StageTask::kCompute;
    svg.rect(box, {.fill = color_of_run(task.run), .opacity = computes ? 1 : 0.6}, 0, title);
    constexpr double kReadable = 12;
    const std::string number = std::to_string(task.run + 1);
    if (computes && box.width > kReadable)
      svg.text(box.center(), number,
               {.font = {.size = 9},
                .color = ink_on(color_of_run(task.run)),
                .anchor = Anchor::kMiddle,
                .centred = true});
  }
}

}  // namespace

std::string plan_timeline(const PlannedGraph& planned, int width) {
  const PlanSimulation& simulation = planned.simulation;
  constexpr std::size_t kMostRuns = 35;
  const double all = shown_seconds(simulation, kMostRuns);
  const auto& parts = planned.answer.plan.parts;
  if (all <= 0 || parts.size() > 64) return {};
  int labels = 0;
  for (const PlanPart& part : parts)
    labels = std::max(labels, std::min(display_width(device_name(planned.graph, part)), width / 3));
  const auto cells = static_cast<std::size_t>(std::max(width - labels - 2, 8));
  std::string text;
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    const std::string label = truncate_middle(device_name(planned.graph, parts[p]), labels);
    text += pad_right(label, labels) + "  " + device_row(simulation, p, all, cells);
    text.erase(text.find_last_not_of(' ') + 1);
    text += "\n";
  }
  const std::string end = format_time(all);
  return text + pad_right("", labels + 2) + "0" + pad_left(end, static_cast<int>(cells) - 1) + "\n";
}

std::string plan_svg(const PlannedGraph& planned) {
  const PlanSimulation& simulation = planned.simulation;
  const auto& parts = planned.answer.plan.parts;
  constexpr std::size_t kMostRuns = 60;
  const double all = std::max(shown_seconds(simulation, kMostRuns), 1e-12);
  const double height = kTop + kRow * static_cast<double>(parts.size()) + kBottom;
  Svg svg(kWidth, height, planned.name);
  const Box plot{kLabels, kTop, kWidth - kLabels - 20, kRow * static_cast<double>(parts.size())};
  svg.text({kLabels, 18},
           fmt::format("{}: a run every {}, {} in flight", planned.name,
                       format_time(simulation.period_seconds), simulation.options.in_flight),
           {.font = {.size = 12, .bold = true}});
  const Axis axis{.low = 0, .high = all, .from = plot.x, .to = plot.right(), .unit = Unit::kSeconds};
  draw_x_axis(svg, axis, plot, "compute, and below it send and receive; a color for each run");
  for (std::uint32_t p = 0; p < parts.size(); ++p) {
    const double y = kTop + kRow * p;
    svg.text({kLabels - 8, y + 13}, fitted_middle(device_name(planned.graph, parts[p]), kLabels - 16, {}),
             {.anchor = Anchor::kEnd});
    svg.line({plot.x, y + kRow}, {plot.right(), y + kRow}, {.stroke = kGrid});
  }
  draw_tasks(svg, planned, axis, all);
  return svg.document();
}

std::string plan_trace(const PlannedGraph& planned) {
  std::string out;
  JsonWriter json(out);
  constexpr double kMicroseconds = 1e6;
  const auto& parts = planned.answer.plan.parts;
  json.begin_object();
  json.field("displayTimeUnit", "ms");
  json.key("traceEvents");
  json.begin_array();
  const auto meta = [&](std::string_view what, std::size_t process, std::size_t thread,
                        std::string_view called) {
    json.begin_object(kInline);
    json.fields("ph", "M", "name", what, "pid", process, "tid", thread);
    json.object(
        "args", [&] { json.field("name", called); }, kInline);
    json.end_object();
  };
  for (std::size_t p = 0; p < parts.size(); ++p) {
    meta("process_name", p + 1, 0, device_name(planned.graph, parts[p]));
    for (std::size_t t = 0; t < kStageTasks; ++t)
      meta("thread_name", p + 1, t + 1, name(static_cast<StageTask>(t)));
  }
  for (const SimulatedTask& task : planned.simulation.tasks) {
    json.begin_object(kInline);
    json.fields("ph", "X", "name", fmt::format("run {}", task.run + 1), "cat", name(task.kind));
    json.fields("pid", task.part + 1, "tid", static_cast<std::size_t>(task.kind) + 1);
    json.fields("ts", task.begin * kMicroseconds, "dur", (task.end - task.begin) * kMicroseconds);
    if (task.kind != StageTask::kCompute)
      json.object(
          "args",
          [&] {
            json.field(task.kind == StageTask::kSend ? "to" : "from",
                       device_name(planned.graph, parts[task.other]));
          },
          kInline);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out + "\n";
}

}  // namespace opscope
