// Makes a Graph from a file's nodes: module calls come as stacks of names beside each op, in any order, and
// are matched to scopes here. GraphBuilder is for code that opens and closes its module calls itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace opscope {

// What a value is like. No strides: contiguous.
struct ValueSpec {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  DType dtype = DType::kUndefined;
  std::int64_t offset = 0;
  std::string_view device = "cpu";
  bool strided = true;  // false: sparse, has no strides
};

// One entry of a module stack: `key` tells calls of one module apart.
struct ModuleCall {
  std::string_view key, path, type;
};

class GraphAssembler {
 public:
  explicit GraphAssembler(std::string_view model);

  // The module of that dotted path, made with its parents where missing. A type given later is kept.
  ModuleId module(std::string_view path, std::string_view type = {});
  // Ops from here on run in this stack of module calls, outermost first, the root left out.
  void enter(std::span<const ModuleCall> stack);
  ScopeId scope() const { return scope_; }
  void return_to(ScopeId scope) { scope_ = scope; }

  // alias: a value whose storage the new one shares; kNone: a storage of its own.
  ValueId value(const ValueSpec& spec, ValueKind kind, ValueId alias = kNone);
  // What an op gives. Files do not say which ops return the memory of an input, and bytes and live memory
  // depend on it: told from the op's name and the shapes and strides on both sides. `base`: the input that it
  // may be, kNone where there is none; drops_or_copies: a dropout that drops, a cast that was told to copy.
  ValueId result(std::string_view op, const ValueSpec& spec, ValueId base, bool drops_or_copies = false);
  // The strides that give `shape` on the value's memory without a copy; empty where there are none.
  std::vector<std::int64_t> view_strides(ValueId id, std::span<const std::int64_t> shape) const;
  void name(ValueId id, std::string_view text) { graph.values[id].name = keep(text); }
  // A parameter or buffer under its dotted path; called again for another name of a tied weight.
  void own(std::string_view path, ValueId id);

  // An op in the current scope.
  void op(std::string_view name, std::string_view overload, std::span<const Argument> arguments,
          std::span<const ValueId> outputs);
  // Once per kind, op and message.
  void note(std::string_view kind, std::string_view op, std::string message);

  Argument none(std::string_view name) { return {.name = keep(name)}; }
  Argument tensor(std::string_view name, ValueId id) { return single(name, ArgumentKind::kTensor, id); }
  Argument integer(std::string_view name, std::int64_t value) {
    return single(name, ArgumentKind::kInt, value);
  }
  Argument boolean(std::string_view name, bool value) { return single(name, ArgumentKind::kBool, value); }
  Argument text(std::string_view name, std::string_view value) {
    return single(name, ArgumentKind::kString, keep(value));
  }
  Argument dtype(std::string_view name, DType value) {
    return single(name, ArgumentKind::kDType, static_cast<std::int64_t>(value));
  }
  Argument real(std::string_view name, double value) {
    return {.name = keep(name), .kind = ArgumentKind::kFloat, .real = value};
  }
  Argument tensors(std::string_view name, std::span<const ValueId> ids) {
    return {.name = keep(name), .kind = ArgumentKind::kTensorList, .range = graph.add_refs(ids)};
  }
  Argument ints(std::string_view name, std::span<const std::int64_t> items) {
    return {.name = keep(name), .kind = ArgumentKind::kIntList, .range = graph.add_dims(items)};
  }

  // Marks outputs, verifies and gives the graph away. `where`: the file, for errors.
  Graph finish(std::span<const ValueId> outputs, const std::string& where);

  Graph graph;

  // Interned, what is not UTF-8 in it replaced: files hold any bytes as names.
  StringId keep(std::string_view text);

 private:
  Argument single(std::string_view name, ArgumentKind kind, std::int64_t value) {
    return {.name = keep(name), .kind = kind, .integer = value};
  }
  bool shares_memory(std::string_view op, const ValueSpec& spec, ValueId base, bool drops_or_copies);

  std::unordered_map<std::uint64_t, ScopeId> scopes_;  // by parent scope and key
  std::unordered_map<std::string, ModuleId> modules_;  // by path
  std::unordered_map<std::uint64_t, ValueId> owned_;   // by module and name
  std::unordered_set<std::string> noted_;
  std::vector<std::uint32_t> calls_;  // by module
  ScopeId scope_ = 0;
};

std::string valid_utf8(std::string_view text);

}  // namespace opscope
