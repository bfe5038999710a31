// The profile for programs: every view, every number to the last digit. Keys are the quantities' names
// everywhere else; `total_flops`, `total_memory` and a layer's `memory` repeat them under the names older
// scripts read.
#include <optional>
#include <ranges>

#include "base/text.h"
#include "report/fuse/report.h"
#include "report/hardware/hardware.h"
#include "report/memory/report.h"
#include "report/times/times.h"

namespace opscope {
namespace {

template <class Row>
std::size_t index_in(const std::vector<Row>& rows, const Row& row) {
  return static_cast<std::size_t>(&row - rows.data());
}

// CSV has what was measured in columns of its own, JSON in an object.
template <class Row, class Of>
Columns<Row> measured_columns(const Of& statistics_of) {
  Columns<Row> columns = in_format_alone(In::kCsv, through<Row>(statistics_of, statistics_columns()));
  return columns +=
         {{in_json("time_statistics"), [=](const Row& row) { return statistics_cell(statistics_of(row)); }}};
}

Columns<TypeRow> type_columns(const Profile& profile, const OpTimes* times) {
  Columns<TypeRow> columns{{"type", &TypeRow::type},
                           {"category", [](const TypeRow& row) { return name(row.category); }}};
  columns += through<TypeRow>(&TypeRow::metrics, metric_columns(profile));
  if (times)
    columns += measured_columns<TypeRow>([&profile, times, ops = ops_by_type(profile)](const TypeRow& row) {
      return times->of_ops(ops[index_in(profile.types(), row)]);
    });
  return columns;
}

Columns<ModuleRow> module_columns(const Profile& profile, const OpTimes* times) {
  const Graph& graph = *profile.graph;
  using Row = const ModuleRow&;
  const auto at = [&](Row row) { return index_in(profile.modules(), row); };
  const auto shape = [&](Row row) { return shape_cell(graph, row.output); };
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
  }
  columns.push_back({"output_shape", shape});
  return columns;
}

Columns<LayerRow> layer_columns(const Profile& profile, const OpTimes* times) {
  const Graph& graph = *profile.graph;
  using Row = const LayerRow&;
  Columns<LayerRow> columns{{"name", &LayerRow::name},
                            {"type", &LayerRow::type},
                            {"module", [&graph](Row row) { return graph.path(graph.modules[row.module]); }}};
  columns += parameter_columns<LayerRow>();
  columns += through<LayerRow>(&LayerRow::metrics, cost_columns());
  const Columns<LayerRow> bound{{"bottleneck", [](Row row) { return name(row.bottleneck); }}};
  const Columns<LayerRow> output{
      {"output_shape", [&graph](Row row) { return shape_cell(graph, row.output); }}};
  const auto rooflines =
      through<LayerRow>(&LayerRow::metrics, has_device(profile) ? roofline_columns() : Columns<Metrics>());
  columns += in_format_alone(In::kCsv, bound);
  columns += through<LayerRow>(&LayerRow::metrics, cost_columns("confidence"));
  columns += in_format_alone(In::kCsv, output);
  columns += through<LayerRow>(&LayerRow::metrics, time_columns(profile));
  columns += in_format_alone(In::kJson, rooflines);
  if (times)
    columns += measured_columns<LayerRow>(
        [&profile, times](Row row) { return times->of_layer(index_in(profile.layers(), row)); });
  columns += in_format_alone(In::kCsv, rooflines);
  columns += {{in_json("memory"), [](Row row) { return row.metrics.memory_bytes(); }}};
  columns += in_format_alone(In::kJson, bound);
  return columns += in_format_alone(In::kJson, output);
}

class ProfileWriter {
 public:
  ProfileWriter(JsonWriter& json, const Profile& profile)
      : profile_(profile), graph_(*profile.graph), json_(json) {}

  void write() {
    begin_report(json_, graph_);
    json_.fields("convention", name(profile_.options.convention), "ridge", profile_.options.ridge);
    json_.fields("total_flops", profile_.totals.flops, "total_memory", profile_.totals.memory_bytes());
    each_part([](std::string_view, auto&& write_it) { write_it(); });
    json_.end_object();
  }
  void write_part(std::string_view wanted) {
    bool found = false;
    each_part([&](std::string_view key, auto&& write_it) {
      if (key == wanted) found = true, write_it();
    });
    if (!found) throw Error("a profile has no part called '" + std::string(wanted) + "'");
  }

 private:
  // In the order of the file. What a profile does not have writes nothing.
  void each_part(auto&& part) {
    const auto part_if = [&](bool has, std::string_view key, auto&& write_it) {
      part(key, [&] {
        if (has) write_it();
      });
    };
    part("totals", [&] { totals(); });
    part("inputs", [&] { values("inputs", graph_.inputs); });
    part("outputs", [&] { values("outputs", graph_.outputs); });
    part("capture", [&] { capture(); });
    part("coverage", [&] { coverage(); });
    part("bottlenecks", [&] { bottlenecks(); });
    part("memory", [&] { write_memory(json_, profile_); });
    part_if(has_device(profile_), "hardware", [&] { write_hardware(json_, profile_); });
    part_if(is_measured(profile_), "measurement", [&] { write_measurement(json_, profile_, *times()); });
    part("types", [&] { write_rows(json_, "types", type_columns(profile_, times()), profile_.types()); });
    part("modules",
         [&] { write_rows(json_, "modules", module_columns(profile_, times()), profile_.modules()); });
    part("layers", [&] { write_rows(json_, "layers", layer_columns(profile_, times()), profile_.layers()); });
    part("ops", [&] { json_.objects("ops", all_ops(graph_), [&](OpId id) { op(id); }); });
    part("partition", [&] { write_partition(json_, profile_); });
    part("subgraphs", [&] { write_subgraphs(json_, profile_); });
    // A tracer's graphs. Parts and nodes count from 1, as --graph-part does.
    part_if(is_traced(), "parts",
            [&] { write_rows(json_, "parts", part_columns(graph_, metrics_), profile_.parts()); });
    part_if(is_traced(), "outside",
            [&] { json_.inline_object("outside", [&] { metrics(profile_.outside()); }); });
    part_if(is_traced(), "breaks", [&] { write_rows(json_, "breaks", break_columns(), graph_.breaks); });
    part_if(is_traced(), "nodes",
            [&] { json_.objects("nodes", profile_.nodes(), [&](const NodeRow& row) { node(row); }); });
    part("diagnostics", [&] { diagnostics(); });
    part("advice", [&] { advice(); });
  }

  void metrics(const Metrics& metrics) { write_fields(json_, metrics_, metrics); }
  // nullptr where nothing was measured.
  const OpTimes* times() {
    if (!times_ && is_measured(profile_)) times_.emplace(profile_);
    return times_ ? &*times_ : nullptr;
  }

  void totals() {
    json_.object("totals", [&] {
      write_fields(json_, parameter_columns<ModuleRow>(), ModuleRow{.parameters = profile_.parameters});
      json_.fields("param_bytes", profile_.parameters.bytes, "buffer_bytes",
                   profile_.parameters.buffer_bytes);
      metrics(profile_.totals);
      json_.field("layers", [&] { return profile_.layers().size(); });
      json_.field("modules", graph_.modules.size());
      json_.field("subgraphs", [&] { return profile_.partition().subgraphs.size(); });
      json_.field("peak_memory_bytes", [&] { return profile_.memory().peak_memory_bytes(); });
    });
  }

  void values(std::string_view key, const std::vector<ValueId>& ids) {
    json_.objects(key, ids, [&](ValueId id) {
      const Value& value = graph_.values[id];
      json_.field("name", graph_.text(value.name));
      json_.list("shape", graph_.shape(value));
      json_.fields("dtype", name(value.dtype), "device", graph_.text(value.device));
    });
  }

  void capture() {
    const CaptureInfo& info = graph_.capture;
    json_.object("capture", [&] {
      json_.fields("tracer", info.tracer, "torch", info.torch, "seconds", info.seconds);
      json_.fields("ops", graph_.ops.size(), "slow_path_ops", slow_path_ops(info));
      counted("slow_path", info.slow_path);
      if (!info.rungs.empty()) write_rows(json_, "rungs", rung_columns(), info.rungs);
    });
  }

  void coverage() {
    const Coverage& coverage = profile_.coverage;
    json_.object("coverage", [&] {
      json_.fields("ops", coverage.ops, "exact", coverage.exact, "estimated", coverage.estimated);
      json_.fields("upper_bound", coverage.upper_bound, "unknown", coverage.unknown);
      counted("unknown_ops", coverage.unknown_ops);
    });
  }
  void counted(std::string_view key, const std::vector<SlowOp>& ops) {
    json_.objects(key, ops, [&](const SlowOp& op) { json_.fields("op", op.op, "count", op.count); });
  }

  void bottlenecks() {
    const BottleneckSummary& summary = profile_.bottlenecks();
    const std::pair<std::string_view, const Band&> bands[] = {
        {"compute_bound", summary.compute_bound}, {"memory_bound", summary.memory_bound},
        {"over_100", summary.over_100},           {"from_50_to_100", summary.from_50_to_100},
        {"from_10_to_50", summary.from_10_to_50}, {"under_10", summary.under_10}};
    json_.object("bottlenecks", [&] {
      json_.field("ridge", summary.ridge);
      for (const auto& band : bands)
        json_.inline_object(band.first, [&, &of = band.second] {
          json_.fields("ops", of.ops, "flops", of.flops, "memory_bytes", of.memory_bytes);
        });
    });
  }

  bool is_traced() const { return !graph_.parts.empty(); }
  void node(const NodeRow& row) {
    const Node& node = graph_.nodes[row.node];
    json_.fields("index", row.node + 1, "part", node.part + 1, "kind", name(node.kind));
    json_.fields("name", graph_.text(node.name), "label", row.label, "target", graph_.text(node.target));
    json_.fields("module", graph_.path(graph_.modules[node.module]), "calls", row.calls);
    json_.list("inputs", graph_.inputs_of(node) | std::views::transform([](NodeId id) { return id + 1; }));
    tensors("outputs", graph_.outputs_of(node));
    metrics(row.metrics);
    if (node.source) json_.field("source", graph_.text(node.source));
  }

  void op(OpId id) {
    const Op& op = graph_.ops[id];
    const OpCost& cost = profile_.costs[id];
    Metrics own;
    own += cost;
    json_.fields("index", id, "op", graph_.op_name(op), "overload",
                 graph_.text(graph_.targets[op.target].overload));
    json_.field("module", graph_.path(graph_.module_of(op)));
    json_.field("layer", profile_.layers()[profile_.layer_of()[id]].name);
    if (is_traced()) write_field(json_, "node", op.node == kNone ? Cell() : Cell(op.node + 1));
    json_.field("category", name(cost.rule ? cost.rule->category : Category::kCustom));
    const auto& [macs, other_flops, specials] = cost.work;
    json_.fields("macs", macs, "other_flops", other_flops, "specials", specials, "flops", cost.flops);
    const Traffic& traffic = cost.traffic;
    json_.fields("input_bytes", traffic.input_bytes, "output_bytes", traffic.output_bytes);
    json_.fields("weight_bytes", traffic.weight_bytes, "memory_bytes", traffic.total());
    json_.field("arithmetic_intensity", own.arithmetic_intensity());
    json_.field("confidence", name(cost.confidence));
    if (times()) {
      write_fields(json_, time_, own);
      write_field(json_, "time_statistics", statistics_cell(times()->of_op(id)));
    }
    if (has_device(profile_)) {
      write_fields(json_, roofline_, own);
      json_.field("limit", name(profile_.roofline.limits[id]));  // which may be its launch
    }
    tensors("inputs", tensor_arguments(op));
    tensors("outputs", graph_.outputs_of(op));
    if (op.source) json_.field("source", graph_.text(op.source));
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
    json_.objects(key, ids | std::views::filter([](ValueId id) { return id != kNone; }), [&](ValueId id) {
      const Value& value = graph_.values[id];
      json_.list("shape", graph_.shape(value));
      json_.fields("dtype", name(value.dtype), "kind", name(value.kind));
      if (value.name) json_.field("name", graph_.text(value.name));
    });
  }

  void diagnostics() {
    json_.objects("diagnostics", profile_.diagnostics, [&](const Diagnostic& row) {
      json_.fields("kind", row.kind, "op", row.op, "module", row.module, "message", row.message);
    });
  }
  void advice() {
    json_.objects("advice", profile_.advice(), [&](const Advice& row) {
      json_.field("finding", row.finding);
      json_.list("suggestions", row.suggestions);
    });
  }

  const Profile& profile_;
  const Graph& graph_;
  JsonWriter& json_;
  std::optional<OpTimes> times_;  // where it was measured
  const Columns<Metrics> metrics_ = metric_columns(profile_), time_ = time_columns(profile_),
                         roofline_ = roofline_columns();
  std::vector<ValueId> inputs_;
};

}  // namespace

void write_profile(JsonWriter& json, const Profile& profile) { ProfileWriter(json, profile).write(); }

void write_profile_part(JsonWriter& json, const Profile& profile, std::string_view part) {
  ProfileWriter(json, profile).write_part(part);
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
