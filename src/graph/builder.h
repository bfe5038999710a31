// Makes graphs one op at a time, keeping the bookkeeping (pools, storages, scopes, ownership) right by
// construction. For the readers of other formats and for tests:
//
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
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "graph/graph.h"

namespace opscope {

using ints = std::vector<std::int64_t>;
using floats = std::vector<double>;
using bools = std::vector<bool>;

// A value of the graph being built.
struct Tensor {
  ValueId id = kNone;  // kNone: an absent tensor in a list
};
using tensors = std::vector<Tensor>;

// What a new value is like: {1, 64, 112, 112}, or {{1, 64}, DType::kFloat16}.
struct TensorSpec {
  TensorSpec(std::initializer_list<std::int64_t> dims) : shape(dims) {}
  TensorSpec(ints dims, DType type = DType::kFloat32) : shape(std::move(dims)), dtype(type) {}

  // Shares the storage of `base`: a view, or the result of an in-place op.
  TensorSpec&& view_of(Tensor base) && {
    alias = base;
    return std::move(*this);
  }

  ints shape;
  DType dtype = DType::kFloat32;
  std::optional<ints> strides;  // contiguous unless given; an empty list is "not strided"
  std::int64_t offset = 0;
  Tensor alias;
};

// One argument by its schema name.
struct NamedArgument {
  using Item = std::variant<std::nullptr_t, Tensor, tensors, std::int64_t, double, bool, std::string, DType,
                            ints, floats, bools>;
  template <class T>
  NamedArgument(std::string_view argument_name, T item)
      : name(argument_name), value(convert(std::move(item))) {}

  std::string_view name;
  Item value;

 private:
  template <class T>
  static Item convert(T item) {
    if constexpr (std::same_as<T, bool>)
      return Item(std::in_place_type<bool>, item);
    else if constexpr (std::integral<T>)
      return Item(std::in_place_type<std::int64_t>, item);
    else if constexpr (std::floating_point<T>)
      return Item(std::in_place_type<double>, item);
    else if constexpr (std::same_as<T, std::nullopt_t>)
      return Item(nullptr);
    else if constexpr (!std::same_as<T, std::nullptr_t> && std::convertible_to<T, std::string_view>)
      return Item(std::in_place_type<std::string>, std::string_view(item));
    else
      return Item(std::move(item));
  }
};

class GraphBuilder {
 public:
  explicit GraphBuilder(std::string_view model = "model", std::string_view root_type = "Model");

  // A call of the child `name` of the module that is running, until the returned object goes. The module is
  // made on its first call. Dots make or pass through the modules between ("layer1.0") without calling them.
  class Call {
   public:
    Call(Call&& other) noexcept : builder_(std::exchange(other.builder_, nullptr)) {}
    Call& operator=(Call&&) = delete;
    ~Call() {
      if (builder_ != nullptr) builder_->running_.pop_back();
    }

   private:
    friend class GraphBuilder;
    explicit Call(GraphBuilder* builder) : builder_(builder) {}
    GraphBuilder* builder_;
  };
  [[nodiscard]] Call call(std::string_view name, std::string_view type);
  // The module of that path below the one running, made where missing, not called.
  ModuleId module(std::string_view path, std::string_view type);

  Tensor input(const TensorSpec& spec, std::string_view name = "input");
  // Owned by the module that is running; asked for again by the same name, the same value.
  Tensor parameter(std::string_view name, const TensorSpec& spec, bool trainable = true);
  Tensor buffer(std::string_view name, const TensorSpec& spec);
  Tensor constant(const TensorSpec& spec);
  // Another name of a parameter or buffer: a tied weight.
  void tie(std::string_view name, Tensor owned);

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
  class RunningNode {
   public:
    RunningNode(RunningNode&& other) noexcept
        : builder_(std::exchange(other.builder_, nullptr)), id_(other.id_) {}
    RunningNode& operator=(RunningNode&&) = delete;
    ~RunningNode() {
      if (builder_ != nullptr) builder_->end_node();
    }
    operator NodeId() const { return id_; }

   private:
    friend class GraphBuilder;
    RunningNode(GraphBuilder* builder, NodeId id) : builder_(builder), id_(id) {}
    GraphBuilder* builder_;
    NodeId id_;
  };
  [[nodiscard]] RunningNode node(NodeKind kind, std::string_view name, std::string_view target,
                                 std::initializer_list<NodeId> inputs = {}, const tensors& results = {});

  // Of the op last recorded.
  void source(std::string_view file_and_line);
  void declare_cost(std::optional<std::uint64_t> macs, std::optional<std::uint64_t> flops,
                    std::optional<std::uint64_t> bytes);

  // The graph so far, for what has no function here: diagnostics, capture.
  Graph& graph() { return graph_; }

  // Marks the outputs, verifies, and gives the graph away; the builder is empty after it.
  Graph finish(const tensors& outputs);

 private:
  Tensor add_value(const TensorSpec& spec, ValueKind kind);
  Tensor own(std::string_view name, const TensorSpec& spec, ValueKind kind);
  ModuleId child(ModuleId parent, std::string_view name, std::string_view type);
  ModuleId running_module() const { return graph_.scopes[running_.back()].module; }
  Argument convert(const NamedArgument& argument);
  void end_node();

  Graph graph_;
  std::vector<ScopeId> running_;
  std::vector<std::uint32_t> calls_;                      // by module
  std::unordered_map<std::uint64_t, ModuleId> children_;  // by parent and name
  std::unordered_map<std::uint64_t, ValueId> owned_;      // by module and name
  PartId part_ = kNone;                                   // that runs
  NodeId node_ = kNone;                                   // that runs
  std::unordered_map<std::uint64_t, NodeId> node_ids_;    // by part and name
};

}  // namespace opscope
