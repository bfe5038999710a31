// The memory report for programs: all of it as JSON, and the timeline as CSV, one row per op.
#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/text.h"
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

std::vector<OpId> all_ops(const Graph& graph) {
  std::vector<OpId> ops(graph.ops.size());
  for (OpId op = 0; op < ops.size(); ++op) ops[op] = op;
  return ops;
}

}  // namespace

void write_memory(JsonWriter& json, const Profile& profile) {
  const auto& timeline = profile.memory();
  json.object("memory", [&] {
    json.field("peak_memory_bytes", timeline.peak_memory_bytes());
    write_peak(json, profile, timeline.peak_op, timeline.at_peak);
    json.objects("phases", memory_phases(*profile.graph, timeline), [&](const MemoryPhase& phase) {
      json.field("name", phase.name);
      json.field("peak_memory_bytes", timeline.weights + phase.peak);
      write_field(json, "peak_op", phase.peak_op == kNone ? Cell() : Cell(phase.peak_op));
    });
  });
}

void write_memory_report(JsonWriter& json, const MemoryReport& report) {
  const Profile& profile = *report.profile;
  begin_report(json, report.graph());
  json.field("lifetimes", report.lifetimes_told ? "captured" : "last_use");
  json.field("training", report.is_training);
  json.field("peak_memory_bytes", report.timeline().peak_memory_bytes());
  write_peak(json, profile, report.timeline().peak_op, report.timeline().at_peak);
  json.objects("phases", report.phases, [&](const MemoryPhase& row) {
    json.field("name", row.name);
    json.field("begin", row.begin);
    json.field("end", row.end);
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

namespace {

// Storages that differ in the numbers of their blocks alone.
struct Alike {
  const MemoryPiece* piece = nullptr;  // the first; nullptr for an op's workspace
  std::string what{}, needed{}, held{};
  std::size_t count = 0;
  Count bytes{};
};

class Grouping {
 public:
  explicit Grouping(const MemoryReport& report) : report_(report), graph_(report.graph()) {
    for (const auto index : report.held) add(report.pieces[index]);
    add_workspace(report.timeline().peak_op);
    std::ranges::stable_sort(rows, std::greater{}, &Alike::bytes);
    for (auto& row : rows)
      if (row.count == 1 && row.piece != nullptr) name_exactly(row);
  }
  std::vector<Alike> rows;

 private:
  // A value's name, or the layer that made it.
  std::string what(const MemoryPiece& piece) const {
    if (piece.held.made != kNone) return std::string(layer_name(*report_.profile, piece.held.made));
    const auto name =
        piece.value == kNone ? std::string_view() : graph_.text(graph_.values[piece.value].name);
    return name.empty() ? "there from the start" : std::string(name);
  }
  std::string needed(const MemoryPiece& piece) const {
    if (piece.returned) return "returned";
    return piece.last_use == kNone ? "never read" : std::string(layer_name(*report_.profile, piece.last_use));
  }
  std::string held(const MemoryPiece& piece) const {
    return piece.held.freed == kNone ? "the end"
                                     : std::string(layer_name(*report_.profile, piece.held.freed));
  }

  // "addcmul_57" -> "addcmul": an optimiser's ops count up over all parameters.
  static std::string without_count(std::string layer) {
    const auto end = layer.find_last_not_of("0123456789");
    if (end != std::string::npos && end + 1 < layer.size() && layer[end] == '_') layer.resize(end);
    return layer;
  }
  static std::string alike(const std::string& layer) { return pattern_of(without_count(layer)); }

  void add(const MemoryPiece& piece) {
    const auto size = piece.value == kNone ? format_bytes(piece.bytes) : shape_text(graph_, piece.value);
    Alike row{&piece, alike(what(piece)), alike(needed(piece)), alike(held(piece)), 0, {}};
    const std::string key = row.what + "\n" + row.needed + "\n" + row.held + "\n" + size + "\n" +
                            std::to_string(static_cast<int>(piece.kind)) +
                            std::to_string(piece.bytes.value());
    const auto [found, is_new] = index_.try_emplace(key, rows.size());
    if (is_new) rows.push_back(std::move(row));
    ++rows[found->second].count;
    rows[found->second].bytes += piece.bytes;
  }
  void add_workspace(OpId op) {
    if (op == kNone || graph_.ops[op].workspace == 0) return;
    const std::string layer(layer_name(*report_.profile, op));
    rows.push_back({nullptr, layer, layer, layer, 1, Count{graph_.ops[op].workspace}});
  }
  void name_exactly(Alike& row) const {
    row.what = what(*row.piece), row.needed = needed(*row.piece), row.held = held(*row.piece);
  }

  const MemoryReport& report_;
  const Graph& graph_;
  std::map<std::string, std::size_t> index_;
};

Columns<Alike> held_columns(const MemoryReport& report) {
  using Row = const Alike&;
  const Graph& graph = report.graph();
  const auto value = [](Row row) { return row.piece == nullptr ? kNone : row.piece->value; };
  Columns<Alike> columns{
      {words("Held at the peak", 12, 28), &Alike::what},
      {number(""),
       [](Row row) { return Cell(row.count > 1 ? "x" + std::to_string(row.count) : "", Style::kQuiet); }},
      {words("Kind").or_not(),
       [](Row row) {
         return Cell(title(row.piece ? row.piece->kind : MemoryKind::kWorkspace), Style::kQuiet);
       }},
      {words("Shape"), [&, value](Row row) { return shape_cell(graph, value(row)); }},
      {words("Type").or_not(),
       [&, value](Row row) {
         return Cell(value(row) == kNone ? "" : name(graph.values[value(row)].dtype), Style::kQuiet);
       }},
      {number("Bytes"), [](Row row) { return Cell(format_bytes(row.bytes), Style::kStrong); }},
      {number("% peak").or_not(),
       [&](Row row) { return format_percent(row.bytes, report.timeline().peak_memory_bytes()); }},
      {words("Needed until", 8, 24), &Alike::needed}};
  if (!report.lifetimes_told) return columns;
  return columns += {{words("Held until", 8, 16), [](Row row) {
                        const bool same = row.held == row.needed;
                        const bool expected = same || (row.piece && row.piece->returned);
                        return Cell(same ? "the same" : row.held, expected ? Style::kQuiet : Style::kWarning);
                      }}};
}

}  // namespace

Section memory_held_section(const MemoryReport& report, const TextOptions& options) {
  const auto rows = Grouping(report).rows;
  const auto limit = static_cast<std::size_t>(std::max(options.top, 0));
  const auto shown = options.verbose ? rows.size() : std::min(rows.size(), limit);
  Section section{"Held at the peak", table_of(held_columns(report), std::span(rows).first(shown))};
  Count rest{};
  std::size_t more = 0;
  for (std::size_t i = shown; i < rows.size(); ++i) rest += rows[i].bytes, more += rows[i].count;
  if (more > 0)
    section.remarks.push_back("and " + plural(more, "more storage") + " with " + format_bytes(rest) +
                              ": --top N or --verbose shows " + (more == 1 ? "it" : "them"));
  return section;
}

}  // namespace opscope
