// The inverse of graph/writer.cc, section by section, in one pass and in the order of the file.
#include "readers/capture/capture_reader.h"

#include <fmt/format.h>

#include "readers/capture/argument_reader.h"
#include "readers/capture/measurement_reader.h"
#include "readers/capture/tracer_reader.h"
#include "readers/json/access.h"

namespace opscope {
namespace {

using json::kAll;
using json::Keys;

constexpr Keys<18> kDocument{
    {"schema_version", "capture", "modules", "scopes", "storages", "values", "owned", "inputs", "outputs",
     "parts", "breaks", "nodes", "ops", "declared", "diagnostics", "lifetimes", "phases", "measurement"},
    0b000'111'000'111111111};
constexpr Keys<8> kCapture{
    {"model", "source", "tracer", "torch", "seconds", "slow_path", "dependencies", "rungs"}, 0b01111111};
constexpr Keys<2> kSlowOp{{"op", "count"}, kAll};
constexpr Keys<3> kDependency{{"path", "bytes", "modified_ns"}, kAll};
constexpr Keys<5> kModule{{"id", "parent", "name", "path", "type"}, 0b11101};
constexpr Keys<4> kScope{{"id", "parent", "module", "call"}, 0b0101};
constexpr Keys<10> kValue{
    {"id", "kind", "dtype", "shape", "strides", "offset", "storage", "name", "device", "trainable"},
    0b0000001111};
constexpr Keys<3> kOwned{{"module", "value", "name"}, kAll};
constexpr Keys<10> kOp{
    {"id", "op", "overload", "scope", "arguments", "outputs", "source", "bounded", "node", "workspace"},
    0b0000111011};
constexpr Keys<2> kPhase{{"name", "begin"}, kAll};
constexpr Keys<4> kDeclared{{"op", "macs", "flops", "bytes"}, 0b0001};
constexpr Keys<4> kDiagnostic{{"kind", "op", "module", "message"}, kAll};

class CaptureReader {
 public:
  CaptureReader(std::string_view text, const std::string& where) : text_(text) { place_.file = where; }

  Graph run() {
    refuse_profile();
    const simdjson::padded_string padded(text_);
    simdjson::ondemand::document document;
    if (const auto code = parser_.iterate(padded).get(document)) json::fail(place_, code, "a JSON object");
    reserve();
    read_document(document);
    if (!at_end(document)) json::fail(place_, "there is more behind the end of the JSON");
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

  static bool at_end(simdjson::ondemand::document& document) {
    return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
  }

  // About what a file of this size holds. Memory that is not used is never touched; more grows as ever.
  void reserve() {
    graph_.ops.reserve(text_.size() / 512);
    graph_.values.reserve(text_.size() / 256);
    graph_.arguments.reserve(text_.size() / 128);
    graph_.dims.reserve(text_.size() / 64);
  }

  void read_document(simdjson::ondemand::document& document) {
    bool is_first = true;
    const auto fields = json::take(place_, document.get_object(), "a JSON object");
    json::each_field(place_, fields, kDocument, [&](std::size_t key, json::value item) {
      if (std::exchange(is_first, false) != (key == 0))
        json::fail(place_, "schema_version is not the first key");
      place_.section = std::exchange(place_.key, {});
      section(key, item);
      place_.section = {};
    });
  }

  void section(std::size_t key, json::value item) {
    switch (key) {
      case 0:
        return schema_version(item);
      case 1:
        return capture(item);
      case 2:
        return items(item, [&](json::value it) { module(it); });
      case 3:
        return items(item, [&](json::value it) { scope(it); });
      case 4:
        return items(item, [&](json::value it) { graph_.storages.push_back({json::natural(place_, it)}); });
      case 5:
        return items(item, [&](json::value it) { value(it); });
      case 6:
        return items(item, [&](json::value it) { owned(it); });
      case 7:
        return items(item, [&](json::value it) { graph_.inputs.push_back(json::id(place_, it)); });
      case 8:
        return items(item, [&](json::value it) { graph_.outputs.push_back(json::id(place_, it)); });
      case 9:
        return items(item, [&](json::value it) { tracer_.part(it); });
      case 10:
        return items(item, [&](json::value it) { tracer_.graph_break(it); });
      case 11:
        return items(item, [&](json::value it) { tracer_.node(it); });
      case 12:
        return items(item, [&](json::value it) { op(it); });
      case 13:
        return items(item, [&](json::value it) { declared(it); });
      case 14:
        return items(item, [&](json::value it) { diagnostic(it); });
      case 15:
        return items(item, [&](json::value it) { lifetime(it); });
      case 16:
        return items(item, [&](json::value it) { phase(it); });
      default:
        graph_.measurement = read_measurement(place_, item);
    }
  }

  template <class Visit>
  void items(json::value list, Visit visit) {
    json::each_item(place_, list, visit);
  }

  void schema_version(json::value item) {
    const auto version = json::integer(place_, item);
    if (version > kSchemaVersion)
      throw Error(fmt::format("written by a newer opscope (schema {})", version), place_.file,
                  "upgrade opscope");
    if (version < 1) json::fail(place_, fmt::format("there is no schema {}", version));
  }

  void capture(json::value item) {
    auto& info = graph_.capture;
    json::each_field(place_, item, kCapture, [&](std::size_t key, json::value it) {
      switch (key) {
        case 0:
          info.model = json::text(place_, it);
          break;
        case 1:
          info.source = json::text(place_, it);
          break;
        case 2:
          info.tracer = json::text(place_, it);
          break;
        case 3:
          info.torch = json::text(place_, it);
          break;
        case 4:
          info.seconds = json::real(place_, it);
          break;
        case 5:
          json::each_item(place_, "capture.slow_path", it, [&](json::value slow) { slow_op(slow); });
          break;
        case 6:
          json::each_item(place_, "capture.dependencies", it, [&](json::value file) { dependency(file); });
          break;
        default:
          json::each_item(place_, "capture.rungs", it, [&](json::value rung) { tracer_.rung(rung); });
      }
    });
  }

  void slow_op(json::value item) {
    auto& slow = graph_.capture.slow_path.emplace_back();
    json::each_field(place_, item, kSlowOp, [&](std::size_t key, json::value it) {
      if (key == 0)
        slow.op = json::text(place_, it);
      else
        slow.count = json::natural(place_, it);
    });
  }

  void dependency(json::value item) {
    auto& file = graph_.capture.dependencies.emplace_back();
    json::each_field(place_, item, kDependency, [&](std::size_t key, json::value it) {
      if (key == 0)
        file.path = json::text(place_, it);
      else if (key == 1)
        file.bytes = json::natural(place_, it);
      else
        file.modified_ns = json::integer(place_, it);
    });
  }

  void module(json::value item) {
    Module module;
    json::each_field(place_, item, kModule, [&](std::size_t key, json::value it) {
      switch (key) {
        case 0:
          parts_.check_id(it, graph_.modules.size());
          break;
        case 1:
          module.parent = json::id(place_, it);
          break;
        case 2:
          module.name = parts_.string(it);
          break;
        case 3:
          module.path = parts_.string(it);
          break;
        default:
          module.type = parts_.string(it);
      }
    });
    graph_.modules.push_back(module);
  }

  void scope(json::value item) {
    Scope scope;
    json::each_field(place_, item, kScope, [&](std::size_t key, json::value it) {
      switch (key) {
        case 0:
          parts_.check_id(it, graph_.scopes.size());
          break;
        case 1:
          scope.parent = json::id(place_, it);
          break;
        case 2:
          scope.module = json::id(place_, it);
          break;
        default:
          scope.call = json::id(place_, it);
      }
    });
    graph_.scopes.push_back(scope);
  }

  void value(json::value item) {
    Value value;
    json::each_field(place_, item, kValue, [&](std::size_t key, json::value it) {
      switch (key) {
        case 0:
          parts_.check_id(it, graph_.values.size());
          break;
        case 1:
          value.kind = value_kind(json::text(place_, it));
          break;
        case 2:
          value.dtype = parts_.dtype(it);
          break;
        case 3:
          value.shape = parts_.integers(it);
          break;
        case 4:
          value.strides = parts_.integers(it);
          break;
        case 5:
          value.offset = json::integer(place_, it);
          break;
        case 6:
          value.storage = json::id(place_, it);
          break;
        case 7:
          value.name = parts_.string(it);
          break;
        case 8:
          value.device = parts_.device(it);
          break;
        default:
          value.trainable = json::boolean(place_, it);
      }
    });
    graph_.values.push_back(value);
  }

  ValueKind value_kind(std::string_view word) {
    for (std::size_t kind = 0; kind < kValueKinds; ++kind)
      if (name(static_cast<ValueKind>(kind)) == word) return static_cast<ValueKind>(kind);
    json::fail(
        place_,
        "expected input, parameter, buffer, constant, activation, output, gradient or optimizer_state");
  }

  void owned(json::value item) {
    Owned owned;
    json::each_field(place_, item, kOwned, [&](std::size_t key, json::value it) {
      if (key == 0)
        owned.module = json::id(place_, it);
      else if (key == 1)
        owned.value = json::id(place_, it);
      else
        owned.name = parts_.string(it);
    });
    graph_.owned.push_back(owned);
  }

  void op(json::value item) {
    Op op;
    std::string_view target, overload;
    json::each_field(place_, item, kOp, [&](std::size_t key, json::value it) {
      switch (key) {
        case 0:
          parts_.check_id(it, graph_.ops.size());
          break;
        case 1:
          target = json::text(place_, it);
          break;
        case 2:
          overload = json::text(place_, it);
          break;
        case 3:
          op.scope = json::id(place_, it);
          break;
        case 4:
          op.arguments = parts_.arguments(it);
          break;
        case 5:
          op.outputs = parts_.references(it);
          break;
        case 6:
          op.source = parts_.string(it);
          break;
        case 7:
          op.bounded = json::boolean(place_, it);
          break;
        case 8:
          op.node = json::id(place_, it);
          break;
        default:
          op.workspace = json::natural(place_, it);
      }
    });
    op.target = graph_.add_target(target, overload);
    graph_.ops.push_back(op);
  }

  void declared(json::value item) {
    DeclaredCost cost;
    json::each_field(place_, item, kDeclared, [&](std::size_t key, json::value it) {
      switch (key) {
        case 0:
          cost.op = json::id(place_, it);
          break;
        case 1:
          cost.macs = json::natural(place_, it);
          break;
        case 2:
          cost.flops = json::natural(place_, it);
          break;
        default:
          cost.bytes = json::natural(place_, it);
      }
    });
    graph_.declared.push_back(cost);
  }

  void lifetime(json::value item) {
    OpId ends[2] = {kNone, kNone};
    std::size_t count = 0;
    items(item, [&](json::value it) {
      if (count < 2 && !json::take(place_, it.is_null(), "an op or null")) ends[count] = json::id(place_, it);
      ++count;
    });
    if (count != 2) json::fail(place_, "expected two ops: that made it, and after which it was freed");
    graph_.lifetimes.push_back({ends[0], ends[1]});
  }

  void phase(json::value item) {
    auto& phase = graph_.phases.emplace_back();
    json::each_field(place_, item, kPhase, [&](std::size_t key, json::value it) {
      if (key == 0)
        phase.name = json::text(place_, it);
      else
        phase.begin = json::id(place_, it);
    });
  }

  void diagnostic(json::value item) {
    auto& diagnostic = graph_.diagnostics.emplace_back();
    std::string* const parts[] = {&diagnostic.kind, &diagnostic.op, &diagnostic.module, &diagnostic.message};
    json::each_field(place_, item, kDiagnostic,
                     [&](std::size_t key, json::value it) { *parts[key] = json::text(place_, it); });
  }

  // The graph does not know the file's name; the reader adds it.
  void verify() const {
    try {
      graph_.verify();
    } catch (const Error& error) {
      throw Error(error.what(), place_.file, error.hint());
    }
  }

  std::string_view text_;
  json::Place place_;
  simdjson::ondemand::parser parser_;
  Graph graph_;
  ArgumentReader parts_{graph_, place_};
  TracerReader tracer_{graph_, place_, parts_};
};

}  // namespace

Graph read_capture(std::string_view json, const std::string& where) {
  return CaptureReader(json, where).run();
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
