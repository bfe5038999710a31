// The order of keys here is the order that the reader expects first. What has its default value is left out.
#include <cmath>
#include <ranges>

#include "base/json_writer.h"
#include "graph/graph.h"
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
    section("modules", graph_.modules);
    section("scopes", graph_.scopes);
    json_.list("storages", graph_.storages | std::views::transform(&Storage::bytes));
    lifetimes();
    section("values", graph_.values);
    section("owned", graph_.owned);
    json_.list("inputs", graph_.inputs);
    json_.list("outputs", graph_.outputs);
    section_unless_empty("parts", graph_.parts);
    section_unless_empty("breaks", graph_.breaks);
    section_unless_empty("nodes", graph_.nodes);
    section_unless_empty("phases", graph_.phases);
    section("ops", graph_.ops);
    section("declared", graph_.declared);
    section("diagnostics", graph_.diagnostics);
    cuda_device();
    kv_cache();
    if (!graph_.measurement.empty()) {
      json_.key("measurement");
      write_json(json_, graph_.measurement);
    }
    json_.end_object();
  }

 private:
  // An array with one object per line; each object opens with its index where `Item` is referred to by one.
  template <class Item>
  void section(std::string_view name, const std::vector<Item>& items) {
    json_.key(name);
    json_.begin_array();
    std::size_t id = 0;
    for (const auto& item : items) {
      json_.begin_object(kInline);
      constexpr bool kHasId = std::is_same_v<Item, Module> || std::is_same_v<Item, Scope> ||
                              std::is_same_v<Item, Value> || std::is_same_v<Item, Node> ||
                              std::is_same_v<Item, Op>;
      if constexpr (kHasId) json_.field("id", id++);
      write(item);
      json_.end_object();
    }
    json_.end_array();
  }

  // What only a tracer or a training step fills in.
  template <class Item>
  void section_unless_empty(std::string_view name, const std::vector<Item>& items) {
    if (!items.empty()) section(name, items);
  }

  std::string_view text(StringId id) const { return graph_.text(id); }
  void text_unless_empty(std::string_view key, std::string_view words) {
    if (!words.empty()) json_.field(key, words);
  }
  void number_unless(std::int64_t usual, std::string_view key, std::int64_t number) {
    if (number != usual) json_.field(key, number);
  }
  void id_unless(Id usual, std::string_view key, Id id) {
    if (id != usual) json_.field(key, id);
  }

  void capture() {
    const auto& info = graph_.capture;
    json_.key("capture");
    json_.begin_object();
    json_.fields("model", info.model, "source", info.source, "tracer", info.tracer, "torch", info.torch);
    json_.key("seconds");
    real(info.seconds);
    section("slow_path", info.slow_path);
    section("dependencies", info.dependencies);
    section_unless_empty("rungs", info.rungs);
    if (info.facts.is_known())
      json_.inline_object("facts", [&] {
        json_.fields("positions", info.facts.positions, "published_dtype", info.facts.published_dtype);
      });
    published(info.published);
    json_.end_object();
  }

  void published(const PublishedStorage& storage) {
    if (storage.method.empty()) return;
    json_.key("published");
    json_.begin_object(kInline);
    json_.field("method", storage.method);
    text_unless_empty("scheme", storage.scheme);
    if (!storage.only.empty()) json_.list("only", storage.only);
    if (!storage.without.empty()) json_.list("without", storage.without);
    json_.end_object();
  }

  void write(const SlowOp& slow) { json_.fields("op", slow.op, "count", slow.count); }
  void write(const Dependency& file) {
    json_.fields("path", file.path, "bytes", file.bytes, "modified_ns", file.modified_ns);
  }
  void write(const Phase& phase) { json_.fields("name", phase.name, "begin", phase.begin); }
  void write(const Part& part) { json_.fields("name", part.name, "calls", part.calls); }
  void write(const Owned& owned) {
    json_.fields("module", owned.module, "value", owned.value, "name", text(owned.name));
  }
  void write(const Diagnostic& found) {
    json_.fields("kind", found.kind, "op", found.op, "module", found.module, "message", found.message);
  }

  void write(const Rung& rung) {
    json_.fields("tracer", rung.tracer, "outcome", rung.outcome);
    text_unless_empty("reason", rung.reason);
    text_unless_empty("hint", rung.hint);
    text_unless_empty("detail", rung.detail);
    if (rung.seconds == 0) return;
    json_.key("seconds");
    real(rung.seconds);
  }

  void write(const Module& module) {
    id_unless(kNone, "parent", module.parent);
    json_.fields("name", text(module.name), "path", text(module.path), "type", text(module.type));
  }

  void write(const Scope& scope) {
    id_unless(kNone, "parent", scope.parent);
    json_.field("module", scope.module);
    id_unless(0, "call", scope.call);
    if (scope.tells_outputs()) json_.list("outputs", graph_.outputs_of(scope));
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

  void cuda_device() {
    if (!graph_.cuda) return;
    const auto& [device, pool] = *graph_.cuda;
    json_.inline_object("cuda_device", [&] {
      json_.fields("major", device.major, "minor", device.minor, "processors", device.processors,
                   "cublas_pool_bytes", pool);
    });
  }
  void kv_cache() {
    const KvCache& of = graph_.kv_cache;
    if (of.empty()) return;
    json_.key("kv_cache");
    json_.begin_object();
    json_.fields("type", of.type, "batch", of.batch, "past_len", of.past_len);
    number_unless(0, "capacity", of.capacity);
    number_unless(1, "block", of.block);
    section("layers", of.layers);
    if (const LatentAttention& latent = of.latent; !latent.empty())
      json_.inline_object("latent", [&] {
        json_.fields("layers", latent.layers, "heads", latent.heads, "kv_lora_rank", latent.kv_lora_rank,
                     "qk_rope_head_dim", latent.qk_rope_head_dim, "qk_nope_head_dim", latent.qk_nope_head_dim,
                     "v_head_dim", latent.v_head_dim);
      });
    json_.end_object();
  }
  void write(const KvLayer& layer) {
    json_.fields("kind", name(layer.kind), "dtype", name(layer.dtype));
    number_unless(0, "heads", layer.heads);
    number_unless(0, "key_width", layer.key_width);
    number_unless(0, "value_width", layer.value_width);
    number_unless(0, "window", layer.window);
    json_.field("bytes_per_token", layer.bytes_per_token);
    if (layer.state_bytes != 0) json_.field("state_bytes", layer.state_bytes);
    if (layer.shared_bytes != 0) json_.field("shared_bytes", layer.shared_bytes);
  }

  void write(const Value& value) {
    json_.fields("kind", name(value.kind), "dtype", name(value.dtype));
    json_.list("shape", graph_.shape(value));
    if (value.strides.size != 0) json_.list("strides", graph_.strides(value));
    if (value.offset != 0) json_.field("offset", value.offset);
    id_unless(kNone, "storage", value.storage);
    text_unless_empty("name", text(value.name));
    text_unless_empty("device", text(value.device));
    if (value.trainable) json_.field("trainable", true);
    if (const SparseForm* form = graph_.sparse_form(value)) {
      json_.key("sparse");
      json_.begin_object(kInline);
      json_.fields("layout", text(form->layout), "stored", form->stored, "index_bytes", form->index_bytes);
      json_.end_object();
    }
    if (const StoredForm* form = graph_.stored_form(value)) {
      json_.key("stored");
      json_.begin_object(kInline);
      json_.fields("scheme", text(form->scheme), "bytes", form->bytes, "flops", form->flops);
      json_.end_object();
    }
  }

  void write(const Break& broken) {
    json_.field("reason", broken.reason);
    text_unless_empty("detail", broken.detail);
    text_unless_empty("source", broken.source);
    id_unless(kNone, "after", broken.after);
  }

  void write(const Node& node) {
    json_.fields("kind", name(node.kind), "name", text(node.name));
    text_unless_empty("target", text(node.target));
    text_unless_empty("source", text(node.source));
    id_unless(0, "part", node.part);
    id_unless(0, "module", node.module);
    if (node.inputs.size != 0) json_.list("inputs", graph_.inputs_of(node));
    if (node.outputs.size != 0) json_.list("outputs", graph_.outputs_of(node));
  }

  void write(const Op& op) {
    const auto& target = graph_.targets[op.target];
    json_.field("op", text(target.name));
    text_unless_empty("overload", text(target.overload));
    json_.field("scope", op.scope);
    json_.key("arguments");
    json_.begin_object(kInline);
    for (const auto& argument : graph_.arguments_of(op)) {
      json_.key(graph_.text(argument.name));
      write(argument);
    }
    json_.end_object();
    json_.list("outputs", graph_.outputs_of(op));
    text_unless_empty("source", text(op.source));
    if (op.bounded) json_.field("bounded", true);
    if (op.estimated) json_.field("estimated", true);
    id_unless(kNone, "node", op.node);
    if (op.workspace != 0) json_.field("workspace", op.workspace);
    if (op.repeats != 1) json_.field("repeats", op.repeats);
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
        return json_.value(text(static_cast<StringId>(argument.integer)));
      case ArgumentKind::kFloat:
        if (std::isfinite(argument.real)) return json_.value(argument.real);
        [[fallthrough]];
      default:
        json_.begin_object(kInline);
        json_.key(name(argument.kind));
        write_tagged(argument);
        json_.end_object();
    }
  }

  void write_tagged(const Argument& argument) {
    if (argument.kind == ArgumentKind::kTensor) return json_.value(argument.integer);
    if (argument.kind == ArgumentKind::kFloat) return real(argument.real);
    if (argument.kind == ArgumentKind::kDType) return json_.value(name(static_cast<DType>(argument.integer)));
    if (argument.kind == ArgumentKind::kIntList) return json_.list(graph_.ints_in(argument));
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
    if (!cost.source.empty()) json_.field("source", cost.source);
  }

  const Graph& graph_;
  JsonWriter& json_;
};

// --- What was measured

void environment(JsonWriter& json, const Environment& of) {
  const std::pair<const char*, const std::string&> words[] = {
      {"device", of.device}, {"device_name", of.device_name},
      {"host", of.host},     {"system", of.system},
      {"torch", of.torch},   {"runtime", of.runtime},
      {"driver", of.driver}, {"precision", of.precision},
      {"dtype", of.dtype}};
  for (const auto& [key, text] : words)
    if (!text.empty()) json.field(key, text);
  if (of.threads != 0) json.field("threads", of.threads);
  if (of.memory_bytes != 0) json.field("memory_bytes", of.memory_bytes);
  if (!of.clocks_mhz.empty())
    json.objects("clocks_mhz", of.clocks_mhz,
                 [&](const auto& clock) { json.fields("name", clock.first, "mhz", clock.second); });
}

std::optional<Nanoseconds> measured(Nanoseconds sample) {
  return sample == kUnmeasured ? std::nullopt : std::optional(sample);
}

}  // namespace

// Samples are flat arrays of whole nanoseconds, by op (or scope) and then by run: a model of a thousand ops
// and a hundred runs is a hundred thousand numbers, and nothing else should be written about each.
void write_json(JsonWriter& json, const Measurement& of) {
  json.begin_object();
  json.inline_object("environment", [&] { environment(json, of.environment); });
  json.fields("warmup", of.warmup, "runs", of.runs, "on_device", of.on_device, "empty_interval_ns",
              of.empty_interval, "typical", of.typical);
  if (of.peak_memory_bytes != 0) json.field("peak_memory_bytes", of.peak_memory_bytes);
  if (of.base_memory_bytes != 0) json.field("base_memory_bytes", of.base_memory_bytes);
  const std::pair<const char*, const std::vector<Nanoseconds>&> lists[] = {
      {"plain_ns", of.plain},
      {"timed_ns", of.timed},
      {"plain_device_ns", of.plain_device},
      {"timed_device_ns", of.timed_device},
      {"host_ns", of.host},
      {"device_ns", of.device},
      {"scopes_ns", of.scopes},
      {"outside_ns", of.outside},
      {"repeated_ns", of.repeated},
      {"host_begin_ns", of.host_begin},
      {"device_begin_ns", of.device_begin},
      {"scope_begin_ns", of.scope_begin}};
  for (const auto& [key, samples] : lists)
    if (!samples.empty()) json.list(key, samples | std::views::transform(measured));
  if (!of.lines.empty())
    json.objects("lines", of.lines, [&](const OutsideLine& line) {
      json.field("scope", line.scope);
      if (line.after != kNone) json.field("after", line.after);
      if (line.before != kNone) json.field("before", line.before);
      if (!line.source.empty()) json.field("source", line.source);
      if (line.waits) json.field("waits", true);
      json.fields("count", line.count, "time_ns", line.time);
    });
  if (!of.unmatched.empty())
    json.objects("unmatched", of.unmatched, [&](const UnmatchedOp& op) {
      json.fields("op", op.op, "count", op.count, "total_ns", op.total);
    });
  json.end_object();
}

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
