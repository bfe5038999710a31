// The memory report for programs: all of it as JSON, and the timeline as CSV, one row per op.
#include <array>
#include <ranges>

#include "report/memory/report.h"
#include "report/profile/columns.h"

namespace opscope {
namespace {

constexpr std::array<const char*, kMemoryKinds> kKeys{
    "weights_bytes",  "inputs_bytes",    "activations_bytes",    "workspace_bytes",
    "kv_cache_bytes", "gradients_bytes", "optimizer_state_bytes"};

Columns<MemorySplit> split_columns() {
  Columns<MemorySplit> columns;
  for (std::size_t k = 0; k < kMemoryKinds; ++k)
    columns.push_back({kKeys[k], [k](const MemorySplit& split) { return split.bytes[k]; }});
  return columns;
}

// An op's number and its layer; both null where there is none.
Columns<OpId> op_columns(const Profile& profile, const std::string& key, const std::string& layer_key) {
  return {
      {{.key = key}, [](OpId op) { return op == kNone ? Cell() : Cell(op); }},
      {{.key = layer_key}, [&](OpId op) { return op == kNone ? Cell() : Cell(layer_name(profile, op)); }}};
}

void write_peak(JsonWriter& json, const Profile& profile, OpId op, const MemorySplit& split) {
  write_fields(json, op_columns(profile, "peak_op", "peak_layer"), op);
  json.inline_object("split", [&] { write_fields(json, split_columns(), split); });
}

Columns<MemoryPiece> piece_columns(const Profile& profile) {
  using Row = const MemoryPiece&;
  const Graph& graph = *profile.graph;
  Columns<MemoryPiece> columns{
      {"bytes", &MemoryPiece::bytes},
      {"kind", [](Row piece) { return name(piece.kind); }},
      {"name", [&](Row piece) {
         const bool named = piece.value != kNone && graph.values[piece.value].name != 0;
         return named ? Cell(graph.text(graph.values[piece.value].name)) : Cell(Absent{});
       }}};
  const auto values = through<MemoryPiece>(&MemoryPiece::value, value_columns(graph));
  columns += {values[0], values[1]};
  const auto op = [&](const auto& read, const std::string& key) {
    columns += through<MemoryPiece>(read, op_columns(profile, key, key + "_layer"));
  };
  op([](Row piece) { return piece.held.made; }, "made_by");
  op([](Row piece) { return piece.last_use; }, "needed_until");
  op([](Row piece) { return piece.held.freed; }, "held_until");
  return columns += {{"returned", &MemoryPiece::returned}};
}

Columns<MemoryOwner> owner_columns(const Graph& graph) {
  return {{"path", [&](const MemoryOwner& row) { return graph.path(graph.modules[row.module]); }},
          {"type", [&](const MemoryOwner& row) { return graph.text(graph.modules[row.module].type); }},
          {"depth", &MemoryOwner::depth},
          {"held_bytes", &MemoryOwner::held},
          {"own_held_bytes", &MemoryOwner::own_held},
          {"weights_bytes", &MemoryOwner::weights},
          {"storages", &MemoryOwner::pieces}};
}

// Whatever holds at an op: a row each.
Columns<OpId> timeline_columns(const MemoryReport& report) {
  const Graph& graph = report.graph();
  const auto phase = [&](OpId op) -> std::string_view {
    for (const MemoryPhase& each : report.phases)
      if (op < each.end || &each == &report.phases.back()) return op >= each.begin ? each.name : "";
    return {};
  };
  Columns<OpId> columns{
      {"index", [](OpId op) { return op; }},
      {"op", [&](OpId op) { return graph.op_name(graph.ops[op]); }},
      {"layer", [&](OpId op) { return layer_name(*report.profile, op); }},
      {{.key = "module", .in = In::kCsv},
       [&](OpId op) { return graph.path(graph.modules[graph.scopes[graph.ops[op].scope].module]); }},
      {{.key = "phase", .in = In::kCsv}, phase},
      {"in_use_bytes", [&](OpId op) { return report.splits[op].total(); }}};
  return columns +=
         through<OpId>([&](OpId op) -> const MemorySplit& { return report.splits[op]; }, split_columns());
}

auto all_ops(const Graph& graph) { return std::views::iota(OpId{0}, static_cast<OpId>(graph.ops.size())); }

}  // namespace

void write_memory(JsonWriter& json, const Profile& profile) {
  const auto& timeline = profile.memory();
  json.object("memory", [&] {
    json.field("peak_memory_bytes", timeline.peak_memory_bytes());
    write_peak(json, profile, timeline.peak_op, timeline.at_peak);
    json.objects("phases", memory_phases(*profile.graph, timeline), [&](const MemoryPhase& phase) {
      json.fields("name", phase.name, "peak_memory_bytes", timeline.weights + phase.peak);
      write_field(json, "peak_op", phase.peak_op == kNone ? Cell() : Cell(phase.peak_op));
    });
  });
}

void write_memory_report(JsonWriter& json, const MemoryReport& report) {
  const Profile& profile = *report.profile;
  begin_report(json, report.graph());
  json.fields("lifetimes", report.lifetimes_told ? "captured" : "last_use", "training", report.is_training);
  json.field("peak_memory_bytes", report.timeline().peak_memory_bytes());
  write_peak(json, profile, report.timeline().peak_op, report.timeline().at_peak);
  json.objects("phases", report.phases, [&](const MemoryPhase& row) {
    json.fields("name", row.name, "begin", row.begin, "end", row.end);
    json.field("peak_memory_bytes", row.at_peak.total());
    write_peak(json, profile, row.peak_op, row.at_peak);
  });
  const auto pieces = piece_columns(profile);
  json.objects("held", report.held,
               [&](std::uint32_t piece) { write_fields(json, pieces, report.pieces[piece]); });
  write_rows(json, "modules", owner_columns(report.graph()), report.owners);
  const Columns<MemoryAdvice> advice{{"remedy", [](const MemoryAdvice& row) { return name(row.remedy); }},
                                     {"where", &MemoryAdvice::where},
                                     {"change", &MemoryAdvice::change},
                                     {"places", &MemoryAdvice::places},
                                     {"saved_bytes", &MemoryAdvice::saved_bytes},
                                     {"extra_flops", &MemoryAdvice::flops}};
  if (report.is_advised) write_rows(json, "advice", advice, report.advice);
  write_rows(json, "timeline", timeline_columns(report), all_ops(report.graph()));
}

Table memory_rows(const MemoryReport& report) {
  return table_of(timeline_columns(report), all_ops(report.graph()), In::kCsv);
}

}  // namespace opscope
