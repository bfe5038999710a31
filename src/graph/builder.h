// Makes graphs one op at a time, keeping the bookkeeping (pools, storages, scopes, ownership) right by
// construction: GraphAssembler for the readers of files, GraphBuilder for code that opens and closes its
// module calls itself.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace opscope {

using ints = std::vector<std::int64_t>;
using floats = std::vector<double>;
using bools = std::vector<bool>;

// What a sparse value holds.
struct SparseSpec {
  std::string_view layout;
  std::uint64_t stored = 0, index_bytes = 0;
};

// What a value is like.
struct ValueSpec {
  ints shape;
  std::optional<ints> strides = {};  // contiguous unless given; a list of another length is "not strided"
  DType dtype = DType::kUndefined;
  std::int64_t offset = 0;
  std::string_view device = "cpu";
  std::optional<SparseSpec> sparse = {};
};

// One entry of a module stack: `key` tells calls of one module apart.
struct ModuleCall {
  std::string_view key, path, type;
};

// Module calls come as stacks of names beside each op, in any order, and are matched to scopes here.
class GraphAssembler {
 public:
  explicit GraphAssembler(std::string_view model, std::string_view root_type = "Module");

  // The module of that dotted path, made with its parents where missing. A type given later is kept.
  ModuleId module(std::string_view path, std::string_view type = {});
  // Ops from here on run in this stack of module calls, outermost first, the root left out.
  void enter(std::span<const ModuleCall> stack);
  // Ops from here on run in a new call of the module, inside of the call that runs.
  void call(ModuleId module);
  ScopeId scope() const { return scope_; }
  void return_to(ScopeId scope) { scope_ = scope; }
  ModuleId running_module() const { return graph.scopes[scope_].module; }

  // alias: a value whose storage the new one shares; kNone: a storage of its own.
  ValueId value(const ValueSpec& spec, ValueKind kind, ValueId alias = kNone);
  ValueId input(const ValueSpec& spec, std::string_view name, ValueId alias = kNone);
  // The strides that give `shape` on the value's memory without a copy; empty where there are none.
  ints view_strides(ValueId id, std::span<const std::int64_t> shape) const;
  void name(ValueId id, std::string_view text) { graph.values[id].name = keep(text); }
  // A parameter or buffer under its dotted path; called again for another name of a tied weight.
  void own(std::string_view path, ValueId id);
  void own(ModuleId module, std::string_view name, ValueId id);
  ValueId owned(ModuleId module, std::string_view name);  // kNone where there is none

  // An op in the current scope.
  void op(std::string_view name, std::string_view overload, std::span<const Argument> arguments,
          std::span<const ValueId> outputs);
  // Once per kind, op and message.
  void note(std::string_view kind, std::string_view op, std::string message);

  Argument none(std::string_view name) { return single(name, ArgumentKind::kNone, 0); }
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
  Argument list(std::string_view name, std::span<const std::int64_t> items) {
    return {.name = keep(name), .kind = ArgumentKind::kIntList, .range = graph.add_dims(items)};
  }
  Argument list(std::string_view name, const bools& items) {
    const auto range = graph.add_dims(ints(items.begin(), items.end()));
    return {.name = keep(name), .kind = ArgumentKind::kBoolList, .range = range};
  }
  Argument list(std::string_view name, std::span<const double> items) {
    return {.name = keep(name), .kind = ArgumentKind::kFloatList, .range = graph.add_reals(items)};
  }

  // Marks outputs, verifies and gives the graph away. `where`: the file, for errors.
  Graph finish(std::span<const ValueId> outputs, const std::string& where = {});

  Graph graph;

  // Interned, what is not UTF-8 in it replaced: files hold any bytes as names.
  StringId keep(std::string_view text);

 private:
  Argument single(std::string_view name, ArgumentKind kind, std::int64_t value) {
    return {.name = keep(name), .kind = kind, .integer = value};
  }

  std::unordered_map<std::uint64_t, ScopeId> scopes_;  // by parent scope and key
  std::unordered_map<std::string, ModuleId> modules_;  // by path
  std::unordered_map<std::uint64_t, ValueId> owned_;   // by module and name
  std::unordered_set<std::string> noted_;
  std::vector<std::uint32_t> calls_;  // by module
  ScopeId scope_ = 0;
};

// A value of the graph being built.
struct Tensor {
  ValueId id = kNone;  // kNone: an absent tensor in a list
};
using tensors = std::vector<Tensor>;
std::vector<ValueId> ids_of(const tensors& list);

// What a new value is like: {1, 64, 112, 112}, or {{1, 64}, DType::kFloat16}.
struct TensorSpec : ValueSpec {
  TensorSpec(std::initializer_list<std::int64_t> dims) : TensorSpec(ints(dims)) {}
  TensorSpec(ints dims, DType type = DType::kFloat32) : ValueSpec{.shape = std::move(dims), .dtype = type} {}

  TensorSpec&& holding(const SparseSpec& what) && {
    sparse = what;
    return std::move(*this);
  }
  // Shares the storage of `base`: a view, or the result of an in-place op.
  TensorSpec&& view_of(Tensor base) && {
    alias = base;
    return std::move(*this);
  }

  Tensor alias;
};

// One argument by its schema name.
struct NamedArgument {
  template <class T>
  NamedArgument(std::string_view name, T item)
      : make([name, item = std::move(item)](GraphAssembler& out) { return argument(out, name, item); }) {}

  std::function<Argument(GraphAssembler&)> make;

 private:
  template <class T>
  static Argument argument(GraphAssembler& out, std::string_view name, const T& item) {
    if constexpr (std::same_as<T, std::nullptr_t> || std::same_as<T, std::nullopt_t>)
      return out.none(name);
    else if constexpr (std::same_as<T, Tensor>)
      return out.tensor(name, item.id);
    else if constexpr (std::same_as<T, bool>)
      return out.boolean(name, item);
    else if constexpr (std::integral<T>)
      return out.integer(name, static_cast<std::int64_t>(item));
    else if constexpr (std::floating_point<T>)
      return out.real(name, item);
    else if constexpr (std::same_as<T, DType>)
      return out.dtype(name, item);
    else if constexpr (std::convertible_to<T, std::string_view>)
      return out.text(name, item);
    else if constexpr (std::same_as<T, tensors>)
      return out.tensors(name, ids_of(item));
    else
      return out.list(name, item);
  }
};

//   GraphBuilder b("net");
//   auto x = b.input({1, 3, 224, 224});
//   {
//     auto conv1 = b.call("conv1", "Conv2d");
//     auto w = b.parameter("weight", {64, 3, 7, 7});
//     x = b.op("aten::conv2d", {{"input", x}, {"weight", w}, {"bias", nullptr}, {"stride", ints{2, 2}}},
//              {{1, 64, 112, 112}});
//   }
//   Graph graph = b.finish({x});
//
// A tracer's graph goes around the ops:
//
//   b.begin_part("forward");
//   const NodeId input = b.node(NodeKind::kPlaceholder, "x", "x", {}, {x});
//   {
//     const auto relu = b.node(NodeKind::kCallFunction, "relu", "torch.relu", {input});
//     x = b.op("aten::relu", {{"self", x}}, {{1, 64}});
//   }
class GraphBuilder {
 public:
  explicit GraphBuilder(std::string_view model = "model", std::string_view root_type = "Model")
      : out_(model, root_type) {
    out_.graph.capture.model = model;  // as it is, whatever its bytes
  }

  // A module's call or a node, until it goes.
  class Running {
   public:
    Running(Running&& other) noexcept : end_(std::exchange(other.end_, nullptr)), node_(other.node_) {}
    Running& operator=(Running&&) = delete;
    ~Running() {
      if (end_) end_();
    }
    operator NodeId() const { return node_; }

   private:
    friend class GraphBuilder;
    explicit Running(std::function<void()> end, NodeId node = kNone) : end_(std::move(end)), node_(node) {}
    std::function<void()> end_;
    NodeId node_;
  };

  // A call of the child `name` of the module that is running, until the returned object goes. The module is
  // made on its first call. Dots make or pass through the modules between ("layer1.0") without calling them.
  [[nodiscard]] Running call(std::string_view name, std::string_view type);
  // The module of that path below the one running, made where missing, not called.
  ModuleId module(std::string_view path, std::string_view type);

  Tensor input(const TensorSpec& spec, std::string_view name = "input") {
    return {out_.input(spec, name, spec.alias.id)};
  }
  // Owned by the module that is running; asked for again by the same name, the same value.
  Tensor parameter(std::string_view name, const TensorSpec& spec, bool trainable = true) {
    const auto tensor = own(name, spec, ValueKind::kParameter);
    out_.graph.values[tensor.id].trainable = trainable;
    return tensor;
  }
  Tensor buffer(std::string_view name, const TensorSpec& spec) { return own(name, spec, ValueKind::kBuffer); }
  Tensor constant(const TensorSpec& spec) { return {out_.value(spec, ValueKind::kConstant, spec.alias.id)}; }
  // Another name of a parameter or buffer: a tied weight.
  void tie(std::string_view name, Tensor owned) { out_.own(out_.running_module(), name, owned.id); }

  // Records an op in the module that is running; "aten::add.Tensor" has an overload after its last dot.
  Tensor op(std::string_view target, std::initializer_list<NamedArgument> arguments,
            std::initializer_list<TensorSpec> outputs);
  std::vector<Tensor> op_outputs(std::string_view target, std::span<const NamedArgument> arguments,
                                 std::span<const TensorSpec> outputs);

  // Begins a run of a tracer's graph; one begun before by that name runs again.
  PartId begin_part(std::string_view name);
  // A node of the part that runs, in the module that is running. The ops recorded until the returned object
  // goes are its own; it gives `results`, or where there are none, what the last of those ops made. In a part
  // that runs again it is found by its name and stays as it was.
  [[nodiscard]] Running node(NodeKind kind, std::string_view name, std::string_view target,
                             std::initializer_list<NodeId> inputs = {}, const tensors& results = {});

  // Of the op last recorded.
  void source(std::string_view file_and_line);
  void declare_cost(std::optional<std::uint64_t> macs, std::optional<std::uint64_t> flops,
                    std::optional<std::uint64_t> bytes, std::string source = {});

  // The graph so far, for what has no function here: diagnostics, capture.
  Graph& graph() { return out_.graph; }

  // Marks the outputs, verifies, and gives the graph away; the builder is empty after it.
  Graph finish(const tensors& outputs) { return out_.finish(ids_of(outputs)); }

 private:
  Tensor own(std::string_view name, const TensorSpec& spec, ValueKind kind);
  std::string path_below(std::string_view name) const;
  void end_node();

  GraphAssembler out_;
  PartId part_ = kNone;                                 // that runs
  NodeId node_ = kNone;                                 // that runs
  std::unordered_map<std::uint64_t, NodeId> node_ids_;  // by part and name
};

}  // namespace opscope
