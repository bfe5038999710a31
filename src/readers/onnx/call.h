// One ONNX node as the rules see it: inputs with shapes, and their numbers where those are known, attributes,
// and the ways to answer: ATen ops with outputs. A rule says what the node costs by which ops it becomes, and
// what its outputs are like.
#pragma once

#include <concepts>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/builder.h"
#include "readers/onnx/model.h"
#include "readers/pt2/symbols.h"

namespace opscope {

using Shape = ints;

// What is known of a name. A value of the graph is made when an op reads it: constants that only shape other
// things never become one.
struct OnnxInfo {
  std::optional<Shape> shape = {};
  DType dtype = DType::kUndefined;
  std::optional<Numbers> numbers = {};
  ValueId id = kNone;
  const OnnxTensor* weight = nullptr;  // an initialiser or Constant
  bool read_as_numbers = false;
  ModuleId reader = kNone;  // of a weight: the first module that reads it
  bool is_shared = false;   // and others do
  // Sequences and optionals are bookkeeping, as Python's lists and None are: no ops. An optional that holds
  // something is what it holds.
  bool is_sequence = false, is_empty_optional = false, may_be_empty = false;
  std::optional<std::vector<OnnxInfo*>> items = {};  // of a sequence, where it is known
  OnnxInfo* sample = nullptr;                        // what its items are like, else
};

// The names of one graph or function body; inner graphs see the names around them.
struct OnnxFrame {
  std::unordered_map<std::string_view, OnnxInfo*> names;
  std::unordered_map<std::string_view, const OnnxType*> declared;    // the file's value_info
  std::unordered_map<std::string_view, const OnnxAttribute*> given;  // a function's attributes
  std::unordered_set<std::string_view> absent;  // a function's inputs that the call leaves out
  OnnxFrame* outer = nullptr;
  int depth = 0;
};

class OnnxCall;

inline constexpr int kMostOnnxDepth = 48;  // of graphs and functions in each other

// Graphs in attributes: branches, bodies of loops. Rules run them, the reader knows how.
struct OnnxBodies {
  // Parsed once, however often it is asked for.
  virtual const OnnxGraph& body(std::string_view bytes) = 0;
  // Reads its nodes as a part of the node; gives its outputs.
  virtual std::vector<OnnxInfo*> run_body(OnnxCall& call, const OnnxGraph& body,
                                          std::span<OnnxInfo* const> inputs) = 0;

 protected:
  ~OnnxBodies() = default;
};

struct OnnxState {
  OnnxState(std::string_view model, const Dims& dims, std::string file)
      : out(model), symbols(dims), where(std::move(file)) {}

  GraphAssembler out;
  Symbols symbols;
  std::string where;
  std::deque<OnnxInfo> infos;
  std::deque<OnnxTensor> constants;
  std::deque<std::string> texts;  // names that are not the file's
  std::int64_t opset = 0;
  std::size_t numbers_made = 0;
  OnnxBodies* bodies = nullptr;
  std::size_t passes = 1;  // by which the loops around here multiply what is read
  // Values whose size is the largest possible, or not known: so is what is made of them.
  std::unordered_set<ValueId> bounded, estimated;

  // Functions repeat what is in them: numbers and shapes that nodes make are bounded, weights by the file.
  OnnxInfo* add(OnnxInfo info);
};

// How one output of an emitted op is like.
struct OnnxOutput {
  Shape shape;
  std::optional<DType> dtype = {};  // that of input 0 unless given
  Shape strides = {};               // empty: contiguous
};

// Sizes of hostile files do not overflow: they stop at the type's limits.
std::int64_t clamp_size(__int128 size);
// nullopt where the shapes do not go together.
std::optional<Shape> broadcast(std::span<const std::int64_t> a, std::span<const std::int64_t> b);
// Of a product, leading dimensions broadcast.
std::optional<Shape> matmul_shape(Shape a, Shape b);
// Within [0, rank); nullopt outside.
std::optional<std::size_t> axis_of(std::int64_t axis, std::size_t rank);
// All of them so.
std::optional<std::vector<std::size_t>> axes_of(std::span<const std::int64_t> axes, std::size_t rank);
std::vector<std::size_t> all_axes(std::size_t rank);

class OnnxCall {
 public:
  OnnxCall(OnnxState& state, OnnxFrame& frame, const OnnxNode& node)
      : state_(state), frame_(frame), node_(node) {}

  const OnnxNode& node() const { return node_; }
  std::string full_name() const;  // of its type: "onnx::MatMul"
  std::int64_t opset() const { return state_.opset; }

  // --- Inputs
  std::size_t input_count() const { return node_.inputs.size(); }
  bool has(std::size_t i) const { return info(i) != nullptr; }
  bool has_first(std::size_t count) const;  // so many inputs
  bool knows_all_shapes() const;
  const Shape& shape(std::size_t i) const;  // of a tensor that is there
  std::int64_t rank(std::size_t i) const { return static_cast<std::int64_t>(shape(i).size()); }
  // From the end when negative; 1 where there is none.
  std::int64_t dim(std::size_t i, std::int64_t axis) const {
    const auto at = axis_of(axis, shape(i).size());
    return at ? shape(i)[*at] : 1;
  }
  // [batch, heads, length, width] of input i, which is so or [batch, length, heads * width].
  std::optional<Shape> heads(std::size_t i, std::int64_t count) const;
  DType dtype(std::size_t i) const { return has(i) ? info(i)->dtype : DType::kUndefined; }
  const Numbers* numbers(std::size_t i) const;         // where they are known
  const Numbers* single_number(std::size_t i) const {  // and it is one
    const auto* known = numbers(i);
    return known != nullptr && known->size() == 1 ? known : nullptr;
  }
  bool is_weight(std::size_t i) const { return has(i) && info(i)->weight != nullptr; }
  // The value, made where it is the first time that an op reads it.
  ValueId value(std::size_t i, ValueKind weight_kind = ValueKind::kParameter) const;
  ValueId value_of(OnnxInfo& info, ValueKind weight_kind = ValueKind::kParameter) const;

  std::vector<ValueId> values() const;  // of all inputs, which are there

  // --- Attributes, with what a function was given in their place
  const OnnxAttribute* attribute(std::string_view name) const;
  std::int64_t integer(std::string_view name, std::int64_t usual) const {
    const auto* found = attribute(name);
    return found != nullptr ? found->integer.value_or(usual) : usual;
  }
  double real(std::string_view name, double usual) const {
    const auto* found = attribute(name);
    return found != nullptr && found->real ? *found->real : usual;
  }
  std::string_view text(std::string_view name, std::string_view usual) const {
    const auto* found = attribute(name);
    return found != nullptr && !found->text.empty() ? found->text : usual;
  }
  Shape integers(std::string_view name) const {
    const auto* found = attribute(name);
    return found != nullptr ? found->integers : Shape{};
  }
  // The attribute "axis" within input 0.
  std::optional<std::size_t> axis(std::int64_t usual) const {
    return axis_of(integer("axis", usual), shape(0).size());
  }
  // axes and the like: an input since some opset, an attribute before.
  std::optional<std::vector<std::int64_t>> integers(std::string_view name, std::size_t input) const;

  // --- Arguments
  Argument tensor(std::string_view name, std::size_t input) const {  // none where it is not there
    return has(input) ? state_.out.tensor(name, value(input)) : state_.out.none(name);
  }
  Argument tensor_of(std::string_view name, ValueId id) const { return state_.out.tensor(name, id); }
  Argument tensors(std::string_view name, std::span<const ValueId> ids) const {
    return state_.out.tensors(name, ids);
  }
  Argument number(std::string_view name, std::integral auto value) const {
    return state_.out.integer(name, static_cast<std::int64_t>(value));
  }
  Argument real_number(std::string_view name, double value) const { return state_.out.real(name, value); }
  Argument flag(std::string_view name, bool value) const { return state_.out.boolean(name, value); }
  Argument list(std::string_view name, std::span<const std::int64_t> items) const {
    return state_.out.list(name, items);
  }
  Argument word(std::string_view name, std::string_view value) const { return state_.out.text(name, value); }

  // --- Answers
  // An op whose outputs are new values; views share their first tensor argument's memory.
  std::vector<ValueId> op(std::string_view name, std::span<const Argument> arguments,
                          std::span<const OnnxOutput> outputs);
  ValueId op(std::string_view name, std::initializer_list<Argument> arguments, const OnnxOutput& output) {
    return op(name, {arguments.begin(), arguments.size()}, {&output, 1}).front();
  }
  ValueId op(std::string_view name, std::initializer_list<Argument> arguments) {  // an output like input 0
    return op(name, arguments, like(0));
  }
  // Output i of the node is this value; an output that nobody named is left alone.
  void result(std::size_t i, ValueId id);
  void give(std::size_t i, OnnxInfo* info) {
    if (wants(i)) define(node_.outputs[i], info);
  }
  OnnxInfo* info_of(ValueId id);  // that is new
  // Ops from `first` on: how often they run is not certain.
  void mark(std::size_t first, bool bounded, bool estimated);
  // Output i: how large it is is not certain.
  void doubt(std::size_t i, bool bounded, bool estimated);
  std::size_t op_count() const { return state_.out.graph.ops.size(); }
  void note(std::string message) { state_.out.note("assumption", full_name(), std::move(message)); }
  // The usual case: one op, one output, which is output 0. The file's shape of it wins over the rule's.
  bool answer(std::string_view name, std::initializer_list<Argument> arguments, OnnxOutput output) {
    result(0, op(name, arguments, settle(0, std::move(output))));
    return true;
  }
  bool answer(std::string_view name, std::initializer_list<Argument> arguments) {  // like input 0
    return answer(name, arguments, like(0));
  }
  // One op whose outputs are the node's.
  bool answer_all(std::string_view name, std::initializer_list<Argument> arguments,
                  std::span<const OnnxOutput> outputs);
  // An output that is like input i.
  OnnxOutput like(std::size_t i) const { return {shape(i), dtype(i)}; }
  // Output i as the file declares it, where it does so completely, else as the rule has it.
  OnnxOutput settle(std::size_t i, OnnxOutput output) const;
  std::optional<Shape> declared_shape(std::size_t i, bool ask) const;
  // What the rule found, else what the file declares.
  std::optional<Shape> or_declared(std::optional<Shape> shape, std::size_t i = 0) const {
    return shape ? shape : declared_shape(i, false);
  }
  // The dtype that an attribute names by its number, else another.
  DType dtype_attribute(std::string_view name, DType usual) const {
    const auto named = onnx_dtype(integer(name, 0));
    return named != DType::kUndefined ? named : usual;
  }
  // A size that depends on data: what the file or --dim says, under the file's name for it or a made-up one,
  // else the largest possible. The next op is bounded by it.
  std::int64_t size_from_data(std::size_t output, std::size_t axis, std::int64_t most);
  // How often, or how many, where --dim says so: under the first output's name, "y.trips".
  std::string told_name(std::string_view what) const;
  std::optional<std::int64_t> told(std::string_view what) const;
  bool wants(std::size_t i) const { return i < node_.outputs.size() && !node_.outputs[i].empty(); }

  OnnxState& state() const { return state_; }
  OnnxFrame& frame() const { return frame_; }
  // The information of input i; nullptr where it is left out.
  OnnxInfo* info(std::size_t i) const;
  OnnxInfo* find(std::string_view name) const;
  // False, after a note that these inputs' shapes do not go together.
  bool misfit(std::size_t a, std::size_t b) const;
  void define(std::string_view name, OnnxInfo* info) {
    if (!name.empty()) frame_.names.insert_or_assign(name, info);
  }

 private:
  bool is_absent(std::string_view name) const;
  void settle_doubts(std::span<const ValueId> made);
  std::string owned_path(std::string_view weight) const;

  OnnxState& state_;
  OnnxFrame& frame_;
  const OnnxNode& node_;
};

// How a node sees its first input that only looks at the same memory in another way, from the strides that
// this has; nullopt where it does not fit.
struct OnnxView {
  Shape shape = {}, strides = {};
  std::int64_t first = 0;  // element
  bool turned = false;     // some stride goes backwards
};
std::optional<OnnxView> squeezed(const OnnxCall& call, const Shape& strides);
std::optional<OnnxView> unsqueezed(const OnnxCall& call, const Shape& strides);
std::optional<OnnxView> transposed(const OnnxCall& call, const Shape& strides);
std::optional<OnnxView> expanded(const OnnxCall& call, const Shape& strides);
std::optional<OnnxView> sliced(const OnnxCall& call, const Shape& strides);
// The shape that a Reshape asks for, where it is known.
std::optional<Shape> reshaped(const OnnxCall& call);

// A node type and what it becomes. apply is false where the node is not one it understands.
struct OnnxRule {
  std::string_view type;
  bool (*apply)(OnnxCall&, std::string_view aten);
  std::string_view aten = {};
  std::size_t needs = 1;   // inputs, from the first on: apply is asked where they are there
  bool takes_any = false;  // also sequences, and tensors whose shape is not known
};
// What the node becomes; false where no rule has an answer.
bool apply_onnx_rule(OnnxCall& call);
// Every family's rows, each sorted by type.
std::span<const OnnxRule> onnx_pointwise_rules();
bool apply_same_name(OnnxCall& call);  // the ops of one tensor that need no row
std::span<const OnnxRule> onnx_attention_rules();
bool flex_attention(OnnxCall& call, std::string_view aten);
std::span<const OnnxRule> onnx_control_rules();
std::span<const OnnxRule> onnx_layer_rules();
std::span<const OnnxRule> onnx_learned_rules();  // of the domain ai.onnx.ml
std::span<const OnnxRule> onnx_move_rules();
std::span<const OnnxRule> onnx_norm_rules();
std::span<const OnnxRule> onnx_preview_rules();  // of the domains ai.onnx.preview and its training
std::span<const OnnxRule> onnx_sequence_rules();
std::span<const OnnxRule> onnx_signal_rules();
std::span<const OnnxRule> onnx_view_rules();
std::span<const OnnxRule> onnx_window_rules();

// The types of the node's outputs as an inference that lives elsewhere (see OnnxInference) has them, given
// the node as a model of its own; empty where it has no answer.
std::vector<OnnxType> infer_single(const OnnxCall& call, std::string (*infer)(const std::string& model));
// The node's only output where all it needs is known: Shape, and arithmetic on small tensors.
std::optional<OnnxInfo> fold_onnx(const OnnxCall& call);

}  // namespace opscope
