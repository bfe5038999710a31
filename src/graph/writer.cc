// The order of keys here is the order that the reader expects first. What has its default value is left out.
#include "graph/writer.h"

#include <cmath>

#include "base/json_writer.h"
#include "graph/measurement.h"

namespace opscope {
namespace {

class Writer {
 public:
  Writer(const Graph& graph, JsonWriter& json) : graph_(graph), json_(json) {}

  void run() {
    json_.begin_object();
    json_.field("schema_version", kSchemaVersion);
    capture();
    section("modules", graph_.modules, [&](const Module& module) { write(module); });
    section("scopes", graph_.scopes, [&](const Scope& scope) { write(scope); });
    storages();
    lifetimes();
    section("values", graph_.values, [&](const Value& value) { write(value); });
    section("owned", graph_.owned, [&](const Owned& owned) { write(owned); });
    json_.list("inputs", graph_.inputs);
    json_.list("outputs", graph_.outputs);
    section_unless_empty("parts", graph_.parts, [&](const Part& part) { write(part); });
    section_unless_empty("breaks", graph_.breaks, [&](const Break& broken) { write(broken); });
    section_unless_empty("nodes", graph_.nodes, [&](const Node& node) { write(node); });
    section_unless_empty("phases", graph_.phases, [&](const Phase& phase) {
      json_.field("name", phase.name);
      json_.field("begin", phase.begin);
    });
    section("ops", graph_.ops, [&](const Op& op) { write(op); });
    section("declared", graph_.declared, [&](const DeclaredCost& cost) { write(cost); });
    section("diagnostics", graph_.diagnostics, [&](const Diagnostic& diagnostic) { write(diagnostic); });
    if (!graph_.measurement.empty()) {
      json_.key("measurement");
      write_json(json_, graph_.measurement);
    }
    json_.end_object();
  }

 private:
  // An array with one object per line; each object opens with its index where `Item` is referred to by one.
  template <class Item, class Write>
  void section(std::string_view name, const std::vector<Item>& items, Write write_item) {
    json_.key(name);
    json_.begin_array();
    std::size_t id = 0;
    for (const auto& item : items) {
      json_.begin_object(kInline);
      constexpr bool kHasId = std::is_same_v<Item, Module> || std::is_same_v<Item, Scope> ||
                              std::is_same_v<Item, Value> || std::is_same_v<Item, Node> ||
                              std::is_same_v<Item, Op>;
      if constexpr (kHasId) json_.field("id", id++);
      write_item(item);
      json_.end_object();
    }
    json_.end_array();
  }

  // What only a tracer or a training step fills in.
  template <class Item, class Write>
  void section_unless_empty(std::string_view name, const std::vector<Item>& items, Write write_item) {
    if (!items.empty()) section(name, items, write_item);
  }

  void text(std::string_view key, StringId id) { json_.field(key, graph_.text(id)); }
  void text_unless_empty(std::string_view key, StringId id) {
    if (id != 0) text(key, id);
  }
  void text_unless_empty(std::string_view key, const std::string& words) {
    if (!words.empty()) json_.field(key, words);
  }

  void capture() {
    const auto& info = graph_.capture;
    json_.key("capture");
    json_.begin_object();
    json_.field("model", info.model);
    json_.field("source", info.source);
    json_.field("tracer", info.tracer);
    json_.field("torch", info.torch);
    json_.key("seconds");
    real(info.seconds);
    section("slow_path", info.slow_path, [&](const SlowOp& slow) {
      json_.field("op", slow.op);
      json_.field("count", slow.count);
    });
    section("dependencies", info.dependencies, [&](const Dependency& file) {
      json_.field("path", file.path);
      json_.field("bytes", file.bytes);
      json_.field("modified_ns", file.modified_ns);
    });
    section_unless_empty("rungs", info.rungs, [&](const Rung& rung) { write(rung); });
    json_.end_object();
  }

  void write(const Rung& rung) {
    json_.field("tracer", rung.tracer);
    json_.field("outcome", rung.outcome);
    text_unless_empty("reason", rung.reason);
    text_unless_empty("hint", rung.hint);
    text_unless_empty("detail", rung.detail);
    if (rung.seconds == 0) return;
    json_.key("seconds");
    real(rung.seconds);
  }

  void write(const Module& module) {
    if (module.parent != kNone) json_.field("parent", module.parent);
    text("name", module.name);
    text("path", module.path);
    text("type", module.type);
  }

  void write(const Scope& scope) {
    if (scope.parent != kNone) json_.field("parent", scope.parent);
    json_.field("module", scope.module);
    if (scope.call != 0) json_.field("call", scope.call);
  }

  void storages() {
    json_.key("storages");
    json_.begin_array(kInline);
    for (const auto& storage : graph_.storages) json_.value(storage.bytes);
    json_.end_array();
  }

  void lifetimes() {
    if (graph_.lifetimes.empty()) return;
    const auto id = [&](OpId op) { op == kNone ? json_.null() : json_.value(op); };
    json_.key("lifetimes");
    json_.begin_array(kInline);
    for (const auto& [made, freed] : graph_.lifetimes) {
      json_.begin_array(kInline);
      id(made);
      id(freed);
      json_.end_array();
    }
    json_.end_array();
  }

  void write(const Value& value) {
    json_.field("kind", name(value.kind));
    json_.field("dtype", name(value.dtype));
    json_.list("shape", graph_.shape(value));
    if (value.strides.size != 0) json_.list("strides", graph_.strides(value));
    if (value.offset != 0) json_.field("offset", value.offset);
    if (value.storage != kNone) json_.field("storage", value.storage);
    text_unless_empty("name", value.name);
    text_unless_empty("device", value.device);
    if (value.trainable) json_.field("trainable", true);
  }

  void write(const Owned& owned) {
    json_.field("module", owned.module);
    json_.field("value", owned.value);
    text("name", owned.name);
  }

  void write(const Part& part) {
    json_.field("name", part.name);
    json_.field("calls", part.calls);
  }

  void write(const Break& broken) {
    json_.field("reason", broken.reason);
    text_unless_empty("detail", broken.detail);
    text_unless_empty("source", broken.source);
    if (broken.after != kNone) json_.field("after", broken.after);
  }

  void write(const Node& node) {
    json_.field("kind", name(node.kind));
    text("name", node.name);
    text_unless_empty("target", node.target);
    text_unless_empty("source", node.source);
    if (node.part != 0) json_.field("part", node.part);
    if (node.module != 0) json_.field("module", node.module);
    if (node.inputs.size != 0) json_.list("inputs", graph_.inputs_of(node));
    if (node.outputs.size != 0) json_.list("outputs", graph_.outputs_of(node));
  }

  void write(const Op& op) {
    const auto& target = graph_.targets[op.target];
    text("op", target.name);
    text_unless_empty("overload", target.overload);
    json_.field("scope", op.scope);
    json_.key("arguments");
    json_.begin_object(kInline);
    for (const auto& argument : graph_.arguments_of(op)) {
      json_.key(graph_.text(argument.name));
      write(argument);
    }
    json_.end_object();
    json_.list("outputs", graph_.outputs_of(op));
    text_unless_empty("source", op.source);
    if (op.bounded) json_.field("bounded", true);
    if (op.node != kNone) json_.field("node", op.node);
    if (op.workspace != 0) json_.field("workspace", op.workspace);
  }

  // Plain JSON where its type says enough; otherwise an object whose one key is the kind.
  void write(const Argument& argument) {
    switch (argument.kind) {
      case ArgumentKind::kNone:
        return json_.null();
      case ArgumentKind::kInt:
        return json_.value(argument.integer);
      case ArgumentKind::kBool:
        return json_.value(argument.integer != 0);
      case ArgumentKind::kString:
        return json_.value(graph_.text(static_cast<StringId>(argument.integer)));
      case ArgumentKind::kFloat:
        if (std::isfinite(argument.real)) return json_.value(argument.real);
        break;
      default:
        break;
    }
    json_.begin_object(kInline);
    json_.key(name(argument.kind));
    write_tagged(argument);
    json_.end_object();
  }

  void write_tagged(const Argument& argument) {
    switch (argument.kind) {
      case ArgumentKind::kTensor:
        return json_.value(argument.integer);
      case ArgumentKind::kFloat:
        return real(argument.real);
      case ArgumentKind::kDType:
        return json_.value(name(static_cast<DType>(argument.integer)));
      case ArgumentKind::kIntList:
        return json_.list(graph_.ints_in(argument));
      default:
        break;
    }
    json_.begin_array(kInline);
    if (argument.kind == ArgumentKind::kTensorList)
      for (const auto id : graph_.values_in(argument)) id == kNone ? json_.null() : json_.value(id);
    if (argument.kind == ArgumentKind::kFloatList)
      for (const auto item : graph_.reals_in(argument)) real(item);
    if (argument.kind == ArgumentKind::kBoolList)
      for (const auto item : graph_.ints_in(argument)) json_.value(item != 0);
    json_.end_array();
  }

  // JSON has no infinities (attention masks are full of them), so they are words.
  void real(double number) {
    if (std::isfinite(number)) return json_.value(number);
    json_.value(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
  }

  void write(const DeclaredCost& cost) {
    json_.field("op", cost.op);
    if (cost.macs) json_.field("macs", *cost.macs);
    if (cost.flops) json_.field("flops", *cost.flops);
    if (cost.bytes) json_.field("bytes", *cost.bytes);
  }

  void write(const Diagnostic& diagnostic) {
    json_.field("kind", diagnostic.kind);
    json_.field("op", diagnostic.op);
    json_.field("module", diagnostic.module);
    json_.field("message", diagnostic.message);
  }

  const Graph& graph_;
  JsonWriter& json_;
};

}  // namespace

std::string write_json(const Graph& graph) {
  std::string out;
  // A line of an op or value is about this long.
  constexpr std::size_t kBytesPerOp = 160, kBytesPerValue = 120;
  out.reserve(1024 + graph.ops.size() * kBytesPerOp + graph.values.size() * kBytesPerValue);
  JsonWriter json(out);
  Writer(graph, json).run();
  out += '\n';
  return out;
}

void write_json(const Graph& graph, const TextSink& sink) {
  std::string rest;
  JsonWriter json(rest, sink);
  Writer(graph, json).run();
  sink(rest += '\n');
}

}  // namespace opscope
