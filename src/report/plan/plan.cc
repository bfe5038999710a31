// The report of a plan in every format. No arithmetic but shares.
#include "report/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace opscope {
namespace {

Unit unit_of(PlanObjective objective) {
  return objective == PlanObjective::kThroughput || objective == PlanObjective::kLatency ? Unit::kSeconds
                                                                                         : Unit::kPlain;
}

// "33.8 s", "6", "1.23 J"
std::string value_text(PlanObjective objective, double value) {
  switch (objective) {
    case PlanObjective::kThroughput:
    case PlanObjective::kLatency:
      return format_time(value);
    case PlanObjective::kDevices:
      return fmt::format("{:.0f}", value);
    case PlanObjective::kCost:
      return fmt::format("{:.4g} a run", value);
    case PlanObjective::kEnergy:
      return fmt::format("{:.4g} J", value);
  }
  return {};
}

std::string_view title(PlanObjective objective) {
  switch (objective) {
    case PlanObjective::kThroughput:
      return "Slowest device";
    case PlanObjective::kLatency:
      return "Latency";
    case PlanObjective::kDevices:
      return "Devices";
    case PlanObjective::kCost:
      return "Cost";
    case PlanObjective::kEnergy:
      return "Energy";
  }
  return {};
}

std::string bound_text(const PlanAnswer& answer) {
  if (answer.is_proven()) return "proven: no plan is better";
  return fmt::format("no plan is better than {}: at most {} from the best",
                     value_text(answer.question.objective, answer.lower_bound),
                     format_percent(answer.gap(), 1.0));
}

// The ids of the first nodes, and how many there are.
std::string nodes_text(const CostGraph& graph, const PlanPart& part) {
  const auto id = [&](std::uint32_t node) {
    const auto& one = graph.nodes[node].id;
    const auto* word = std::get_if<std::string>(&one);
    return word ? *word : id_text(graph.nodes[node]);
  };
  constexpr std::size_t kMost = 4;
  if (part.nodes.size() == 1) return id(part.nodes[0]);
  if (part.nodes.size() > kMost) return id(part.nodes.front()) + " .. " + id(part.nodes.back());
  std::vector<std::string> ids;
  for (const std::uint32_t node : part.nodes) ids.push_back(id(node));
  return join(ids);
}

// A part with what it is a part of.
struct PartRow {
  const PlannedGraph* planned;
  const Plan* plan;
  const PlanPart* part;

  const DeviceClass& on() const { return planned->graph.classes[part->device_class]; }
};

Cell memory_cell(const PartRow& row) {
  const std::string bytes = format_bytes(Count{static_cast<std::uint64_t>(row.part->bytes)});
  return row.on().memory_bytes
             ? bytes + " of " + format_bytes(Count{static_cast<std::uint64_t>(*row.on().memory_bytes)})
             : bytes;
}

Columns<PartRow> part_columns() {
  using Row = const PartRow&;
  const auto seconds = [](double PlanPart::*of) { return [of](Row row) { return row.part->*of; }; };
  return {{words("Device", 8),
           [](Row row) { return Cell(device_name(row.planned->graph, *row.part), Style::kStrong); }},
          {in_csv("device_class"), [](Row row) { return row.on().name; }},
          {in_csv("device"), [](Row row) { return row.part->device; }},
          {keyed("nodes", number("Nodes")), [](Row row) { return row.part->nodes.size(); }},
          {number("Time", Unit::kSeconds).strong(), seconds(&PlanPart::seconds)},
          {number("compute", Unit::kSeconds).quiet(), seconds(&PlanPart::compute_seconds)},
          {number("send", Unit::kSeconds).quiet(), seconds(&PlanPart::send_seconds)},
          {number("receive", Unit::kSeconds).quiet(), seconds(&PlanPart::receive_seconds)},
          {in_csv("seconds"), [](Row row) { return with_point(row.part->seconds); }},
          {in_csv("compute_seconds"), [](Row row) { return with_point(row.part->compute_seconds); }},
          {in_csv("send_seconds"), [](Row row) { return with_point(row.part->send_seconds); }},
          {in_csv("receive_seconds"), [](Row row) { return with_point(row.part->receive_seconds); }},
          {in_csv("bytes"), [](Row row) { return with_point(row.part->bytes); }},
          {number("Memory"), memory_cell},
          {words("", 10).or_not(), [](Row row) { return nodes_text(row.planned->graph, *row.part); }},
          {words("").only(In::kPeople).or_not(), [](Row row) {
             const double most = row.plan->figures.slowest_seconds;
             return bar_cell(most > 0 ? row.part->seconds / most : 0);
           }}};
}

std::vector<PartRow> part_rows(const PlannedGraph& planned) {
  std::vector<PartRow> rows;
  for (const PlanPart& part : planned.answer.plan.parts)
    rows.push_back({&planned, &planned.answer.plan, &part});
  return rows;
}

Section summary_section(const PlannedGraph& planned) {
  const PlanAnswer& answer = planned.answer;
  const PlanFigures& figures = answer.plan.figures;
  Facts facts("Plan");
  const PlanObjective objective = answer.question.objective;
  if (const PlanReplicas& replicas = planned.replicas; replicas.count > 1) {
    const bool proven = replicas.period_seconds <= replicas.lower_bound_seconds * (1 + 1e-9);
    facts.add("Replicas", {std::to_string(replicas.count), Style::kStrong},
              fmt::format("a run every {} of all together; {}. The rest is of one of them",
                          format_time(replicas.period_seconds),
                          proven ? "no number of equal ones is better"
                                 : "no number of equal ones is better than " +
                                       format_time(replicas.lower_bound_seconds)));
  }
  facts.add(std::string(title(objective)), {value_text(objective, answer.value), Style::kStrong},
            bound_text(answer));
  for (const PlanObjective other : {PlanObjective::kThroughput, PlanObjective::kLatency,
                                    PlanObjective::kDevices, PlanObjective::kCost, PlanObjective::kEnergy}) {
    const auto value = figures.of(other);
    if (other == objective || !value) continue;
    std::string detail;
    if (other == PlanObjective::kDevices) detail = fmt::format("of {}", planned.graph.devices());
    if (other == PlanObjective::kThroughput && *value > 0)
      detail = fmt::format("{:.4g} runs a second", 1 / *value);
    facts.add(std::string(title(other)), value_text(other, *value), detail);
  }
  return facts;
}

std::string change_text_of(double ours, double theirs) {
  if (ours <= 0 || theirs <= 0) return {};
  return fmt::format("{:.2f}x", theirs / ours);
}

Section baselines_section(const PlannedGraph& planned) {
  const PlanObjective objective = planned.answer.question.objective;
  Section section = titled_section(
      "Beside it",
      {{words(""), number(std::string(title(objective))), number("times the plan"), words("")}, {}});
  for (const PlanBaseline& other : planned.baselines) {
    const auto value = other.plan ? other.plan->figures.of(objective) : std::nullopt;
    section.table.add({other.name, value ? Cell(value_text(objective, *value)) : Cell("-", Style::kQuiet),
                       value ? Cell(change_text_of(planned.answer.value, *value)) : Cell(),
                       Cell(other.why_not, Style::kQuiet)});
  }
  return section;
}

// "gpu 3 computes", "the device is busy"
std::string_view does_text(const CostGraph& graph, StageTask task) {
  if (!graph.overlap) return "is busy";
  return task == StageTask::kCompute ? "computes" : task == StageTask::kSend ? "sends" : "receives";
}

std::string limit_text(const PlannedGraph& planned) {
  const PlanLimit limit = limit_of(planned.graph, planned.simulation);
  std::string text =
      fmt::format("{} {} {} of the time", device_name(planned.graph, planned.answer.plan.parts[limit.part]),
                  does_text(planned.graph, limit.task), format_percent(std::min(limit.busy, 1.0), 1.0));
  if (!limit.is_runs_in_flight) return text;
  return fmt::format("{} in flight: {} at most", plural(planned.simulation.options.in_flight, "run"), text);
}

Section simulation_section(const PlannedGraph& planned, const TextOptions& options) {
  const PlanSimulation& simulation = planned.simulation;
  Facts facts("Simulated");
  facts.add("Period", {format_time(simulation.period_seconds), Style::kStrong},
            fmt::format("from one run to the next, with {} in flight", simulation.options.in_flight));
  facts.add("One run", format_time(simulation.run_seconds),
            fmt::format("{} when it is the first", format_time(simulation.first_seconds)));
  facts.add("Limit", "", limit_text(planned));
  facts.plot = plan_timeline(planned, options.width);
  return facts;
}

Section changes_section(const PlannedGraph& planned) {
  const PlanObjective objective = planned.answer.question.objective;
  Section section = titled_section(
      "What would help", {{words(""), number(std::string(title(objective))), number("better")}, {}});
  for (const PlanChange& change : planned.changes)
    section.table.add(
        {change.what, value_text(objective, change.value), fmt::format("{:.2f}x", change.better)});
  return section;
}

Section front_section(const PlannedGraph& planned) {
  const PlanAnswer& answer = planned.answer;
  const PlanObjective a = answer.question.objective, b = *answer.question.against;
  Section section = titled_section(
      "Pareto front",
      {{number(std::string(title(a))).strong(), number(std::string(title(b))).strong(), words("Devices")},
       {}});
  for (const Plan& plan : answer.front) {
    std::vector<std::string> used;
    for (std::size_t c = 0; c < planned.graph.classes.size(); ++c) {
      const auto count = std::ranges::count(plan.parts, c, &PlanPart::device_class);
      if (count > 0) used.push_back(fmt::format("{}x{}", count, planned.graph.classes[c].name));
    }
    section.table.add(
        {value_text(a, *plan.figures.of(a)), value_text(b, *plan.figures.of(b)), join(used, ",")});
  }
  if (!answer.front_is_whole)
    section.remarks.push_back("Other plans may be on the front: the search for some of them gave up");
  return section;
}

Document document_of(const PlannedGraph& planned, const TextOptions& options) {
  const CostGraph& graph = planned.graph;
  Document document{{{planned.name, Style::kStrong}}, options.notes};
  document.header.push_back(plural(graph.nodes.size(), "node"));
  std::vector<std::string> devices;
  for (const DeviceClass& one : graph.classes) devices.push_back(fmt::format("{}x{}", one.count, one.name));
  document.header.push_back(join(devices, ","));
  if (options.verbose)
    document.header.push_back(
        {fmt::format("solved in {}", format_time(planned.answer.solve_seconds)), Style::kQuiet});
  for (const std::string& note : planned.notes) document.notes.push_back(note);
  document.add(summary_section(planned));
  document.add({"", table_of(part_columns(), part_rows(planned))});
  if (planned.answer.question.against) document.add(front_section(planned));
  document.add(baselines_section(planned));
  document.add(simulation_section(planned, options));
  document.add(changes_section(planned));
  return document;
}

void write_id(JsonWriter& json, const CostNode& node) {
  std::visit([&](const auto& id) { json.value(id); }, node.id);
}

void write_devices(JsonWriter& json, const CostGraph& graph, const Plan& plan) {
  json.key("devices");
  json.begin_array();
  const auto write = [&](std::size_t c, std::size_t device, const PlanPart& part, std::size_t place) {
    json.begin_object(kInline);
    json.fields("class", graph.classes[c].name, "device", device);
    write_field(json, "stage", part.nodes.empty() ? Cell() : Cell(place));
    json.fields("seconds", part.seconds, "compute_seconds", part.compute_seconds);
    json.fields("send_seconds", part.send_seconds, "receive_seconds", part.receive_seconds);
    json.field("bytes", part.bytes);
    json.key("nodes");
    json.begin_array(kInline);
    for (const std::uint32_t node : part.nodes) write_id(json, graph.nodes[node]);
    json.end_array();
    json.end_object();
  };
  for (std::size_t c = 0; c < graph.classes.size(); ++c)
    for (std::size_t device = 0; device < graph.classes[c].count; ++device) {
      const auto part = std::ranges::find_if(
          plan.parts, [&](const PlanPart& one) { return one.device_class == c && one.device == device; });
      const bool used = part != plan.parts.end();
      write(c, device, used ? *part : PlanPart{},
            used ? static_cast<std::size_t>(part - plan.parts.begin()) : 0);
    }
  json.end_array();
}

void write_figures(JsonWriter& json, const PlanFigures& figures) {
  json.fields("slowest_seconds", figures.slowest_seconds, "latency_seconds", figures.latency_seconds);
  json.fields("devices_used", figures.devices, "cost", figures.cost, "energy_joules", figures.energy_joules);
}

void write_simulation(JsonWriter& json, const PlannedGraph& planned) {
  const PlanSimulation& simulation = planned.simulation;
  const auto where = [&](std::uint32_t p) {
    const PlanPart& part = planned.answer.plan.parts[p];
    json.fields("class", planned.graph.classes[part.device_class].name, "device", part.device);
  };
  json.object("simulation", [&] {
    json.fields("in_flight", simulation.options.in_flight, "runs", simulation.options.runs);
    json.fields("period_seconds", simulation.period_seconds, "run_seconds", simulation.run_seconds);
    json.field("first_seconds", simulation.first_seconds);
    const PlanLimit limit = limit_of(planned.graph, simulation);
    json.inline_object("limit", [&] {
      where(limit.part);
      json.fields("task", name(limit.task), "busy", limit.busy);
      json.field("runs_in_flight", limit.is_runs_in_flight);
    });
    json.key("busy");
    json.begin_array();
    for (std::uint32_t p = 0; p < simulation.busy.size(); ++p) {
      json.begin_object(kInline);
      where(p);
      for (std::size_t t = 0; t < kStageTasks; ++t)
        json.field(name(static_cast<StageTask>(t)), simulation.busy[p][t]);
      json.end_object();
    }
    json.end_array();
  });
}

void write_planned(JsonWriter& json, const PlannedGraph& planned) {
  const PlanAnswer& answer = planned.answer;
  const PlanObjective objective = answer.question.objective;
  const bool is_time = unit_of(objective) == Unit::kSeconds;
  begin_report(json);
  json.fields("name", planned.name, "objective", name(objective));
  json.fields("objective_value", answer.value, "lower_bound", answer.lower_bound);
  write_field(json, "objective_seconds", is_time ? Cell(answer.value) : Cell());
  write_field(json, "lower_bound_seconds", is_time ? Cell(answer.lower_bound) : Cell());
  json.fields("gap", answer.gap(), "proven", answer.is_proven(), "solve_seconds", answer.solve_seconds);
  json.object(
      "search",
      [&] {
        json.fields("nodes", planned.graph.nodes.size(), "items", answer.items, "downsets", answer.downsets);
        json.field("steps", answer.steps);
      },
      kInline);
  write_figures(json, answer.plan.figures);
  json.field("overlap", planned.graph.overlap);
  json.inline_object("replicas", [&] {
    json.fields("count", planned.replicas.count, "period_seconds", planned.replicas.period_seconds);
    json.field("lower_bound_seconds", planned.replicas.lower_bound_seconds);
  });
  write_devices(json, planned.graph, answer.plan);
  json.objects("baselines", planned.baselines, [&](const PlanBaseline& other) {
    const auto value = other.plan ? other.plan->figures.of(objective) : std::nullopt;
    json.fields("name", other.name, "objective_value", value, "why_not", other.why_not);
  });
  write_simulation(json, planned);
  json.objects("changes", planned.changes, [&](const PlanChange& change) {
    json.fields("what", change.what, "objective_value", change.value, "times_better", change.better);
  });
  if (answer.question.against) {
    json.fields("against", name(*answer.question.against), "front_is_whole", answer.front_is_whole);
    json.objects("front", answer.front, [&](const Plan& plan) {
      write_figures(json, plan.figures);
      write_devices(json, planned.graph, plan);
    });
  }
  json.list("notes", planned.notes);
}

Table front_rows(const PlannedGraph& planned) {
  using Row = const Plan&;
  const Columns<Plan> columns{
      {in_csv("slowest_seconds"), [](Row plan) { return with_point(plan.figures.slowest_seconds); }},
      {in_csv("latency_seconds"), [](Row plan) { return with_point(plan.figures.latency_seconds); }},
      {in_csv("devices_used"), [](Row plan) { return plan.figures.devices; }},
      {in_csv("cost"), [](Row plan) { return with_point(plan.figures.cost); }},
      {in_csv("energy_joules"), [](Row plan) { return with_point(plan.figures.energy_joules); }}};
  return table_of(columns, planned.answer.front, In::kCsv);
}

}  // namespace

std::string device_name(const CostGraph& graph, const PlanPart& part) {
  const DeviceClass& on = graph.classes[part.device_class];
  return on.count == 1 ? on.name : fmt::format("{} {}", on.name, part.device + 1);
}

std::string to_format(const PlannedGraph& planned, Format format, const TextOptions& options) {
  const auto rows = [&] {
    return planned.answer.question.against ? front_rows(planned)
                                           : table_of(part_columns(), part_rows(planned), In::kCsv);
  };
  return to_format(Report{[&](JsonWriter& json) { write_planned(json, planned); }, rows,
                          [&] { return document_of(planned, options); }},
                   format, options);
}

}  // namespace opscope
