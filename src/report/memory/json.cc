// The memory report for programs: all of it as JSON, and the timeline as CSV, one row per op.
#include <array>
#include <string>

#include "report/core/json_parts.h"
#include "report/memory/report.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, kMemoryKinds> kKeys{
    "weights_bytes",  "inputs_bytes",    "activations_bytes",    "workspace_bytes",
    "kv_cache_bytes", "gradients_bytes", "optimizer_state_bytes"};

std::string_view module_path(const Graph& graph, OpId op) {
  return graph.path(graph.modules[graph.scopes[graph.ops[op].scope].module]);
}

void layer_or_null(JsonWriter& json, const Profile& profile, std::string_view key, OpId op) {
  json.key(key);
  op == kNone ? json.null() : json.value(layer_name(profile, op));
}

class MemoryWriter {
 public:
  MemoryWriter(const MemoryReport& report, std::string& out)
      : report_(report), graph_(report.graph()), json_(out) {}

  void write() {
    begin_report(json_, graph_);
    json_.field("lifetimes", report_.lifetimes_told ? "captured" : "last_use");
    json_.field("training", report_.is_training);
    peak();
    json_.objects("phases", report_.phases, [&](const MemoryPhase& row) { phase(row); });
    json_.objects("held", report_.held, [&](std::uint32_t i) { held(report_.pieces[i]); });
    json_.objects("modules", report_.owners, [&](const MemoryOwner& row) { owner(row); });
    if (report_.is_advised)
      json_.objects("advice", report_.advice, [&](const MemoryAdvice& row) { advice(row); });
    timeline();
    json_.end_object();
  }

 private:
  void split(const MemorySplit& split) {
    json_.key("split");
    json_.begin_object(JsonLayout::kInline);
    write_split(json_, split);
    json_.end_object();
  }

  void peak() {
    const auto& timeline = report_.timeline();
    json_.field("peak_memory_bytes", timeline.peak_memory_bytes());
    id_or_null(json_, "peak_op", timeline.peak_op);
    layer_or_null(json_, *report_.profile, "peak_layer", timeline.peak_op);
    split(timeline.at_peak);
  }
  void phase(const MemoryPhase& row) {
    json_.field("name", row.name);
    json_.field("begin", row.begin);
    json_.field("end", row.end);
    json_.field("peak_memory_bytes", row.at_peak.total());
    id_or_null(json_, "peak_op", row.peak_op);
    layer_or_null(json_, *report_.profile, "peak_layer", row.peak_op);
    split(row.at_peak);
  }
  void held(const MemoryPiece& piece) {
    json_.field("bytes", piece.bytes);
    json_.field("kind", name(piece.kind));
    if (piece.value != kNone) {
      const Value& value = graph_.values[piece.value];
      if (value.name != 0) json_.field("name", graph_.text(value.name));
      json_.list("shape", graph_.shape(value));
      json_.field("dtype", name(value.dtype));
    }
    id_or_null(json_, "made_by", piece.held.made);
    layer_or_null(json_, *report_.profile, "made_by_layer", piece.held.made);
    id_or_null(json_, "needed_until", piece.last_use);
    layer_or_null(json_, *report_.profile, "needed_until_layer", piece.last_use);
    id_or_null(json_, "held_until", piece.held.freed);
    layer_or_null(json_, *report_.profile, "held_until_layer", piece.held.freed);
    json_.field("returned", piece.returned);
  }
  void owner(const MemoryOwner& row) {
    const Module& module = graph_.modules[row.module];
    json_.field("path", graph_.path(module));
    json_.field("type", graph_.text(module.type));
    json_.field("depth", row.depth);
    json_.field("held_bytes", row.held);
    json_.field("own_held_bytes", row.own_held);
    json_.field("weights_bytes", row.weights);
    json_.field("storages", row.pieces);
  }
  void advice(const MemoryAdvice& row) {
    json_.field("remedy", name(row.remedy));
    json_.field("where", row.where);
    json_.field("change", row.change);
    json_.field("places", row.places);
    json_.field("saved_bytes", row.saved_bytes);
    json_.field("extra_flops", row.flops);
  }
  void timeline() {
    json_.key("timeline");
    json_.begin_array();
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      json_.begin_object(JsonLayout::kInline);
      json_.field("index", op);
      json_.field("op", graph_.op_name(graph_.ops[op]));
      json_.field("layer", layer_name(*report_.profile, op));
      json_.field("in_use_bytes", report_.splits[op].total());
      write_split(json_, report_.splits[op]);
      json_.end_object();
    }
    json_.end_array();
  }

  const MemoryReport& report_;
  const Graph& graph_;
  JsonWriter json_;
};

}  // namespace

void write_split(JsonWriter& json, const MemorySplit& split) {
  for (std::size_t k = 0; k < kMemoryKinds; ++k) json.field(kKeys[k], split.bytes[k]);
}

void write_memory(JsonWriter& json, const Profile& profile) {
  const auto& timeline = profile.memory;
  json.key("memory");
  json.begin_object();
  json.field("peak_memory_bytes", timeline.peak_memory_bytes());
  id_or_null(json, "peak_op", timeline.peak_op);
  layer_or_null(json, profile, "peak_layer", timeline.peak_op);
  json.key("split");
  json.begin_object(JsonLayout::kInline);
  write_split(json, timeline.at_peak);
  json.end_object();
  json.objects("phases", memory_phases(*profile.graph, timeline), [&](const MemoryPhase& phase) {
    json.field("name", phase.name);
    json.field("peak_memory_bytes", timeline.weights + phase.peak);
    id_or_null(json, "peak_op", phase.peak_op);
  });
  json.end_object();
}

std::string memory_json(const MemoryReport& report) {
  std::string out;
  MemoryWriter(report, out).write();
  return out + "\n";
}

std::string memory_csv(const MemoryReport& report) {
  const Graph& graph = report.graph();
  std::string out = "index,op,layer,module,phase,in_use_bytes";
  for (const auto key : kKeys) out.append(",").append(key);
  out += '\n';
  auto phase = report.phases.begin();
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    while (op >= phase->end && phase + 1 != report.phases.end()) ++phase;
    out.append(std::to_string(op)).append(",").append(csv_field(graph.op_name(graph.ops[op])));
    out.append(",").append(csv_field(layer_name(*report.profile, op)));
    out.append(",").append(csv_field(module_path(graph, op)));
    out.append(",").append(csv_field(op >= phase->begin ? phase->name : std::string_view()));
    out.append(",").append(std::to_string(report.splits[op].total().value()));
    for (const auto bytes : report.splits[op].bytes) out.append(",").append(std::to_string(bytes.value()));
    out += '\n';
  }
  return out;
}

}  // namespace opscope
