// A captured model as plain data: ops in execution order, the values between them, the module calls they
// ran in. Ids are indices. Variable-length parts live in shared pools, so that a graph of a million ops is
// a handful of allocations. Knows no costs.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/count.h"
#include "base/error.h"
#include "graph/cuda_device.h"
#include "graph/dtype.h"
#include "graph/kv_cache.h"
#include "graph/measurement.h"
#include "graph/string_pool.h"

namespace opscope {

// Declared ahead of the constant kNone, which its own kNone would otherwise shadow.
enum class ArgumentKind : std::uint8_t {
  kNone,
  kTensor,      // value
  kTensorList,  // range in value_refs; kNone entries are absent tensors
  kInt,
  kFloat,
  kBool,
  kString,  // also device, layout and memory format, and what has no kind of its own
  kDType,
  kIntList,    // range in dims
  kFloatList,  // range in reals
  kBoolList,   // range in dims, 0 or 1
};

using Id = std::uint32_t;
using StringId = Id;  // 0 is the empty string
using ValueId = Id;
using OpId = Id;
using ModuleId = Id;
using ScopeId = Id;
using TargetId = Id;
using NodeId = Id;
using PartId = Id;
inline constexpr Id kNone = std::numeric_limits<Id>::max();

inline constexpr int kSchemaVersion = 1;

// A slice of one of the graph's pools. Without defaults, so that a union can hold it.
struct Range {
  std::uint32_t begin;
  std::uint32_t size;
  friend bool operator==(const Range&, const Range&) = default;
};

enum class ValueKind : std::uint8_t {
  kInput,
  kParameter,
  kBuffer,
  kConstant,
  kActivation,
  kOutput,
  kGradient,        // of a parameter, in training: there until the optimiser has used it
  kOptimizerState,  // momentum and the like
};
inline constexpr std::size_t kValueKinds = 8;

// Owned by the model: what reports call weights.
constexpr bool is_weight(ValueKind kind) {
  return kind == ValueKind::kParameter || kind == ValueKind::kBuffer;
}

struct Value {
  Range shape{};            // in dims
  Range strides{};          // in dims, in elements; empty for a value that is not strided
  std::int64_t offset = 0;  // of its first element in its storage, in elements
  Id storage = kNone;
  StringId name = 0;    // of inputs, parameters, buffers and outputs
  StringId device = 0;  // "cpu", "cuda:0"
  Id sparse = kNone;    // in sparse_forms; kNone: every element is stored
  Id stored = kNone;    // in stored_forms; kNone: as its dtype says
  DType dtype = DType::kUndefined;
  ValueKind kind = ValueKind::kActivation;
  bool trainable = false;  // parameters: requires_grad
};

// What a sparse value holds in place of all its elements.
struct SparseForm {
  StringId layout = 0;            // "sparse_coo", "sparse_csr", "sparse_bsc"
  std::uint64_t stored = 0;       // elements of its values; zeros within blocks are stored
  std::uint64_t index_bytes = 0;  // where they belong
};

// How a weight is held that is quantised and computed with in its dtype.
struct StoredForm {
  StringId scheme = 0;      // "int4"
  std::uint64_t bytes = 0;  // with its scales and zero points; of a view, its share of the whole
  std::uint64_t flops = 0;  // that get one element back into the dtype
};

// Memory that values share: views of one tensor, and a tensor before and after an in-place op.
struct Storage {
  std::uint64_t bytes = 0;
};

// When a storage was really held, by what ran then: Python's variables and autograd hold memory longer than
// ops need it.
struct Lifetime {
  OpId made = kNone;   // the op that was running; kNone: it was there before the first
  OpId freed = kNone;  // the last op that had begun when the last handle went; kNone: held to the end
  friend bool operator==(const Lifetime&, const Lifetime&) = default;
};

struct Argument {
  StringId name = 0;
  ArgumentKind kind = ArgumentKind::kNone;
  union {
    std::int64_t integer = 0;  // kInt, kBool, kDType (as DType), kString (as StringId), kTensor (as ValueId)
    double real;               // kFloat
    Range range;               // lists
  };
};

// Which operator: "aten::conv2d" and its overload, "" for the default one.
struct Target {
  StringId name = 0;
  StringId overload = 0;
};

struct Op {
  TargetId target = 0;
  ScopeId scope = 0;
  Range arguments{};       // in arguments, in schema order
  Range outputs{};         // in value_refs: what it returned, then what it wrote in place and did not return
  StringId source = 0;     // "model.py:42" where asked for
  bool bounded = false;    // its sizes, or whether it runs, depend on data: the most there can be
  bool estimated = false;  // how often it runs, or how large it is, is not known or was assumed
  NodeId node = kNone;  // of a tracer's graph; kNone where no tracer was asked, or it ran outside its graphs
  std::uint64_t workspace = 0;  // bytes that its own temporaries held at most, apart from what it gives
  std::uint64_t repeats = 1;    // how often it runs: the body of a file's loop is there once
};

struct Module {
  ModuleId parent = kNone;  // of the root only
  StringId name = 0;        // last part of the path
  StringId path = 0;        // "" for the root
  StringId type = 0;        // class name
};

// One call of a module. Scope 0 is the root module's call.
struct Scope {
  ScopeId parent = kNone;
  ModuleId module = 0;
  std::uint32_t call = 0;  // 0 for the module's first call
  // In value_refs: the tensors that it returned. Where it begins nowhere they are not told: what its last op
  // made, by which most are told.
  Range outputs{kNone, 0};
  bool tells_outputs() const { return outputs.begin != kNone; }
};

// A parameter or buffer under one of its names; a tied weight has several, all with one value.
struct Owned {
  ModuleId module = 0;
  ValueId value = 0;
  StringId name = 0;  // within the module: "weight"
};

// A cost that was declared for an op; what is absent is as the table has it.
struct DeclaredCost {
  OpId op = 0;
  std::optional<std::uint64_t> macs, flops, bytes;
  std::string
      source{};  // whose formula it is: empty for the user's own, or "torch", "fvcore", "bitsandbytes"
};

enum class NodeKind : std::uint8_t {
  kPlaceholder,
  kGetAttr,
  kCallModule,
  kCallFunction,
  kCallMethod,
  kOutput
};

// A node of the graph that one of PyTorch's tracers made. Nodes group ops, as module calls do: an op belongs
// to one at most, and what a part that runs twice does twice belongs to the same nodes.
struct Node {
  NodeKind kind = NodeKind::kCallFunction;
  StringId name = 0;    // the tracer's own: "layer1_0_conv1"
  StringId target = 0;  // "layer1.0.conv1", "torch.flatten", "aten.conv2d.default"
  StringId source = 0;  // the line of the model behind it: "model.py:42"
  PartId part = 0;
  ModuleId module = 0;  // that runs it, by the tracer's module stack; a called module itself for kCallModule
  Range inputs{};       // in node_refs: the nodes it takes
  Range outputs{};      // in value_refs: the tensors of its result, of its first run
};

// One graph of a tracer: the whole model, or what Dynamo made of it between two breaks. Its nodes are one run
// of Graph::nodes, and parts are in the order in which they first ran.
struct Part {
  std::string name;         // of the function it was made from: "forward"
  std::uint32_t calls = 0;  // how often it ran
};

// Where Dynamo gave up and left the code to Python.
struct Break {
  std::string reason;    // one line
  std::string detail;    // all that PyTorch says
  std::string source;    // "model.py:42", may be empty
  PartId after = kNone;  // the part that ends there; kNone where a whole function was left out
};

// How one tracer of a ladder ended.
struct Rung {
  std::string tracer;   // "fx", "dynamo_export", "export", "static"
  std::string outcome;  // "used", "failed", "not tried"
  std::string reason;   // one line, where it failed
  std::string hint;     // what to do about it
  std::string detail;   // all that PyTorch says
  double seconds = 0;
};

// A stretch of a training step: "forward", "backward", "optimizer". It ends where the next begins.
struct Phase {
  std::string name;
  OpId begin = 0;
};

struct Diagnostic {
  std::string kind;  // "assumption", "bound", "fallback", "slow_path", "stray", "unknown_op"
  std::string op;    // "aten::nonzero", may be empty
  std::string module;
  std::string message;
};

// A file that a cached capture depends on, as it was.
struct Dependency {
  std::string path;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
};

struct SlowOp {
  std::string op;
  std::uint64_t count = 0;
};

// How the model's weights were published, where that is not in one dtype: what its config says.
struct PublishedStorage {
  std::string method{};                // "gptq"; "": as their dtype says
  std::string scheme{};                // "int4:group=128"; "": a method that opscope cannot price
  std::vector<std::string> only{};     // modules that are stored so; none: all linears
  std::vector<std::string> without{};  // modules that are not
};

// What the model's config says, where it has one.
struct ModelFacts {
  std::uint64_t positions = 0;  // tokens that its positions allow; 0: not known, or no limit
  std::string published_dtype;  // of its weights; "": not known
  bool is_known() const { return positions != 0 || !published_dtype.empty(); }
};

struct CaptureInfo {
  std::string model;              // "resnet18"
  std::string source;             // "torchvision 0.28.0"
  std::string tracer;             // "static", "eager"; "fx", "dynamo", "dynamo_export", "export"
  std::string torch;              // version
  double seconds = 0;             // of the capture itself, imports and model building excluded
  std::vector<SlowOp> slow_path;  // ops that ran a Python meta kernel or decomposition
  std::vector<Dependency> dependencies;
  std::vector<Rung> rungs;  // of the hybrid ladder, in its order
  PublishedStorage published{};
  ModelFacts facts{};
};

class Graph {
 public:
  std::vector<Op> ops;
  std::vector<Value> values;
  std::vector<SparseForm> sparse_forms;
  std::vector<StoredForm> stored_forms;
  std::vector<Storage> storages;
  std::vector<Lifetime> lifetimes;  // by storage; empty where the capture does not tell
  std::vector<Module> modules;      // every module of the model, parents first; 0 is the root
  std::vector<Scope> scopes;        // parents first
  std::vector<Target> targets;
  std::vector<Owned> owned;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  std::vector<DeclaredCost> declared;  // by op
  std::vector<Diagnostic> diagnostics;
  std::vector<Phase> phases;  // in order; empty for a forward run alone
  std::vector<Node> nodes;    // of a tracer's graphs, part by part, each in its order
  std::vector<Part> parts;
  std::vector<Break> breaks;
  CaptureInfo capture;
  std::optional<CapturedCuda> cuda;  // where one was named
  KvCache kv_cache;                  // of a decode step; empty where the capture does not tell
  Measurement measurement;           // what its ops took; empty where it was not measured

  std::vector<std::int64_t> dims;
  std::vector<double> reals;
  std::vector<ValueId> value_refs;
  std::vector<NodeId> node_refs;
  std::vector<Argument> arguments;

  StringId intern(std::string_view text) { return strings_.intern(text); }
  // A number of its own, for texts that hardly repeat: they are compared as texts, not by number.
  StringId add_text(std::string_view text) { return strings_.add(text); }
  void reserve_strings(std::size_t count) { strings_.reserve(count); }
  std::string_view text(StringId id) const { return strings_[id]; }
  std::size_t string_count() const { return strings_.size(); }

  std::span<const std::int64_t> shape(const Value& value) const { return slice(dims, value.shape); }
  std::span<const std::int64_t> strides(const Value& value) const { return slice(dims, value.strides); }
  std::span<const Argument> arguments_of(const Op& op) const { return slice(arguments, op.arguments); }
  std::span<const ValueId> outputs_of(const Op& op) const { return slice(value_refs, op.outputs); }
  std::span<const ValueId> outputs_of(const Scope& scope) const {
    return scope.tells_outputs() ? slice(value_refs, scope.outputs) : std::span<const ValueId>();
  }
  std::span<const NodeId> inputs_of(const Node& node) const { return slice(node_refs, node.inputs); }
  std::span<const ValueId> outputs_of(const Node& node) const { return slice(value_refs, node.outputs); }
  std::span<const ValueId> values_in(const Argument& list) const { return slice(value_refs, list.range); }
  std::span<const std::int64_t> ints_in(const Argument& list) const { return slice(dims, list.range); }
  std::span<const double> reals_in(const Argument& list) const { return slice(reals, list.range); }

  // nullptr where every element is stored.
  const SparseForm* sparse_form(const Value& value) const {
    return value.sparse == kNone ? nullptr : &sparse_forms[value.sparse];
  }
  // nullptr where it is held as its dtype says.
  const StoredForm* stored_form(const Value& value) const {
    return value.stored == kNone ? nullptr : &stored_forms[value.stored];
  }

  std::string_view op_name(const Op& op) const { return text(targets[op.target].name); }
  const Module& module_of(const Op& op) const { return modules[scopes[op.scope].module]; }
  std::string_view path(const Module& module) const { return text(module.path); }

  // Appends to a pool and returns the slice.
  Range add_dims(std::span<const std::int64_t> items) { return append(dims, items); }
  Range add_reals(std::span<const double> items) { return append(reals, items); }
  Range add_refs(std::span<const ValueId> items) { return append(value_refs, items); }
  Range add_node_refs(std::span<const NodeId> items) { return append(node_refs, items); }
  Range add_arguments(std::span<const Argument> items) { return append(arguments, items); }
  TargetId add_target(std::string_view name, std::string_view overload);

  // Throws Error if an id, range or order is broken; every reader and builder ends with it.
  void verify() const;

 private:
  template <class T>
  static std::span<const T> slice(const std::vector<T>& pool, Range range) {
    return {pool.data() + range.begin, range.size};
  }
  template <class T>
  static Range append(std::vector<T>& pool, std::span<const T> items) {
    OPSCOPE_CHECK(pool.size() + items.size() < kNone);
    const Range range{static_cast<std::uint32_t>(pool.size()), static_cast<std::uint32_t>(items.size())};
    pool.insert(pool.end(), items.begin(), items.end());
    return range;
  }

  StringPool strings_;
  std::unordered_map<std::uint64_t, TargetId> target_ids_;
};

// Two ids as one key of a map.
constexpr std::uint64_t pair_key(Id first, Id second) { return (std::uint64_t{first} << 32) | second; }

// In elements.
std::vector<std::int64_t> contiguous_strides(std::span<const std::int64_t> shape);
// Elements and bytes of a shape, saturating.
Count numel(std::span<const std::int64_t> shape);
// What was declared for an op; nullptr where nothing was.
const DeclaredCost* find_declared(const Graph& graph, OpId op);
// Of a sparse value, what it holds: its values and their indices. Of a quantised weight, what is stored.
inline Count bytes_of(const Graph& graph, const Value& value) {
  if (const StoredForm* form = graph.stored_form(value)) return Count{form->bytes};
  if (const SparseForm* form = graph.sparse_form(value))
    return bytes_of(value.dtype, Count{form->stored}) + Count{form->index_bytes};
  return bytes_of(value.dtype, numel(graph.shape(value)));
}

std::string_view name(ValueKind kind);
std::string_view name(ArgumentKind kind);
std::string_view name(NodeKind kind);  // "call_module", as torch.fx writes it

// Reads "aten::conv2d" as "conv2d".
constexpr std::string_view short_op_name(std::string_view name) {
  const auto colon = name.rfind("::");
  return colon == std::string_view::npos ? name : name.substr(colon + 2);
}
// "aten::relu_" -> "relu": an in-place op is of its functional twin's type.
constexpr std::string_view op_type(std::string_view op_name) {
  std::string_view type = short_op_name(op_name);
  if (type.size() > 1 && type.ends_with('_') && !type.ends_with("__")) type.remove_suffix(1);
  return type;
}

// Which tensors an op takes, wherever among its arguments they stand. Calls visit(ValueId), or visit(ValueId,
// Argument), for each; absent tensors are left out, one that is taken twice comes twice.
template <class Visit>
void each_read(const Graph& graph, const Op& op, Visit visit) {
  const auto call = [&](ValueId id, const Argument& argument) {
    if constexpr (std::invocable<Visit&, ValueId, const Argument&>)
      visit(id, argument);
    else
      visit(id);
  };
  for (const auto& argument : graph.arguments_of(op)) {
    if (argument.kind == ArgumentKind::kTensor) call(static_cast<ValueId>(argument.integer), argument);
    if (argument.kind != ArgumentKind::kTensorList) continue;
    for (const auto id : graph.values_in(argument))
      if (id != kNone) call(id, argument);
  }
}

// The innermost call that both are or are in.
inline ScopeId common_scope(const Graph& graph, ScopeId a, ScopeId b) {
  while (a != b) {  // parents come first, so the later one is the deeper one or in another branch
    if (a < b) std::swap(a, b);
    a = graph.scopes[a].parent;
  }
  return a;
}

// By scope: how many calls are around it.
inline std::vector<std::uint32_t> scope_depths(const Graph& graph) {
  std::vector<std::uint32_t> depths(graph.scopes.size(), 0);
  for (ScopeId s = 1; s < depths.size(); ++s) depths[s] = depths[graph.scopes[s].parent] + 1;
  return depths;
}

// An op's number in Graph::phases; 0 for all ops of a run that has none.
inline std::uint32_t phase_of(const Graph& graph, OpId op) {
  std::uint32_t phase = 0;
  while (phase + 1 < graph.phases.size() && graph.phases[phase + 1].begin <= op) ++phase;
  return phase;
}

// The first op behind a phase.
inline OpId phase_end(const Graph& graph, std::size_t phase) {
  return phase + 1 < graph.phases.size() ? graph.phases[phase + 1].begin
                                         : static_cast<OpId>(graph.ops.size());
}

// One graph of a tracer, taken out of a capture as a capture of its own: the part's nodes, the ops of all its
// runs, and what they need. What was made elsewhere and is read here is an input; what is made here and read
// elsewhere, or returned by the part or the model, an output. Modules and scopes stay as they are, so that
// paths and layers have the names they have in the whole; parameters and buffers are those that its ops read.
Graph part_of(const Graph& graph, PartId part);

// The capture's JSON form (schema/capture.schema.json): lossless, deterministic, one op, value or module per
// line. readers/capture/capture_reader.h is its inverse.
std::string write_json(const Graph& graph);
void write_json(const Graph& graph, const TextSink& sink);

}  // namespace opscope
