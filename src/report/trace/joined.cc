// A joined trace: a document for people, JSON with everything, CSV with a row for each op.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "base/text.h"
#include "report/times/times.h"
#include "report/trace/report.h"

namespace opscope {
namespace {

constexpr double kWellJoined = 0.95;

struct TraceDocument {
  const Profile& profile;
  const JoinedTrace& joined;
  const std::string& file;
  const TextOptions& options;
  const Graph& graph = *profile.graph;

  Document run() const {
    TextOptions noted = options;
    noted.notes.insert(noted.notes.end(), joined.notes.begin(), joined.notes.end());
    Document document{header(), note_lines(profile, noted), {}};
    auto& sections = document.sections;
    sections.push_back(joined_section());
    sections.push_back(tree_section(profile, options));
    if (options.top > 0 || options.verbose) sections.push_back(top_layers_section(profile, options));
    if (!joined.kernels.empty() && shown() > 0) sections.push_back(kernel_section());
    if (!joined.not_joined.empty()) sections.push_back(rest_section());
    if (!joined.missing.empty()) sections.push_back(missing_section());
    return document;
  }

  std::size_t shown() const { return shown_of(joined.kernels.size() + joined.not_joined.size(), options); }
  bool on_device() const { return graph.measurement.on_device; }
  std::string clock() const { return on_device() ? "device time" : "time of calls"; }
  double runs() const { return std::max(1.0, static_cast<double>(graph.measurement.runs)); }

  std::vector<Cell> header() const {
    const Measurement& measured = graph.measurement;
    std::vector<Cell> cells = model_cells(graph);
    cells.push_back({std::string(source_text(file)), Style::kStrong});
    const Environment& at = measured.environment;
    cells.push_back({at.device_name.empty() ? (on_device() ? "device" : "cpu") : at.device_name});
    if (!at.runtime.empty()) cells.push_back({at.runtime});
    cells.push_back({plural(measured.runs, "run")});
    cells.push_back(
        {format_percent(seconds(joined.joined), seconds(joined.total)) + " of " + clock() + " joined",
         joined.joined_share() >= kWellJoined ? Style::kGood : Style::kWarning});
    return cells;
  }

  Section joined_section() const {
    Section section{"Joined", {{words(""), number("Joined"), number("Of"), number("Share")}, {}}};
    const auto ops = graph.ops.size();
    section.table.add({"ops of the graph", cell_of(joined.joined_ops, Unit::kWhole),
                       cell_of(ops, Unit::kWhole), format_percent(Count{joined.joined_ops}, Count{ops})});
    section.table.add({clock() + ", a run", format_time(seconds(joined.joined) / runs()),
                       format_time(seconds(joined.total) / runs()),
                       format_percent(seconds(joined.joined), seconds(joined.total))});
    section.remarks.push_back(
        fmt::format("{} events, {} calls of ops, {}", format_exact(joined.events), format_exact(joined.calls),
                    joined.steps > 0 ? plural(joined.steps, "step") + " marked by the profiler"
                                     : "no profiler steps: runs are separated by their ops"));
    return section;
  }

  // A name once for each kind of op that it works for.
  struct KernelRow {
    std::string_view name, op;
    std::uint64_t count = 0;
    Nanoseconds total = 0;
  };
  std::vector<KernelRow> kernel_rows() const {
    std::map<std::pair<std::string_view, std::string_view>, KernelRow> by_name;
    for (const JoinedKernel& kernel : joined.kernels) {
      const std::string_view op = short_op_name(graph.op_name(graph.ops[kernel.op]));
      KernelRow& row = by_name.try_emplace({kernel.name, op}, KernelRow{kernel.name, op}).first->second;
      row.count += kernel.count, row.total += kernel.total;
    }
    std::vector<KernelRow> rows;
    for (const auto& [key, row] : by_name) rows.push_back(row);
    std::ranges::stable_sort(rows, std::ranges::greater{}, &KernelRow::total);
    return rows;
  }

  // With how often in a run, how long, and how much of all that is.
  template <class Row>
  Section amounts(std::string title, Columns<Row> columns, std::span<const Row> rows,
                  std::size_t most) const {
    columns += {{number("A run"),
                 [this](const Row& row) {
                   const double each = static_cast<double>(row.count) / runs();
                   return each == std::floor(each) ? fmt::format("{:.0f}", each) : format_ratio(each);
                 }},
                {number("Time"), [this](const Row& row) { return format_time(seconds(row.total) / runs()); }},
                {number("Share"), [this](const Row& row) {
                   return format_percent(seconds(row.total), seconds(joined.total));
                 }}};
    Section section{std::move(title), table_of(columns, rows.first(std::min(most, rows.size())))};
    if (rows.size() > shown())
      section.remarks.push_back(fmt::format("{} more with --verbose", rows.size() - shown()));
    return section;
  }

  Section kernel_section() const {
    return amounts<KernelRow>("Kernels",
                              {{words("Kernel", 24, 60), &KernelRow::name}, {words("Op"), &KernelRow::op}},
                              kernel_rows(), shown());
  }

  Section rest_section() const {
    const std::string apart = format_percent(seconds(joined.total - joined.joined), seconds(joined.total));
    return amounts<NotJoined>(
        fmt::format("Not joined, {} of {}", apart, clock()),
        {{words("Not joined", 24, 40), &NotJoined::name}, {words("Why", 20, 48).quiet(), &NotJoined::reason}},
        joined.not_joined, std::max<std::size_t>(shown(), 1));
  }

  Section missing_section() const {
    Section section{"Ops that are not in the trace",
                    {{words("Ops that are not in the trace"), number("Count", Unit::kWhole)}, {}}};
    std::map<std::string_view, std::uint64_t> counts;
    for (const OpId op : joined.missing) ++counts[graph.op_name(graph.ops[op])];
    for (const auto& [name, count] : counts) section.table.add({name, count});
    return section;
  }
};

// The kernels of one op; the list is in the order of ops.
std::span<const JoinedKernel> kernels_of(const JoinedTrace& joined, OpId op) {
  const auto found = std::ranges::equal_range(joined.kernels, op, {}, &JoinedKernel::op);
  return {found.begin(), found.end()};
}

// How often and how long; of kernels and of what was not joined.
template <class Row>
Columns<Row> total_columns() {
  return {{"count", &Row::count}, {"total_seconds", [](const Row& row) { return seconds(row.total); }}};
}

Columns<OpId> op_columns(const Profile& profile, const JoinedTrace& joined) {
  const Graph& graph = *profile.graph;
  Columns<JoinedKernel> kernels{{"name", &JoinedKernel::name}};
  kernels += total_columns<JoinedKernel>();
  return {{"id", [](OpId op) { return op; }},
          {"op", [&](OpId op) { return graph.op_name(graph.ops[op]); }},
          {"module", [&](OpId op) { return graph.path(graph.module_of(graph.ops[op])); }},
          {"layer", [&](OpId op) { return profile.layers()[profile.layer_of()[op]].name; }},
          {in_csv("flops"), [&](OpId op) { return profile.costs[op].flops; }},
          {in_csv("memory_bytes"), [&](OpId op) { return profile.costs[op].traffic.total(); }},
          {"time_seconds",
           [&](OpId op) { return static_cast<double>(profile.costs[op].time.value()) * kPicosecond; }},
          {"host_seconds",
           [&measured = graph.measurement](OpId op) {
             return statistics(Measurement::samples(measured.host, op, measured.runs)).median;
           }},
          {in_csv("kernels"), [&](OpId op) { return kernels_of(joined, op).size(); }},
          {in_csv("longest_kernel"),
           [&](OpId op) {
             const auto own = kernels_of(joined, op);
             return own.empty() ? std::string_view() : std::string_view(own.front().name);
           }},
          {in_json("kernels"),
           [&joined, kernels](OpId op) { return nested_rows(kernels, kernels_of(joined, op)); }}};
}

void write_joined_trace(JsonWriter& json, const Profile& profile, const JoinedTrace& joined,
                        const std::string& file) {
  const Measurement& measured = profile.graph->measurement;
  begin_report(json, *profile.graph);
  json.object("trace", [&] {
    json.fields("file", file, "device_name", measured.environment.device_name);
    json.fields("runtime", measured.environment.runtime, "on_device", measured.on_device);
    json.fields("events", joined.events, "calls", joined.calls, "steps", joined.steps, "runs", measured.runs);
    json.fields("ops", profile.graph->ops.size(), "joined_ops", joined.joined_ops);
    json.fields("total_seconds", seconds(joined.total), "joined_seconds", seconds(joined.joined));
    json.field("joined_share", joined.joined_share());
    json.list("notes", joined.notes);
  });
  write_rows(json, "ops", op_columns(profile, joined), all_ops(*profile.graph));
  Columns<NotJoined> rest{{"name", &NotJoined::name}, {"reason", &NotJoined::reason}};
  write_rows(json, "not_joined", rest += total_columns<NotJoined>(), joined.not_joined);
  json.list("missing_ops", joined.missing);
}

}  // namespace

std::string joined_trace_report(const Profile& profile, const JoinedTrace& joined, const std::string& file,
                                Format format, const TextOptions& options) {
  return to_format(
      Report{[&](JsonWriter& json) { write_joined_trace(json, profile, joined, file); },
             [&] { return table_of(op_columns(profile, joined), all_ops(*profile.graph), In::kCsv); },
             [&] {
               return TraceDocument{profile, joined, file, options}.run();
             }},
      format, options);
}

}  // namespace opscope
