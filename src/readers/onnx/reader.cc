// The walk over the nodes: what can be folded is, functions are gone into, rules make ops of the rest; and
// what is read before and after.
#include "readers/onnx/reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "ops/op_rule.h"
#include "readers/onnx/call.h"
#include "readers/onnx/notes.h"
#include "readers/onnx/scopes.h"

namespace opscope {
namespace {

constexpr std::size_t kMostNodes = 2'000'000;  // functions can call functions: 2^30 nodes in a small file
constexpr std::size_t kItemsOfNode = 16;       // inputs, outputs and numbers of lists: more count as nodes
constexpr std::size_t kMostNumbers = 4096;

// Their result has the shape of their first input.
constexpr auto kElementwise =
    std::to_array<std::string_view>({"Abs", "Cast", "CastLike", "Ceil", "Exp", "Floor", "Identity", "Log",
                                     "Neg", "Relu", "Sigmoid", "Sqrt", "Tanh"});
static_assert(std::ranges::is_sorted(kElementwise));

class OnnxReader : private OnnxBodies {
 public:
  OnnxReader(std::string_view bytes, const std::string& where, std::string_view model, const Dims& dims,
             OnnxInference infer)
      : state_(model, dims, where),
        model_(parse_onnx_model(bytes, where)),
        scopes_(state_.out),
        infer_(infer) {
    state_.bodies = this;
  }

  Graph run() {
    about();
    OnnxFrame frame;
    add_names(frame, model_.graph);
    declare(frame, model_.graph);
    read_inputs(frame);
    read_nodes(frame, model_.graph.nodes);
    const auto outputs = read_outputs(frame);
    note_shared_weights(state_);
    own_the_rest(frame);
    note_folded_norms(state_, model_.graph, folded_norms_);
    state_.symbols.check(state_.where);
    return state_.out.finish(outputs, state_.where);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(what, state_.where, "the file is damaged, or made by a program that writes broken models");
  }

  void about() {
    auto& capture = state_.out.graph.capture;
    const auto found = model_.opsets.find("");
    state_.opset = found != model_.opsets.end() ? found->second : 1;
    capture.source = fmt::format("ONNX opset {}", state_.opset);
    std::string by(model_.producer);
    if (!model_.producer_version.empty()) by += " " + std::string(model_.producer_version);
    if (is_utf8(by) && !by.empty()) capture.source += ", made by " + truncate(by, 60);
    for (const auto& function : model_.functions)
      functions_.emplace(key(function.domain, function.name), &function);
  }

  static std::string key(std::string_view domain, std::string_view name) {
    return std::string(domain).append("\n").append(name);
  }

  // --- What is there before the first node
  void add_names(OnnxFrame& frame, const OnnxGraph& graph) {
    for (const auto& value : graph.values) frame.declared.try_emplace(value.name, &value.type);
    count_nodes(graph.initializers.size() + graph.values.size() / kItemsOfNode);
    for (const auto& tensor : graph.initializers) frame.names.insert_or_assign(tensor.name, weight(tensor));
  }

  // What the file says of a result also holds for what that is made of, element by element.
  static void declare(OnnxFrame& frame, const OnnxGraph& graph) {
    for (const auto& value : graph.outputs) frame.declared.try_emplace(value.name, &value.type);
    for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
      const bool is_one = node->domain.empty() && !node->inputs.empty() && node->outputs.size() == 1;
      if (!is_one || !std::ranges::binary_search(kElementwise, node->op_type)) continue;
      if (const auto found = frame.declared.find(node->outputs[0]); found != frame.declared.end())
        frame.declared.try_emplace(node->inputs[0], found->second);
    }
  }

  // A tensor of the file is one weight, however often a function that has it is called.
  OnnxInfo* weight(const OnnxTensor& tensor) {
    auto& known = weights_[&tensor];
    if (known != nullptr) return known;
    OnnxInfo info{.shape = tensor.dims, .dtype = tensor.dtype, .weight = &tensor};
    info.numbers = onnx_numbers(tensor, kMostNumbers);
    return known = state_.add(std::move(info));
  }

  void count_nodes(std::size_t more) {
    nodes_ += more;
    if (nodes_ > kMostNodes) fail("its functions unfold to more than two million nodes");
  }

  void read_inputs(OnnxFrame& frame) {
    for (const auto& input : model_.graph.inputs) {
      if (frame.names.contains(input.name)) continue;  // an initialiser that may be replaced
      auto* one = input_tensor(input);
      if (input.type.is_sequence) one = state_.add({.is_sequence = true, .sample = one});
      one->may_be_empty = input.type.is_optional;
      frame.names.emplace(input.name, one);
    }
  }

  // Of a sequence: one of its items.
  OnnxInfo* input_tensor(const OnnxValueInfo& input) {
    if (!input.type.is_tensor || !input.type.has_shape) return state_.add({.dtype = input.type.dtype});
    if (input.type.is_sequence && !are_bound(input.type.dims)) return state_.add({.dtype = input.type.dtype});
    const auto shape = input_shape(input);
    const auto name = input.type.is_sequence ? std::string(input.name) + "[i]" : std::string(input.name);
    const auto id = state_.out.input({.shape = shape, .dtype = input.type.dtype}, name);
    return state_.add({.shape = shape, .dtype = input.type.dtype, .id = id});
  }

  // Each item of a sequence may have another size: their names are not asked for.
  bool are_bound(std::span<const OnnxDim> dims) {
    return std::ranges::all_of(
        dims, [&](const OnnxDim& dim) { return dim.size >= 0 || state_.symbols.value_if_bound(dim.name); });
  }

  // A dimension without a name gets one: "x.0".
  Shape input_shape(const OnnxValueInfo& input) {
    Shape shape;
    if (input.type.dims.size() > 64) fail("an input of more than 64 dimensions");
    for (std::size_t i = 0; i < input.type.dims.size(); ++i) {
      const auto& dim = input.type.dims[i];
      if (dim.size >= 0) {
        shape.push_back(dim.size);
        continue;
      }
      const auto name = dim.name.empty() ? fmt::format("{}.{}", input.name, i) : std::string(dim.name);
      state_.symbols.describe(name, fmt::format("dimension {} of {}", i, truncate(input.name, 40)));
      const auto size = state_.symbols.value_of(name).value_or(1);
      if (size < 0)
        throw Error(fmt::format("a dimension of {}", size), "--dim " + name, "sizes are not negative");
      shape.push_back(size);
    }
    return shape;
  }

  // --- Nodes
  void read_nodes(OnnxFrame& frame, const std::vector<OnnxNode>& nodes) {
    for (const auto& node : nodes) {
      count_nodes(frame.depth == 0 ? 1 : 1 + extra_items(node));
      const auto outer = state_.out.scope();
      if (frame.depth == 0 || !node.name_scopes.empty()) scopes_.enter(node);
      OnnxCall call(state_, frame, node);
      read_node(call);
      state_.out.return_to(outer);
      if (node.rewritten_by.find("FuseBatchNorm") != std::string_view::npos) ++folded_norms_;
    }
  }

  // A node with long lists makes the graph keep as much as many nodes.
  static std::size_t extra_items(const OnnxNode& node) {
    auto count = node.inputs.size() + node.outputs.size();
    for (const auto& attribute : node.attributes) count += attribute.integers.size() + attribute.reals.size();
    return count - std::min(count, kItemsOfNode);
  }

  void read_node(OnnxCall& call) {
    const auto& node = call.node();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) static_cast<void>(call.info(i));
    if (node.op_type.empty()) fail("a node without a type");
    if (node.domain.empty() && read_special(call)) return;
    if (auto folded = fold_onnx(call)) return call.define(node.outputs[0], state_.add(std::move(*folded)));
    if (const auto found = functions_.find(key(node.domain, node.op_type)); found != functions_.end())
      return read_function(call, *found->second);
    if (apply_onnx_rule(call)) return define_missing(call);
    read_unknown(call);
  }

  // True where it was one of those that are no ops.
  bool read_special(OnnxCall& call) {
    const auto type = call.node().op_type;
    if (type == "Constant") return read_constant(call);
    if (type != "Identity" || !call.has(0)) return false;
    const auto& one = *call.info(0);
    const bool is_no_op =
        one.weight != nullptr || one.numbers || !one.shape || one.is_sequence || one.is_empty_optional;
    if (is_no_op) call.give(0, call.info(0));
    return is_no_op;
  }

  bool read_constant(OnnxCall& call) {
    if (!call.wants(0)) return true;
    const auto name = call.node().outputs[0];
    const auto one = [&](std::string_view attribute) { return call.attribute(attribute); };
    const auto define = [&](DType dtype, Numbers numbers, bool is_list) {
      Shape shape(is_list ? 1 : 0, static_cast<std::int64_t>(numbers.size()));
      call.define(name, state_.add({.shape = shape, .dtype = dtype, .numbers = std::move(numbers)}));
    };
    if (const auto* value = one("value"); value != nullptr && !value->tensor.empty())
      call.define(name, weight(constant(value->tensor, name, parse_onnx_tensor)));
    else if (const auto* sparse = one("sparse_value"))
      call.define(name, weight(constant(sparse->sparse, name, parse_onnx_sparse)));
    else if (one("value_string") != nullptr)
      call.define(name, state_.add({.shape = Shape{}, .dtype = DType::kString}));
    else if (const auto* texts = one("value_strings"))
      call.define(name, state_.add({.shape = Shape{static_cast<std::int64_t>(texts->texts)},
                                    .dtype = DType::kString}));
    else if (const auto* integer = one("value_int"))
      define(DType::kInt64, {.integers = {integer->integer.value_or(0)}}, false);
    else if (const auto* integers = one("value_ints"))
      define(DType::kInt64, {.integers = integers->integers}, true);
    else if (const auto* real = one("value_float"))
      define(DType::kFloat32, {.reals = {real->real.value_or(0)}, .is_real = true}, false);
    else if (const auto* reals = one("value_floats"))
      define(DType::kFloat32, {.reals = {reals->reals.begin(), reals->reals.end()}, .is_real = true}, true);
    else
      call.define(name, state_.add({.dtype = DType::kUndefined}));
    return true;
  }
  const OnnxTensor& constant(std::string_view bytes, std::string_view name,
                             decltype(parse_onnx_tensor)* parse) {
    auto& known = constants_[bytes.data()];
    if (known == nullptr) {
      known = &state_.constants.emplace_back(parse(bytes, state_.where));
      known->name = name;
    }
    return *known;
  }

  // --- Graphs in graphs
  const OnnxGraph& body(std::string_view bytes) override {
    const auto [found, is_new] = bodies_.try_emplace(bytes.data());
    if (is_new) found->second = parse_onnx_graph(bytes, state_.where);
    return found->second;
  }

  // Inner graphs see the names around them.
  std::vector<OnnxInfo*> run_body(OnnxCall& call, const OnnxGraph& body,
                                  std::span<OnnxInfo* const> inputs) override {
    if (call.frame().depth >= kMostOnnxDepth) fail("its graphs are in each other without end");
    OnnxFrame inner;
    inner.given = call.frame().given;
    inner.outer = &call.frame();
    inner.depth = call.frame().depth + 1;
    count_nodes((body.inputs.size() + body.outputs.size()) / kItemsOfNode);
    add_names(inner, body);
    for (std::size_t i = 0; i < body.inputs.size() && i < inputs.size(); ++i)
      inner.names.insert_or_assign(body.inputs[i].name, inputs[i]);
    declare(inner, body);
    read_nodes(inner, body.nodes);
    std::vector<std::string_view> names;
    for (const auto& output : body.outputs) names.push_back(output.name);
    return made_in(call, inner, names);
  }

  void read_function(OnnxCall& call, const OnnxFunction& function) {
    if (call.frame().depth >= kMostOnnxDepth) fail("its functions call each other without end");
    OnnxFrame inner;
    inner.depth = call.frame().depth + 1;
    count_nodes((function.inputs.size() + function.values.size() + function.defaults.size()) / kItemsOfNode);
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      auto* given = i < call.input_count() ? call.info(i) : nullptr;
      if (given != nullptr)
        inner.names.emplace(function.inputs[i], given);
      else
        inner.absent.insert(function.inputs[i]);
    }
    for (const auto& attribute : function.defaults) inner.given.insert_or_assign(attribute.name, &attribute);
    for (const auto& attribute : call.node().attributes)
      if (const auto* given = call.attribute(attribute.name))
        inner.given.insert_or_assign(attribute.name, given);
    for (const auto& value : function.values) inner.declared.try_emplace(value.name, &value.type);
    read_nodes(inner, function.nodes);
    const auto made = made_in(call, inner, function.outputs);
    for (std::size_t i = 0; i < made.size(); ++i) call.give(i, made[i]);
    define_missing(call);
  }

  std::vector<OnnxInfo*> made_in(const OnnxCall& call, OnnxFrame& inner,
                                 const std::vector<std::string_view>& names) {
    const OnnxCall inside(state_, inner, call.node());
    std::vector<OnnxInfo*> made;
    for (const auto name : names) {
      made.push_back(inside.find(name));
      if (made.back() == nullptr)
        fail(fmt::format("a subgraph of {} does not make its output", truncate(call.node().op_type, 40)));
    }
    return made;
  }

  // --- What has no rule
  void read_unknown(OnnxCall& call) {
    const auto& node = call.node();
    auto name = call.full_name();
    // Whatever a file calls it: what no rule understood is no row of the cost table.
    if (find_rule(name) != nullptr) name = "unknown::" + truncate(node.op_type, 60);
    std::vector<Argument> arguments;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (call.has(i)) arguments.push_back(call.tensor(fmt::format("input{}", i), i));
    std::vector<OnnxOutput> outputs;
    std::vector<bool> known;
    std::optional<std::vector<OnnxType>> inferred;  // asked for once, and only where it is needed
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      auto shape = call.declared_shape(i, false);
      if (!shape && call.wants(i)) {
        if (!inferred) inferred = infer_single(call, infer_);
        if (i < inferred->size()) shape = fixed_shape((*inferred)[i]);
      }
      if (!shape) shape = call.declared_shape(i, call.frame().depth == 0);  // a body's names are its own
      known.push_back(shape.has_value());
      outputs.push_back({shape.value_or(Shape{}), declared_dtype(call, i)});
      if (!shape && call.wants(i))
        state_.out.note("unknown_op", name,
                        fmt::format("the shape of '{}' is not known", truncate(node.outputs[i], 60)));
    }
    const auto made = call.op(name, arguments, outputs);
    for (std::size_t i = 0; i < made.size(); ++i)
      if (call.wants(i)) {
        call.result(i, made[i]);
        if (!known[i]) call.find(node.outputs[i])->shape.reset();
      }
  }

  static std::optional<Shape> fixed_shape(const OnnxType& type) {
    Shape shape;
    if (!type.has_shape) return std::nullopt;
    for (const auto& dim : type.dims) {
      if (dim.size < 0) return std::nullopt;
      shape.push_back(dim.size);
    }
    return shape;
  }

  DType declared_dtype(const OnnxCall& call, std::size_t i) const {
    const auto found = call.frame().declared.find(call.node().outputs[i]);
    const auto dtype = found != call.frame().declared.end() ? found->second->dtype : DType::kUndefined;
    return dtype != DType::kUndefined ? dtype : call.dtype(0);
  }

  // Outputs that the rule has nothing to say about: statistics in training, masks.
  void define_missing(OnnxCall& call) {
    for (const auto output : call.node().outputs)
      if (!output.empty() && !call.frame().names.contains(output))
        call.define(output, state_.add({.dtype = DType::kUndefined}));
  }

  // --- The end
  std::vector<ValueId> read_outputs(OnnxFrame& frame) {
    std::vector<ValueId> outputs;
    OnnxNode node;
    node.op_type = "the graph's output";
    for (const auto& output : model_.graph.outputs) node.inputs.push_back(output.name);
    const OnnxCall call(state_, frame, node);
    const auto add = [&](OnnxInfo& one, const std::string& name) {
      const auto id = call.value_of(one);
      outputs.push_back(id);
      if (state_.out.graph.values[id].name == 0) state_.out.name(id, name);
    };
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      auto* const one = call.info(i);
      if (one == nullptr || one->is_empty_optional) continue;
      const std::string name(node.inputs[i]);
      if (!one->is_sequence)
        add(*one, name);
      else if (one->items)
        for (std::size_t k = 0; k < one->items->size(); ++k)
          add(*(*one->items)[k], fmt::format("{}[{}]", name, k));
      else if (one->sample != nullptr)
        add(*one->sample, name + "[i]");
    }
    return outputs;
  }

  // Initialisers that nothing reads, or that only functions would: the file has them.
  void own_the_rest(OnnxFrame& frame) {
    state_.out.return_to(0);
    OnnxNode node;
    node.op_type = "the graph";
    for (const auto& tensor : model_.graph.initializers) {
      const auto found = frame.names.find(tensor.name);
      if (found == frame.names.end() || found->second->weight != &tensor) continue;
      if (found->second->id == kNone && !found->second->read_as_numbers && info(tensor.dtype).is_float)
        node.inputs.push_back(tensor.name);
    }
    const OnnxCall call(state_, frame, node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      if (call.has(i) && !call.shape(i).empty()) call.value(i);
  }

  OnnxState state_;
  OnnxModel model_;
  OnnxScopes scopes_;
  // By the address of their bytes in the file.
  std::unordered_map<const char*, OnnxGraph> bodies_;
  std::unordered_map<const char*, OnnxTensor*> constants_;
  std::unordered_map<const OnnxTensor*, OnnxInfo*> weights_;
  std::unordered_map<std::string, const OnnxFunction*> functions_;
  std::size_t nodes_ = 0, folded_norms_ = 0;
  OnnxInference infer_;
};

}  // namespace

Graph read_onnx(std::string_view bytes, const std::string& where, std::string_view model, const Dims& dims,
                OnnxInference infer) {
  return OnnxReader(bytes, where, model, dims, infer).run();
}

}  // namespace opscope
