// The profile for programs: every view, every number to the last digit. Keys are the quantities' names
// everywhere else; `total_flops`, `total_memory` and a layer's `memory` repeat them under the names older
// scripts read.
#include <memory>
#include <optional>
#include <ranges>

#include "report/fuse/report.h"
#include "report/hardware/hardware.h"
#include "report/memory/report.h"
#include "report/predict/predict.h"
#include "report/times/times.h"

namespace opscope {
namespace {

// CSV has what was measured in columns of its own, JSON in an object.
template <class Row, class Of>
Columns<Row> measured_columns(const Of& statistics_of) {
  Columns<Row> columns = in_format_alone(In::kCsv, through<Row>(statistics_of, statistics_columns()));
  return columns +=
         {{in_json("time_statistics"), [=](const Row& row) { return statistics_cell(statistics_of(row)); }}};
}

Columns<TypeRow> type_columns(const Profile& profile, const OpTimes* times) {
  Columns<TypeRow> columns{{"type", &TypeRow::type}, {"category", &TypeRow::category}};
  columns += through<TypeRow>(&TypeRow::metrics, metric_columns(profile));
  if (times)
    columns += measured_columns<TypeRow>([&profile, times, ops = ops_by_type(profile)](const TypeRow& row) {
      return times->of_ops(ops[index_in(profile.types(), row)]);
    });
  return columns;
}

// On the host's clock: all that passes in a module's calls, and what of it is outside ops; of the module
// alone too.
Columns<ModuleRow> wall_columns(std::vector<Metrics> own_of_modules) {
  using Row = const ModuleRow&;
  const auto own = [of = std::make_shared<std::vector<Metrics>>(std::move(own_of_modules))](
                       Row row) -> const Metrics& { return (*of)[row.module]; };
  return {{"wall_seconds", [](Row row) { return row.metrics.wall_seconds(); }},
          {"outside_seconds", [](Row row) { return row.metrics.outside_seconds(); }},
          {"own_wall_seconds", [own](Row row) { return own(row).wall_seconds(); }},
          {"own_outside_seconds", [own](Row row) { return own(row).outside_seconds(); }}};
}

Columns<ModuleRow> module_columns(const Profile& profile, const OpTimes* times) {
  const Graph& graph = *profile.graph;
  using Row = const ModuleRow&;
  const auto at = [&](Row row) { return index_in(profile.modules(), row); };
  Columns<ModuleRow> columns{{"path", [&](Row row) { return graph.path(graph.modules[row.module]); }},
                             {"name", [&](Row row) { return graph.text(graph.modules[row.module].name); }},
                             {"type", [&](Row row) { return graph.text(graph.modules[row.module].type); }},
                             {"depth", &ModuleRow::depth},
                             {"calls", &ModuleRow::calls}};
  columns += parameter_columns<ModuleRow>();
  columns += through<ModuleRow>(&ModuleRow::metrics, metric_columns(profile));
  if (times) {
    columns += measured_columns<ModuleRow>([=](Row row) { return times->of_module(at(row)); });
    columns +=
        {{in_json("own_time_statistics"),
          [=](Row row) { return statistics_cell(times->of_module_alone(at(row))); }},
         {in_json("call_statistics"), [=](Row row) { return statistics_cell(times->of_calls(at(row))); }}};
    if (has_wall(profile)) columns += wall_columns(own_metrics(profile));
  }
  return columns += {{in_csv("output_shape"), [&](Row row) { return outputs_cell(graph, row); }},
                     {in_json("output_shape"), [&](Row row) { return shape_cell(graph, row.output); }}};
}

Columns<LayerRow> layer_columns(const Profile& profile, const OpTimes* times) {
  const Graph& graph = *profile.graph;
  using Row = const LayerRow&;
  Columns<LayerRow> columns{{"name", &LayerRow::name},
                            {"type", &LayerRow::type},
                            {"module", [&graph](Row row) { return graph.path(graph.modules[row.module]); }}};
  columns += parameter_columns<LayerRow>();
  columns += through<LayerRow>(&LayerRow::metrics, cost_columns());
  const auto output = [&graph](Row row) { return shape_cell(graph, row.output); };
  Columns<Metrics> on_device = predicted_columns(profile);
  if (has_device(profile)) on_device += roofline_columns();
  const auto rooflines = through<LayerRow>(&LayerRow::metrics, on_device);
  columns += {{in_csv("bottleneck"), &LayerRow::bottleneck},
              {"confidence", [](Row row) { return name(row.metrics.confidence); }},
              {in_csv("output_shape"), output}};
  columns += through<LayerRow>(&LayerRow::metrics, time_columns(profile));
  columns += in_format_alone(In::kJson, rooflines);
  if (times)
    columns += measured_columns<LayerRow>(
        [&profile, times](Row row) { return times->of_layer(index_in(profile.layers(), row)); });
  columns += in_format_alone(In::kCsv, rooflines);
  return columns += {{in_json("memory"), [](Row row) { return row.metrics.memory_bytes(); }},
                     {in_json("bottleneck"), &LayerRow::bottleneck},
                     {in_json("output_shape"), output}};
}

struct ProfileWriter {
  JsonWriter& json;
  const Profile& profile;
  const Graph& graph = *profile.graph;
  const Columns<Metrics> metric_fields = metric_columns(profile), time_fields = time_columns(profile),
                         roofline_fields = roofline_columns(), predicted_fields = predicted_columns(profile);
  std::optional<OpTimes> measured{};  // where it was
  std::vector<ValueId> inputs{};      // of an op

  void write() {
    begin_report(json, graph);
    json.fields("convention", name(profile.options.convention), "ridge", profile.options.ridge);
    json.fields("total_flops", profile.totals.flops, "total_memory", profile.totals.memory_bytes());
    each_part([](std::string_view, auto&& write_it) { write_it(); });
    json.end_object();
  }
  void write_part(std::string_view wanted) {
    bool found = false;
    each_part([&](std::string_view key, auto&& write_it) {
      if (key == wanted) found = true, write_it();
    });
    if (!found) throw Error("a profile has no part called '" + std::string(wanted) + "'");
  }

  // In the order of the file. What a profile does not have writes nothing.
  void each_part(auto&& part) {
    const auto part_if = [&](bool has, std::string_view key, auto&& write_it) {
      part(key, [&] {
        if (has) write_it();
      });
    };
    part("totals", [&] { totals(); });
    part_if(!profile.experts.facts().empty(), "experts", [&] { experts(); });
    part("inputs", [&] { values("inputs", graph.inputs); });
    part("outputs", [&] { values("outputs", graph.outputs); });
    part("capture", [&] { capture(); });
    part("coverage", [&] { coverage(); });
    part("bottlenecks", [&] { bottlenecks(); });
    part("memory", [&] { write_memory(json, profile); });
    part_if(has_device(profile), "hardware", [&] { write_hardware(json, profile); });
    part_if(is_measured(profile), "measurement", [&] { write_measurement(json, profile, *times()); });
    part("types", [&] { write_rows(json, "types", type_columns(profile, times()), profile.types()); });
    part("modules",
         [&] { write_rows(json, "modules", module_columns(profile, times()), profile.modules()); });
    part("layers", [&] { write_rows(json, "layers", layer_columns(profile, times()), profile.layers()); });
    part("ops", [&] { json.objects("ops", all_ops(graph), [&](OpId id) { op(id); }); });
    part("partition", [&] { write_partition(json, profile); });
    part("subgraphs", [&] { write_subgraphs(json, profile); });
    // A tracer's graphs. Parts and nodes count from 1, as --graph-part does.
    part_if(is_traced(), "parts",
            [&] { write_rows(json, "parts", part_columns(graph, metric_fields), profile.parts()); });
    part_if(is_traced(), "outside",
            [&] { json.inline_object("outside", [&] { metrics(profile.outside()); }); });
    part_if(is_traced(), "breaks", [&] { write_rows(json, "breaks", break_columns(), graph.breaks); });
    part_if(is_traced(), "nodes",
            [&] { json.objects("nodes", profile.nodes(), [&](const NodeRow& row) { node(row); }); });
    part("diagnostics", [&] { diagnostics(); });
    part("advice", [&] { advice(); });
  }

  void metrics(const Metrics& metrics) { write_fields(json, metric_fields, metrics); }
  // nullptr where nothing was measured.
  const OpTimes* times() {
    if (!measured && is_measured(profile)) measured.emplace(profile);
    return measured ? &*measured : nullptr;
  }

  void totals() {
    json.object("totals", [&] {
      write_fields(json, parameter_columns<ModuleRow>(), ModuleRow{.parameters = profile.parameters});
      json.fields("param_bytes", profile.parameters.bytes, "buffer_bytes", profile.parameters.buffer_bytes);
      if (const auto active = profile.experts.facts().active_parameters)
        json.field("active_parameters", *active);
      metrics(profile.totals);
      json.field("layers", [&] { return profile.layers().size(); });
      json.field("modules", graph.modules.size());
      json.field("subgraphs", [&] { return profile.partition().subgraphs.size(); });
      json.field("peak_memory_bytes", [&] { return profile.memory().peak_memory_bytes(); });
    });
  }

  void experts() {
    const ExpertFacts& facts = profile.experts.facts();
    const Routing& routing = profile.experts.routing();
    json.object("experts", [&] {
      json.fields("routing", text(routing), "params", facts.parameters, "param_bytes", facts.bytes);
      json.field("active_parameters", facts.active_parameters);
      json.field("active_parameters_without_embedding", facts.active_without_embedding);
      json.objects("layers", facts.layers, [&](const ExpertLayer& layer) {
        const Choice& choice = layer.choice;
        json.fields("module", graph.path(graph.modules[layer.module]), "experts", choice.experts);
        json.fields("chosen", choice.chosen, "tokens", choice.tokens, "params", layer.parameters);
        json.fields("param_bytes", layer.bytes, "reads_all", layer.is_dense);
        json.fields("read", layer.is_dense ? static_cast<double>(choice.experts) : choice.reached(routing));
        json.fields("least", layer.is_dense ? choice.experts : choice.least());
        json.fields("most", layer.is_dense ? choice.experts : choice.most());
      });
    });
  }

  void values(std::string_view key, const std::vector<ValueId>& ids) {
    json.objects(key, ids, [&](ValueId id) {
      const Value& value = graph.values[id];
      json.field("name", graph.text(value.name));
      json.list("shape", graph.shape(value));
      json.fields("dtype", name(value.dtype), "device", graph.text(value.device));
    });
  }

  void capture() {
    const CaptureInfo& info = graph.capture;
    json.object("capture", [&] {
      json.fields("tracer", info.tracer, "torch", info.torch, "seconds", info.seconds);
      json.fields("ops", graph.ops.size(), "slow_path_ops", slow_path_ops(info));
      counted("slow_path", info.slow_path);
      if (!info.rungs.empty()) write_rows(json, "rungs", rung_columns(), info.rungs);
    });
  }

  void coverage() {
    const Coverage& coverage = profile.coverage;
    json.object("coverage", [&] {
      json.fields("ops", coverage.ops, "exact", coverage.exact, "estimated", coverage.estimated);
      json.fields("upper_bound", coverage.upper_bound, "unknown", coverage.unknown);
      counted("unknown_ops", coverage.unknown_ops);
    });
  }
  void counted(std::string_view key, const std::vector<SlowOp>& ops) {
    json.objects(key, ops, [&](const SlowOp& op) { json.fields("op", op.op, "count", op.count); });
  }

  void bottlenecks() {
    const BottleneckSummary& summary = profile.bottlenecks();
    const std::pair<std::string_view, const Band&> bands[] = {
        {"compute_bound", summary.compute_bound}, {"memory_bound", summary.memory_bound},
        {"over_100", summary.over_100},           {"from_50_to_100", summary.from_50_to_100},
        {"from_10_to_50", summary.from_10_to_50}, {"under_10", summary.under_10}};
    json.object("bottlenecks", [&] {
      json.field("ridge", summary.ridge);
      for (const auto& band : bands)
        json.inline_object(band.first, [&, &of = band.second] {
          json.fields("ops", of.ops, "flops", of.flops, "memory_bytes", of.memory_bytes);
        });
    });
  }

  bool is_traced() const { return !graph.parts.empty(); }
  void node(const NodeRow& row) {
    const Node& node = graph.nodes[row.node];
    json.fields("index", row.node + 1, "part", node.part + 1, "kind", name(node.kind));
    json.fields("name", graph.text(node.name), "label", row.label, "target", graph.text(node.target));
    json.fields("module", graph.path(graph.modules[node.module]), "calls", row.calls);
    json.list("inputs", graph.inputs_of(node) | std::views::transform([](NodeId id) { return id + 1; }));
    tensors("outputs", graph.outputs_of(node));
    metrics(row.metrics);
    if (node.source) json.field("source", graph.text(node.source));
  }

  void op(OpId id) {
    const Op& op = graph.ops[id];
    const OpCost& cost = profile.costs[id];
    Metrics own;
    own += cost;
    json.fields("index", id, "op", graph.op_name(op), "overload",
                graph.text(graph.targets[op.target].overload));
    json.field("module", graph.path(graph.module_of(op)));
    json.field("layer", profile.layers()[profile.layer_of()[id]].name);
    if (is_traced()) write_field(json, "node", op.node == kNone ? Cell() : Cell(op.node + 1));
    json.field("category", name(cost.rule ? cost.rule->category : Category::kCustom));
    const auto& [macs, other_flops, specials] = cost.work;
    json.fields("macs", macs, "other_flops", other_flops, "specials", specials, "flops", cost.flops);
    const Traffic& traffic = cost.traffic;
    json.fields("input_bytes", traffic.input_bytes, "output_bytes", traffic.output_bytes);
    json.fields("weight_bytes", traffic.weight_bytes, "memory_bytes", traffic.total());
    json.field("arithmetic_intensity", own.arithmetic_intensity());
    json.field("confidence", name(cost.confidence));
    if (times()) {
      write_fields(json, time_fields, own);
      write_field(json, "time_statistics", statistics_cell(times()->of_op(id)));
    }
    if (has_device(profile)) {
      write_fields(json, roofline_fields, own);
      json.field("limit", name(profile.roofline.limits[id]));  // which may be its launch
    }
    if (is_predicted(profile)) {
      write_fields(json, predicted_fields, own);
      json.field("predicted_from", name(profile.predicted.ops[id].source));
    }
    inputs.clear();
    each_read(graph, op, [&](ValueId value) { inputs.push_back(value); });
    tensors("inputs", inputs);
    tensors("outputs", graph.outputs_of(op));
    if (op.source) json.field("source", graph.text(op.source));
  }
  void tensors(std::string_view key, std::span<const ValueId> ids) {
    json.objects(key, ids | std::views::filter([](ValueId id) { return id != kNone; }), [&](ValueId id) {
      const Value& value = graph.values[id];
      json.list("shape", graph.shape(value));
      json.fields("dtype", name(value.dtype), "kind", name(value.kind));
      if (value.name) json.field("name", graph.text(value.name));
    });
  }

  void diagnostics() {
    json.objects("diagnostics", profile.diagnostics, [&](const Diagnostic& row) {
      json.fields("kind", row.kind, "op", row.op, "module", row.module, "message", row.message);
    });
  }
  void advice() {
    json.objects("advice", profile.advice(), [&](const Advice& row) {
      json.field("finding", row.finding);
      json.list("suggestions", row.suggestions);
    });
  }
};

}  // namespace

void write_profile(JsonWriter& json, const Profile& profile) { ProfileWriter{json, profile}.write(); }

void write_profile_part(JsonWriter& json, const Profile& profile, std::string_view part) {
  ProfileWriter{json, profile}.write_part(part);
}

std::string to_json(const Profile& profile) {
  std::string out;
  // About what a row takes; spares copying a large text as it grows.
  out.reserve(4096 + 1100 * profile.costs.size());
  JsonWriter json(out);
  write_profile(json, profile);
  out += '\n';
  return out;
}

Table profile_rows(const Profile& profile, Level level) {
  std::optional<OpTimes> times;
  if (is_measured(profile)) times.emplace(profile);
  const OpTimes* measured = times ? &*times : nullptr;
  return level == Level::kModule ? table_of(module_columns(profile, measured), profile.modules(), In::kCsv)
                                 : table_of(layer_columns(profile, measured), profile.layers(), In::kCsv);
}

}  // namespace opscope
