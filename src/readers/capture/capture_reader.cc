// The inverse of graph/writer.cc, section by section, in one pass and in the order of the file.
#include "readers/capture/capture_reader.h"

#include <fmt/format.h>

#include "base/choices.h"
#include "base/large_pages.h"
#include "readers/capture/argument_reader.h"
#include "readers/json/long_lists.h"

namespace opscope {
namespace {

using json::may;
using json::need;

// The kind of that name.
template <class Kind>
Kind kind_called(const json::Place& place, json::value item, Kind last) {
  if (const auto found = named(json::text(place, item), last)) return *found;
  json::fail(place, "expected " + one_of(names_up_to(last)));
}

class CaptureReader {
 public:
  // `readable`: bytes from the text's begin on that may be read.
  CaptureReader(std::string_view text, std::size_t readable, const std::string& where)
      : text_(text), lists_(text, readable) {
    place_.file = where;
  }

  Graph run() {
    refuse_profile();
    simdjson::ondemand::document document;
    if (const auto code = parser_.iterate(lists_.rest()).get(document))
      json::fail(place_, code, "a JSON object");
    reserve();
    read_document(document);
    if (!json::at_end(document)) json::fail(place_, "there is more behind the end of the JSON");
    verify();
    return std::move(graph_);
  }

 private:
  // The commonest mix-up: only one of them has the graph.
  void refuse_profile() const {
    if (looks_like_profile(text_))
      throw Error("this is a profile, not a capture", place_.file,
                  "profile what `opscope capture MODEL -o FILE` writes");
  }

  // About what a file of this size holds. Memory that is not used is never touched; more grows as ever.
  void reserve() {
    const auto expect = [&](auto& items, std::size_t bytes_each) {
      reserve_large(items, text_.size() / bytes_each);
    };
    expect(graph_.ops, 512), expect(graph_.scopes, 512), expect(graph_.modules, 512);
    expect(graph_.values, 256), expect(graph_.storages, 256), expect(graph_.owned, 256);
    expect(graph_.arguments, 128), expect(graph_.value_refs, 512), expect(graph_.dims, 32);
    graph_.reserve_strings(text_.size() / 512);
  }

  template <class Visit>
  auto section(Visit visit) {
    return [this, visit](json::value item) {
      if (!std::exchange(has_version_, true)) json::fail(place_, "schema_version is not the first key");
      place_.section = std::exchange(place_.key, {});
      visit(item);
      place_.section = {};
    };
  }
  // A section that is a list, each item of which goes to the reader's function.
  auto list(void (CaptureReader::*visit)(json::value)) {
    return section([this, visit](json::value item) {
      lists_.each_item(place_, item, [&](json::value it) { (this->*visit)(it); });
    });
  }
  // A list of plain values, at the end of one of the graph's.
  template <class T, class Visit>
  auto list(std::vector<T>& to, Visit visit) {
    return section([this, &to, visit](json::value item) {
      lists_.each_item(place_, item, [&](json::value it) { to.push_back({visit(place_, it)}); });
    });
  }
  // A list of objects, each read into a new item of the graph's.
  template <class T>
  auto objects(std::vector<T>& to) {
    return section([this, &to](json::value item) {
      lists_.each_item(place_, item, [&](json::value it) { read(it, to.emplace_back()); });
    });
  }
  // The same inside another section: "capture.rungs".
  template <class T>
  auto objects_in(std::string_view path, std::vector<T>& to) {
    return [this, path, &to](json::value item) {
      json::each_item(place_, path, item, [&](json::value it) { read(it, to.emplace_back()); });
    };
  }
  auto texts_in(std::vector<std::string>& to) {
    return [this, &to](json::value item) {
      json::each_item(place_, "capture.published", item,
                      [&](json::value it) { to.emplace_back(json::text(place_, it)); });
    };
  }
  template <class... To>
  void fields(json::value item, const json::Field<To>&... named) {
    json::read_fields(place_, item, named...);
  }

  void read_document(simdjson::ondemand::document& document) {
    using Self = CaptureReader;
    json::read_fields(
        place_, json::take(place_, document.get_object(), "a JSON object"),
        need("schema_version", [&](json::value item) { schema_version(item); }),
        need("capture", section([&](json::value item) { read(item, graph_.capture); })),
        need("modules", list(&Self::module)), need("scopes", list(&Self::scope)),
        need("storages", list(graph_.storages, json::natural)), need("values", list(&Self::value)),
        need("owned", objects(graph_.owned)), need("inputs", list(graph_.inputs, json::id)),
        need("outputs", list(graph_.outputs, json::id)), may("parts", objects(graph_.parts)),
        may("breaks", objects(graph_.breaks)), may("nodes", list(&Self::node)), need("ops", list(&Self::op)),
        need("declared", objects(graph_.declared)), need("diagnostics", objects(graph_.diagnostics)),
        may("lifetimes", list(&Self::lifetime)), may("phases", objects(graph_.phases)),
        may("cuda_device", section([&](json::value item) { read(item, graph_.cuda.emplace()); })),
        may("kv_cache", section([&](json::value item) { read(item, graph_.kv_cache); })),
        may("measurement", section([&](json::value item) { read(item, graph_.measurement); })));
  }

  void schema_version(json::value item) {
    place_.section = std::exchange(place_.key, {});
    has_version_ = true;
    const auto version = json::integer(place_, item);
    if (version > kSchemaVersion)
      throw Error(fmt::format("written by a newer opscope (schema {})", version), place_.file,
                  "upgrade opscope");
    if (version < 1) json::fail(place_, fmt::format("there is no schema {}", version));
    place_.section = {};
  }

  void read(json::value item, CaptureInfo& to) {
    fields(item, need("model", to.model), need("source", to.source), need("tracer", to.tracer),
           need("torch", to.torch), need("seconds", to.seconds),
           need("slow_path", objects_in("capture.slow_path", to.slow_path)),
           need("dependencies", objects_in("capture.dependencies", to.dependencies)),
           may("rungs", objects_in("capture.rungs", to.rungs)),
           may("published", [&](json::value it) { read(it, to.published); }),
           may("facts", [&](json::value it) { read(it, to.facts); }));
  }
  void read(json::value item, PublishedStorage& to) {
    fields(item, need("method", to.method), may("scheme", to.scheme), may("only", texts_in(to.only)),
           may("without", texts_in(to.without)));
  }
  void read(json::value item, ModelFacts& to) {
    fields(item, may("positions", to.positions), may("published_dtype", to.published_dtype));
  }
  void read(json::value item, SlowOp& to) { fields(item, need("op", to.op), need("count", to.count)); }
  void read(json::value item, Dependency& to) {
    fields(item, need("path", to.path), need("bytes", to.bytes), need("modified_ns", to.modified_ns));
  }
  void read(json::value item, Rung& to) {
    fields(item, need("tracer", to.tracer), need("outcome", to.outcome), may("reason", to.reason),
           may("hint", to.hint), may("detail", to.detail), may("seconds", to.seconds));
  }
  void read(json::value item, Owned& to) {
    fields(item, need("module", to.module), need("value", to.value), need("name", pools_.to_string(to.name)));
  }
  void read(json::value item, Phase& to) { fields(item, need("name", to.name), need("begin", to.begin)); }
  void read(json::value item, Part& to) { fields(item, need("name", to.name), need("calls", to.calls)); }
  void read(json::value item, Break& to) {
    fields(item, need("reason", to.reason), may("detail", to.detail), may("source", to.source),
           may("after", to.after));
  }
  void read(json::value item, Diagnostic& to) {
    fields(item, need("kind", to.kind), need("op", to.op), need("module", to.module),
           need("message", to.message));
  }
  void read(json::value item, DeclaredCost& to) {
    const auto count = [&](auto& number) {
      return [&](json::value it) { number = json::natural(place_, it); };
    };
    fields(item, need("op", to.op), may("macs", count(to.macs)), may("flops", count(to.flops)),
           may("bytes", count(to.bytes)), may("source", to.source));
  }

  void read(json::value item, CapturedCuda& to) {
    fields(item, need("major", to.device.major), need("minor", to.device.minor),
           need("processors", to.device.processors), need("cublas_pool_bytes", to.cublas_pool_bytes));
  }
  void read(json::value item, KvCache& to) {
    fields(item, need("type", to.type), need("batch", to.batch), need("past_len", to.past_len),
           may("capacity", to.capacity), may("block", to.block),
           need("layers", objects_in("kv_cache.layers", to.layers)),
           may("latent", [&](json::value it) { read(it, to.latent); }));
  }
  void read(json::value item, KvLayer& to) {
    fields(item, need("kind", [&](json::value it) { to.kind = kind_called(place_, it, KvKind::kState); }),
           need("dtype", [&](json::value it) { to.dtype = pools_.dtype(it); }), may("heads", to.heads),
           may("key_width", to.key_width), may("value_width", to.value_width), may("window", to.window),
           need("bytes_per_token", to.bytes_per_token), may("state_bytes", to.state_bytes),
           may("shared_bytes", to.shared_bytes));
  }
  void read(json::value item, LatentAttention& to) {
    fields(item, need("layers", to.layers), need("heads", to.heads), need("kv_lora_rank", to.kv_lora_rank),
           need("qk_rope_head_dim", to.qk_rope_head_dim), need("qk_nope_head_dim", to.qk_nope_head_dim),
           need("v_head_dim", to.v_head_dim));
  }

  // Sizes are checked with all else, by Graph::verify.
  void read(json::value item, Measurement& to) {
    const auto samples = [&](std::vector<Nanoseconds>& list) {
      return [&](json::value values) {
        json::each(place_, values, [&](json::value it) {
          const bool is_null = json::take(place_, it.is_null(), "nanoseconds or null");
          list.push_back(is_null ? kUnmeasured : json::natural(place_, it));
        });
      };
    };
    fields(item, need("environment", [&](json::value it) { read(it, to.environment); }),
           need("warmup", to.warmup), need("runs", to.runs), need("on_device", to.on_device),
           need("empty_interval_ns", to.empty_interval), need("typical", to.typical),
           may("peak_memory_bytes", to.peak_memory_bytes), may("base_memory_bytes", to.base_memory_bytes),
           may("plain_ns", samples(to.plain)), may("timed_ns", samples(to.timed)),
           may("plain_device_ns", samples(to.plain_device)), may("timed_device_ns", samples(to.timed_device)),
           may("host_ns", samples(to.host)), may("device_ns", samples(to.device)),
           may("scopes_ns", samples(to.scopes)), may("outside_ns", samples(to.outside)),
           may("lines", objects_in("measurement.lines", to.lines)), may("repeated_ns", samples(to.repeated)),
           may("host_begin_ns", samples(to.host_begin)), may("device_begin_ns", samples(to.device_begin)),
           may("scope_begin_ns", samples(to.scope_begin)),
           may("unmatched", objects_in("measurement.unmatched", to.unmatched)));
  }
  void read(json::value item, Environment& to) {
    fields(item, may("device", to.device), may("device_name", to.device_name), may("host", to.host),
           may("system", to.system), may("torch", to.torch), may("runtime", to.runtime),
           may("driver", to.driver), may("precision", to.precision), may("dtype", to.dtype),
           may("threads", to.threads), may("memory_bytes", to.memory_bytes),
           may("clocks_mhz", objects_in("measurement.environment.clocks_mhz", to.clocks_mhz)));
  }
  void read(json::value item, std::pair<std::string, double>& clock) {
    fields(item, need("name", clock.first), need("mhz", clock.second));
  }
  void read(json::value item, OutsideLine& to) {
    fields(item, need("scope", to.scope), may("after", to.after), may("before", to.before),
           may("source", to.source), may("waits", to.waits), need("count", to.count),
           need("time_ns", to.time));
  }
  void read(json::value item, UnmatchedOp& to) {
    fields(item, need("op", to.op), need("count", to.count), need("total_ns", to.total));
  }

  void module(json::value item) {
    Module module;
    json::read_fields(place_, item, need("id", pools_.check_id(graph_.modules.size())),
                      may("parent", module.parent), need("name", pools_.to_string(module.name)),
                      need("path", pools_.to_own_string(module.path)),
                      need("type", pools_.to_string(module.type)));
    graph_.modules.push_back(module);
  }

  void scope(json::value item) {
    Scope scope;
    json::read_fields(place_, item, need("id", pools_.check_id(graph_.scopes.size())),
                      may("parent", scope.parent), need("module", scope.module), may("call", scope.call),
                      may("outputs", [&](json::value it) { scope.outputs = pools_.references(it); }));
    graph_.scopes.push_back(scope);
  }

  void value(json::value item) {
    Value value;
    json::read_fields(
        place_, item, need("id", pools_.check_id(graph_.values.size())),
        need("kind",
             [&](json::value it) { value.kind = kind_called(place_, it, ValueKind::kOptimizerState); }),
        need("dtype", [&](json::value it) { value.dtype = pools_.dtype(it); }),
        need("shape", [&](json::value it) { value.shape = pools_.integers(it); }),
        may("strides", [&](json::value it) { value.strides = pools_.integers(it); }),
        may("offset", value.offset), may("storage", value.storage),
        may("name", pools_.to_own_string(value.name)),
        may("device", [&](json::value it) { value.device = pools_.device(it); }),
        may("trainable", value.trainable), may("sparse", [&](json::value it) { value.sparse = sparse(it); }),
        may("stored", [&](json::value it) { value.stored = stored(it); }));
    graph_.values.push_back(value);
  }

  Id sparse(json::value item) {
    SparseForm form;
    json::read_fields(place_, item, need("layout", pools_.to_string(form.layout)),
                      need("stored", form.stored), need("index_bytes", form.index_bytes));
    graph_.sparse_forms.push_back(form);
    return static_cast<Id>(graph_.sparse_forms.size() - 1);
  }

  Id stored(json::value item) {
    StoredForm form;
    json::read_fields(place_, item, need("scheme", pools_.to_string(form.scheme)), need("bytes", form.bytes),
                      need("flops", form.flops));
    graph_.stored_forms.push_back(form);
    return static_cast<Id>(graph_.stored_forms.size() - 1);
  }

  void op(json::value item) {
    Op op;
    std::string_view target, overload;
    json::read_fields(place_, item, need("id", pools_.check_id(graph_.ops.size())),
                      need("op", [&](json::value it) { target = json::text(place_, it); }),
                      may("overload", [&](json::value it) { overload = json::text(place_, it); }),
                      need("scope", op.scope),
                      need("arguments", [&](json::value it) { op.arguments = pools_.arguments(it); }),
                      need("outputs", [&](json::value it) { op.outputs = pools_.references(it); }),
                      may("source", pools_.to_string(op.source)), may("bounded", op.bounded),
                      may("estimated", op.estimated), may("node", op.node), may("workspace", op.workspace),
                      may("repeats", op.repeats));
    op.target = graph_.add_target(target, overload);
    graph_.ops.push_back(op);
  }

  void lifetime(json::value item) {
    OpId ends[2] = {kNone, kNone};
    std::size_t count = 0;
    json::each(place_, item, [&](json::value it) {
      if (count < 2 && !json::take(place_, it.is_null(), "an op or null")) ends[count] = json::id(place_, it);
      ++count;
    });
    if (count != 2) json::fail(place_, "expected two ops: that made it, and after which it was freed");
    graph_.lifetimes.push_back({ends[0], ends[1]});
  }

  void node(json::value item) {
    Node node;
    json::read_fields(
        place_, item, need("id", pools_.check_id(graph_.nodes.size())),
        need("kind", [&](json::value it) { node.kind = kind_called(place_, it, NodeKind::kOutput); }),
        need("name", pools_.to_string(node.name)), may("target", pools_.to_string(node.target)),
        may("source", pools_.to_string(node.source)), may("part", node.part), may("module", node.module),
        may("inputs", [&](json::value it) { node.inputs = pools_.node_references(it); }),
        may("outputs", [&](json::value it) { node.outputs = pools_.references(it); }));
    graph_.nodes.push_back(node);
  }

  // The graph does not know the file's name; the reader adds it.
  void verify() const {
    try {
      graph_.verify();
    } catch (const Error& error) {
      throw Error(error.what(), place_.file, error.hint());
    }
  }

  const std::string_view text_;
  json::LongLists lists_;
  json::Place place_;
  simdjson::ondemand::parser parser_;
  Graph graph_;
  ArgumentReader pools_{graph_, place_};
  bool has_version_ = false;
};

}  // namespace

Graph read_capture(std::string_view json, const std::string& where) {
  return CaptureReader(json, json.size(), where).run();
}

Graph read_padded_capture(const std::string& json, const std::string& where) {
  return CaptureReader(json, json.capacity(), where).run();
}

bool looks_like_capture(std::string_view text) {
  const auto skip_space = [&] {
    const auto at = text.find_first_not_of(" \t\r\n");
    text.remove_prefix(at == std::string_view::npos ? text.size() : at);
  };
  skip_space();
  if (!text.starts_with('{')) return false;
  text.remove_prefix(1);
  skip_space();
  return text.starts_with("\"schema_version\"");
}

bool looks_like_profile(std::string_view text) {
  text = text.substr(0, 256);
  return looks_like_capture(text) && text.find("\"opscope_version\"") != std::string_view::npos;
}

}  // namespace opscope
