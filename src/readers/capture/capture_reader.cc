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

void read_clock(json::Place& place, json::value item, Environment& environment) {
  auto& [name, mhz] = environment.clocks_mhz.emplace_back();
  json::read_fields(place, item, need("name", name), need("mhz", mhz));
}

void read_environment(json::Place& place, json::value item, Environment& to) {
  json::read_fields(place, item, may("device", to.device), may("device_name", to.device_name),
                    may("host", to.host), may("system", to.system), may("torch", to.torch),
                    may("runtime", to.runtime), may("driver", to.driver), may("precision", to.precision),
                    may("dtype", to.dtype), may("threads", to.threads), may("memory_bytes", to.memory_bytes),
                    may("clocks_mhz", [&](json::value it) {
                      json::each_item(place, "measurement.environment.clocks_mhz", it,
                                      [&](json::value clock) { read_clock(place, clock, to); });
                    }));
}

void read_unmatched(json::Place& place, json::value item, Measurement& to) {
  auto& op = to.unmatched.emplace_back();
  json::read_fields(place, item, need("op", op.op), need("count", op.count), need("total_ns", op.total));
}

// Sizes are checked with all else, by Graph::verify.
Measurement read_measurement(json::Place& place, json::value item) {
  Measurement to;
  const auto samples = [&](std::vector<Nanoseconds>& list) {
    return [&](json::value values) {
      json::each(place, values, [&](json::value it) {
        const bool is_null = json::take(place, it.is_null(), "nanoseconds or null");
        list.push_back(is_null ? kUnmeasured : json::natural(place, it));
      });
    };
  };
  json::read_fields(
      place, item, need("environment", [&](json::value it) { read_environment(place, it, to.environment); }),
      need("warmup", to.warmup), need("runs", to.runs), need("on_device", to.on_device),
      need("empty_interval_ns", to.empty_interval), need("typical", to.typical),
      may("peak_memory_bytes", to.peak_memory_bytes), may("base_memory_bytes", to.base_memory_bytes),
      may("plain_ns", samples(to.plain)), may("timed_ns", samples(to.timed)),
      may("plain_device_ns", samples(to.plain_device)), may("timed_device_ns", samples(to.timed_device)),
      may("host_ns", samples(to.host)), may("device_ns", samples(to.device)),
      may("scopes_ns", samples(to.scopes)), may("repeated_ns", samples(to.repeated)),
      may("host_begin_ns", samples(to.host_begin)), may("device_begin_ns", samples(to.device_begin)),
      may("scope_begin_ns", samples(to.scope_begin)), may("unmatched", [&](json::value it) {
        json::each_item(place, "measurement.unmatched", it,
                        [&](json::value op) { read_unmatched(place, op, to); });
      }));
  return to;
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
  // The commonest mix-up: both are JSON with a schema_version, and only one has the graph.
  void refuse_profile() const {
    if (looks_like_capture(text_) &&
        text_.substr(0, 256).find("\"opscope_version\"") != std::string_view::npos)
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

  template <class Read>
  auto section(Read read) {
    return [this, read](json::value item) {
      if (!std::exchange(has_version_, true)) json::fail(place_, "schema_version is not the first key");
      place_.section = std::exchange(place_.key, {});
      read(item);
      place_.section = {};
    };
  }
  // A section that is a list, each item of which goes to the reader's function.
  auto list(void (CaptureReader::*read)(json::value)) {
    return section([this, read](json::value item) {
      lists_.each_item(place_, item, [&](json::value it) { (this->*read)(it); });
    });
  }
  // A list of plain values, at the end of one of the graph's.
  template <class T, class Read>
  auto list(std::vector<T>& to, Read read) {
    return section([this, &to, read](json::value item) {
      lists_.each_item(place_, item, [&](json::value it) { to.push_back({read(place_, it)}); });
    });
  }
  // A list inside the capture's own section.
  auto list_in_capture(std::string_view path, void (CaptureReader::*read)(json::value)) {
    return [this, path, read](json::value item) {
      json::each_item(place_, path, item, [&](json::value it) { (this->*read)(it); });
    };
  }

  void read_document(simdjson::ondemand::document& document) {
    using Self = CaptureReader;
    json::read_fields(
        place_, json::take(place_, document.get_object(), "a JSON object"),
        need("schema_version", [&](json::value item) { schema_version(item); }),
        need("capture", section([&](json::value item) { capture(item); })),
        need("modules", list(&Self::module)), need("scopes", list(&Self::scope)),
        need("storages", list(graph_.storages, json::natural)), need("values", list(&Self::value)),
        need("owned", list(&Self::owned)), need("inputs", list(graph_.inputs, json::id)),
        need("outputs", list(graph_.outputs, json::id)), may("parts", list(&Self::part)),
        may("breaks", list(&Self::graph_break)), may("nodes", list(&Self::node)),
        need("ops", list(&Self::op)), need("declared", list(&Self::declared)),
        need("diagnostics", list(&Self::diagnostic)), may("lifetimes", list(&Self::lifetime)),
        may("phases", list(&Self::phase)), may("measurement", section([&](json::value item) {
                                                 graph_.measurement = read_measurement(place_, item);
                                               })));
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

  void capture(json::value item) {
    CaptureInfo& info = graph_.capture;
    json::read_fields(
        place_, item, need("model", info.model), need("source", info.source), need("tracer", info.tracer),
        need("torch", info.torch), need("seconds", info.seconds),
        need("slow_path", list_in_capture("capture.slow_path", &CaptureReader::slow_op)),
        need("dependencies", list_in_capture("capture.dependencies", &CaptureReader::dependency)),
        may("rungs", list_in_capture("capture.rungs", &CaptureReader::rung)));
  }

  void slow_op(json::value item) {
    auto& slow = graph_.capture.slow_path.emplace_back();
    json::read_fields(place_, item, need("op", slow.op), need("count", slow.count));
  }

  void dependency(json::value item) {
    auto& file = graph_.capture.dependencies.emplace_back();
    json::read_fields(place_, item, need("path", file.path), need("bytes", file.bytes),
                      need("modified_ns", file.modified_ns));
  }

  void rung(json::value item) {
    auto& rung = graph_.capture.rungs.emplace_back();
    json::read_fields(place_, item, need("tracer", rung.tracer), need("outcome", rung.outcome),
                      may("reason", rung.reason), may("hint", rung.hint), may("detail", rung.detail),
                      may("seconds", rung.seconds));
  }

  void module(json::value item) {
    Module module;
    json::read_fields(place_, item, need("id", pools_.check_id(graph_.modules.size())),
                      may("parent", module.parent), need("name", pools_.to_string(module.name)),
                      need("path", pools_.to_string(module.path)),
                      need("type", pools_.to_string(module.type)));
    graph_.modules.push_back(module);
  }

  void scope(json::value item) {
    Scope scope;
    json::read_fields(place_, item, need("id", pools_.check_id(graph_.scopes.size())),
                      may("parent", scope.parent), need("module", scope.module), may("call", scope.call));
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
        may("offset", value.offset), may("storage", value.storage), may("name", pools_.to_string(value.name)),
        may("device", [&](json::value it) { value.device = pools_.device(it); }),
        may("trainable", value.trainable));
    graph_.values.push_back(value);
  }

  void owned(json::value item) {
    auto& owned = graph_.owned.emplace_back();
    json::read_fields(place_, item, need("module", owned.module), need("value", owned.value),
                      need("name", pools_.to_string(owned.name)));
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
                      may("node", op.node), may("workspace", op.workspace));
    op.target = graph_.add_target(target, overload);
    graph_.ops.push_back(op);
  }

  void declared(json::value item) {
    auto& cost = graph_.declared.emplace_back();
    const auto count = [&](auto& to) { return [&](json::value it) { to = json::natural(place_, it); }; };
    json::read_fields(place_, item, need("op", cost.op), may("macs", count(cost.macs)),
                      may("flops", count(cost.flops)), may("bytes", count(cost.bytes)));
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

  void phase(json::value item) {
    auto& phase = graph_.phases.emplace_back();
    json::read_fields(place_, item, need("name", phase.name), need("begin", phase.begin));
  }

  void diagnostic(json::value item) {
    auto& diagnostic = graph_.diagnostics.emplace_back();
    json::read_fields(place_, item, need("kind", diagnostic.kind), need("op", diagnostic.op),
                      need("module", diagnostic.module), need("message", diagnostic.message));
  }

  // What only one of PyTorch's tracers fills in: its graphs, their nodes, where it broke off.
  void part(json::value item) {
    auto& part = graph_.parts.emplace_back();
    json::read_fields(place_, item, need("name", part.name), need("calls", part.calls));
  }

  void graph_break(json::value item) {
    auto& broken = graph_.breaks.emplace_back();
    json::read_fields(place_, item, need("reason", broken.reason), may("detail", broken.detail),
                      may("source", broken.source), may("after", broken.after));
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

}  // namespace opscope
