// The profile as JSON: every view, every number to the last digit. Keys are the quantities' names everywhere
// else; `total_flops`, `total_memory` and a layer's `memory` repeat them under the names older scripts read.
#include "report/fuse/json.h"

#include <fmt/format.h>

#include <optional>

#include "base/text.h"
#include "report/core/json_parts.h"
#include "report/hardware/hardware.h"
#include "report/memory/report.h"
#include "report/times/json.h"
#include "report/trace/tracer_json.h"

namespace opscope {
namespace {

class ProfileWriter {
 public:
  ProfileWriter(const Profile& profile, std::string& out)
      : profile_(profile), graph_(*profile.graph), json_(out) {
    if (!graph_.measurement.empty()) times_.emplace(profile);
  }

  void write() {
    begin_report(json_, graph_);
    json_.field("convention", name(profile_.options.convention));
    json_.field("ridge", profile_.options.ridge);
    json_.field("total_flops", profile_.totals.flops);
    json_.field("total_memory", profile_.totals.memory_bytes());
    totals();
    values("inputs", graph_.inputs);
    values("outputs", graph_.outputs);
    capture();
    coverage();
    bottlenecks();
    write_memory(json_, profile_);
    if (has_device(profile_)) write_hardware(json_, profile_);
    if (times_) write_measurement(json_, profile_, *times_);
    types();
    json_.objects("modules", profile_.modules, [&](const ModuleRow& row) { module(row); });
    json_.objects("layers", profile_.layers, [&](const LayerRow& row) { layer(row); });
    ops();
    write_partition(json_, profile_);
    write_subgraphs(json_, profile_);
    if (!profile_.parts.empty()) tracer_graphs();
    json_.objects("diagnostics", profile_.diagnostics, [&](const Diagnostic& row) { diagnostic(row); });
    json_.objects("advice", profile_.advice, [&](const Advice& row) {
      json_.field("finding", row.finding);
      json_.list("suggestions", row.suggestions);
    });
    json_.end_object();
  }

 private:
  void work(const Work& work) {
    json_.field("macs", work.macs);
    json_.field("other_flops", work.other_flops);
    json_.field("specials", work.specials);
  }
  void traffic(const Traffic& traffic) {
    json_.field("input_bytes", traffic.input_bytes);
    json_.field("output_bytes", traffic.output_bytes);
    json_.field("weight_bytes", traffic.weight_bytes);
    json_.field("memory_bytes", traffic.total());
  }
  void metrics(const Metrics& metrics) {
    write_metrics(json_, kNeedsNothing, {.sums = metrics});
    json_.field("confidence", name(metrics.confidence));
    if (times_) write_time(json_, profile_, metrics);
    if (has_device(profile_)) write_roofline(json_, metrics);
  }
  void statistics(const Statistics& statistics) { write_statistics(json_, "time_statistics", statistics); }
  void parameters(const Parameters& parameters) {
    write_metrics(json_, kNeedsParameters, {.sums = profile_.totals, .parameters = &parameters});
  }
  void shape(std::string_view key, ValueId value) {
    if (value != kNone) return json_.list(key, graph_.shape(graph_.values[value]));
    json_.key(key);
    json_.null();
  }

  void totals() {
    json_.key("totals");
    json_.begin_object();
    parameters(profile_.parameters);
    json_.field("param_bytes", profile_.parameters.bytes);
    json_.field("buffer_bytes", profile_.parameters.buffer_bytes);
    metrics(profile_.totals);
    json_.field("layers", profile_.layers.size());
    json_.field("modules", profile_.modules.size());
    json_.field("subgraphs", profile_.partition.subgraphs.size());
    json_.field("peak_memory_bytes", profile_.memory.peak_memory_bytes());
    json_.end_object();
  }

  void values(std::string_view key, const std::vector<ValueId>& ids) {
    json_.objects(key, ids, [&](ValueId id) {
      const Value& value = graph_.values[id];
      json_.field("name", graph_.text(value.name));
      json_.list("shape", graph_.shape(value));
      json_.field("dtype", name(value.dtype));
      json_.field("device", graph_.text(value.device));
    });
  }

  void capture() {
    const CaptureInfo& info = graph_.capture;
    std::uint64_t slow = 0;
    for (const SlowOp& op : info.slow_path) slow += op.count;
    json_.key("capture");
    json_.begin_object();
    json_.field("tracer", info.tracer);
    json_.field("torch", info.torch);
    json_.field("seconds", info.seconds);
    json_.field("ops", graph_.ops.size());
    json_.field("slow_path_ops", slow);
    counted("slow_path", info.slow_path);
    if (!info.rungs.empty())
      json_.objects("rungs", info.rungs, [&](const Rung& row) { write_fields(json_, row); });
    json_.end_object();
  }

  // Parts and nodes count from 1, as --graph-part does.
  void tracer_graphs() {
    json_.objects("parts", profile_.parts, [&](const PartRow& row) {
      json_.field("part", row.part + 1);
      json_.field("name", graph_.parts[row.part].name);
      json_.field("calls", graph_.parts[row.part].calls);
      json_.field("nodes", row.nodes);
      metrics(row.metrics);
    });
    json_.key("outside");
    json_.begin_object(JsonLayout::kInline);
    metrics(profile_.outside);
    json_.end_object();
    json_.objects("breaks", graph_.breaks, [&](const Break& row) { write_fields(json_, row); });
    json_.objects("nodes", profile_.nodes, [&](const NodeRow& row) { node(row); });
  }
  void node(const NodeRow& row) {
    const Node& node = graph_.nodes[row.node];
    json_.field("index", row.node + 1);
    json_.field("part", node.part + 1);
    json_.field("kind", name(node.kind));
    json_.field("name", graph_.text(node.name));
    json_.field("label", row.label);
    json_.field("target", graph_.text(node.target));
    json_.field("module", graph_.path(graph_.modules[node.module]));
    json_.field("calls", row.calls);
    json_.key("inputs");
    json_.begin_array(JsonLayout::kInline);
    for (const NodeId input : graph_.inputs_of(node)) json_.value(input + 1);
    json_.end_array();
    tensors("outputs", graph_.outputs_of(node));
    metrics(row.metrics);
    if (node.source) json_.field("source", graph_.text(node.source));
  }

  void coverage() {
    const Coverage& coverage = profile_.coverage;
    json_.key("coverage");
    json_.begin_object();
    json_.field("ops", coverage.ops);
    json_.field("exact", coverage.exact);
    json_.field("estimated", coverage.estimated);
    json_.field("upper_bound", coverage.upper_bound);
    json_.field("unknown", coverage.unknown);
    counted("unknown_ops", coverage.unknown_ops);
    json_.end_object();
  }
  void counted(std::string_view key, const std::vector<SlowOp>& ops) {
    json_.objects(key, ops, [&](const SlowOp& op) {
      json_.field("op", op.op);
      json_.field("count", op.count);
    });
  }

  void bottlenecks() {
    const BottleneckSummary& summary = profile_.bottlenecks;
    json_.key("bottlenecks");
    json_.begin_object();
    json_.field("ridge", summary.ridge);
    band("compute_bound", summary.compute_bound);
    band("memory_bound", summary.memory_bound);
    band("over_100", summary.over_100);
    band("from_50_to_100", summary.from_50_to_100);
    band("from_10_to_50", summary.from_10_to_50);
    band("under_10", summary.under_10);
    json_.end_object();
  }
  void band(std::string_view key, const Band& band) {
    json_.key(key);
    json_.begin_object(JsonLayout::kInline);
    json_.field("ops", band.ops);
    json_.field("flops", band.flops);
    json_.field("memory_bytes", band.memory_bytes);
    json_.end_object();
  }

  void types() {
    const auto ops = times_ ? ops_by_type(profile_) : std::vector<std::vector<OpId>>{};
    json_.objects("types", profile_.types, [&](const TypeRow& row) {
      json_.field("type", row.type);
      json_.field("category", name(row.category));
      metrics(row.metrics);
      if (times_) statistics(times_->of_ops(ops[index(profile_.types, row)]));
    });
  }
  template <class Row>
  static std::size_t index(const std::vector<Row>& rows, const Row& row) {
    return static_cast<std::size_t>(&row - rows.data());
  }

  void module(const ModuleRow& row) {
    const Module& module = graph_.modules[row.module];
    json_.field("path", graph_.path(module));
    json_.field("name", graph_.text(module.name));
    json_.field("type", graph_.text(module.type));
    json_.field("depth", row.depth);
    json_.field("calls", row.calls);
    parameters(row.parameters);
    metrics(row.metrics);
    if (times_) module_times(index(profile_.modules, row));
    shape("output_shape", row.output);
  }
  void module_times(std::size_t row) {
    statistics(times_->of_module(row));
    write_statistics(json_, "own_time_statistics", times_->of_module_alone(row));
    write_statistics(json_, "call_statistics", times_->of_calls(row));
  }

  void layer(const LayerRow& row) {
    json_.field("name", row.name);
    json_.field("type", row.type);
    json_.field("module", graph_.path(graph_.modules[row.module]));
    parameters(row.parameters);
    metrics(row.metrics);
    if (times_) statistics(times_->of_layer(index(profile_.layers, row)));
    json_.field("memory", row.metrics.memory_bytes());
    json_.field("bottleneck", name(row.bottleneck));
    shape("output_shape", row.output);
  }

  void ops() {
    json_.key("ops");
    json_.begin_array();
    for (OpId id = 0; id < graph_.ops.size(); ++id) op(id);
    json_.end_array();
  }
  void op(OpId id) {
    const Op& op = graph_.ops[id];
    const OpCost& cost = profile_.costs[id];
    Metrics own;
    own += cost;
    json_.begin_object(JsonLayout::kInline);
    json_.field("index", id);
    json_.field("op", graph_.op_name(op));
    json_.field("overload", graph_.text(graph_.targets[op.target].overload));
    json_.field("module", graph_.path(graph_.modules[graph_.scopes[op.scope].module]));
    json_.field("layer", profile_.layers[profile_.layer_of[id]].name);
    if (!profile_.parts.empty()) id_or_null(json_, "node", op.node, 1);
    json_.field("category", name(cost.rule ? cost.rule->category : Category::kCustom));
    work(cost.work);
    json_.field("flops", cost.flops);
    traffic(cost.traffic);
    json_.field("arithmetic_intensity", own.arithmetic_intensity());
    json_.field("confidence", name(cost.confidence));
    if (times_) write_time(json_, profile_, own), statistics(times_->of_op(id));
    if (has_device(profile_)) roofline(id, own);
    tensors("inputs", tensor_arguments(op));
    tensors("outputs", graph_.outputs_of(op));
    if (op.source) json_.field("source", graph_.text(op.source));
    json_.end_object();
  }
  // Of an op its limit too, which may be its launch.
  void roofline(OpId id, const Metrics& own) {
    write_roofline(json_, own);
    json_.field("limit", name(profile_.roofline.limits[id]));
  }
  std::span<const ValueId> tensor_arguments(const Op& op) {
    inputs_.clear();
    for (const Argument& argument : graph_.arguments_of(op)) {
      if (argument.kind == ArgumentKind::kTensor) inputs_.push_back(static_cast<ValueId>(argument.integer));
      if (argument.kind != ArgumentKind::kTensorList) continue;
      const auto list = graph_.values_in(argument);
      inputs_.insert(inputs_.end(), list.begin(), list.end());
    }
    return inputs_;
  }
  void tensors(std::string_view key, std::span<const ValueId> ids) {
    json_.key(key);
    json_.begin_array(JsonLayout::kInline);
    for (const ValueId id : ids) {
      if (id == kNone) continue;
      const Value& value = graph_.values[id];
      json_.begin_object(JsonLayout::kInline);
      json_.list("shape", graph_.shape(value));
      json_.field("dtype", name(value.dtype));
      json_.field("kind", name(value.kind));
      if (value.name) json_.field("name", graph_.text(value.name));
      json_.end_object();
    }
    json_.end_array();
  }

  void diagnostic(const Diagnostic& row) {
    json_.field("kind", row.kind);
    json_.field("op", row.op);
    json_.field("module", row.module);
    json_.field("message", row.message);
  }

  const Profile& profile_;
  const Graph& graph_;
  JsonWriter json_;
  std::optional<OpTimes> times_;  // where it was measured
  std::vector<ValueId> inputs_;
};

}  // namespace

std::string to_json(const Profile& profile) {
  std::string out;
  // About what a row takes; spares copying a large text as it grows.
  out.reserve(4096 + 700 * profile.costs.size() + 400 * (profile.layers.size() + profile.modules.size()));
  ProfileWriter(profile, out).write();
  out += '\n';
  return out;
}

}  // namespace opscope
