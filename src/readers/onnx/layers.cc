// ONNX's products and recurrences, and the ways in and out of quantised numbers.
#include <algorithm>
#include <array>

#include "readers/onnx/call.h"

namespace opscope {
namespace {

// --- Products

bool matmul_from(OnnxCall& call, std::size_t a, std::size_t b, DType dtype) {
  if (!call.has(a) || !call.has(b)) return false;
  const auto shape = matmul_shape(call.shape(a), call.shape(b));
  if (!shape) return call.misfit(a, b);
  return call.answer("aten::matmul", {call.tensor("self", a), call.tensor("other", b)}, {*shape, dtype});
}
bool matmul(OnnxCall& call, std::string_view) { return matmul_from(call, 0, 1, call.dtype(0)); }
bool matmul_integer(OnnxCall& call, std::string_view) { return matmul_from(call, 0, 1, DType::kInt32); }
bool quantised_matmul(OnnxCall& call, std::string_view) {
  return matmul_from(call, 0, 3, call.dtype(7) != DType::kUndefined ? call.dtype(7) : call.dtype(0));
}

ValueId transposed(OnnxCall& call, std::size_t i) {
  const auto& shape = call.shape(i);
  return call.op("aten::t", {call.tensor("self", i)}, {{shape[1], shape[0]}, call.dtype(i), {1, shape[1]}});
}

// A Gemm of a linear layer is one; any other is addmm, or mm, of what is transposed first.
bool gemm(OnnxCall& call, std::string_view) {
  if (call.rank(0) != 2 || call.rank(1) != 2) return false;
  const bool turn_a = call.integer("transA", 0) != 0, turn_b = call.integer("transB", 0) != 0;
  const auto m = call.dim(0, turn_a ? 1 : 0), k = call.dim(0, turn_a ? 0 : 1);
  const auto n = call.dim(1, turn_b ? 0 : 1);
  if (k != call.dim(1, turn_b ? 1 : 0)) return call.misfit(0, 1);
  const OnnxOutput out{{m, n}};
  const bool plain = call.real("alpha", 1) == 1 && call.real("beta", 1) == 1;
  if (!turn_a && turn_b && plain && (!call.has(2) || call.rank(2) == 1))
    return call.answer("aten::linear",
                       {call.tensor("input", 0), call.tensor("weight", 1), call.tensor("bias", 2)}, out);
  const auto a = turn_a ? transposed(call, 0) : call.value(0);
  const auto b = turn_b ? transposed(call, 1) : call.value(1);
  if (!call.has(2))
    return call.answer("aten::mm", {call.tensor_of("self", a), call.tensor_of("mat2", b)}, out);
  return call.answer(
      "aten::addmm",
      {call.tensor("self", 2), call.tensor_of("mat1", a), call.tensor_of("mat2", b),
       call.real_number("beta", call.real("beta", 1)), call.real_number("alpha", call.real("alpha", 1))},
      out);
}

// --- Einsum

// Of one label each, and of an ellipsis, whose dimensions are aligned at the right.
struct Labelled {
  std::array<std::int64_t, 256> sizes{};
  std::array<int, 256> uses{};
  std::optional<Shape> hidden = Shape{};

  bool add(std::string_view term, const Shape& shape) {
    const auto dots = term.find("...");
    const auto letters = term.size() - (dots != std::string_view::npos ? 3 : 0);
    if (shape.size() < letters || (dots == std::string_view::npos && shape.size() != letters)) return false;
    const auto count = shape.size() - letters;
    std::size_t axis = 0;
    for (std::size_t i = 0; i < term.size();) {
      if (i == dots) {
        hidden = broadcast(*hidden, std::span(shape).subspan(axis, count));
        if (!hidden) return false;
        axis += count, i += 3;
        continue;
      }
      const auto label = static_cast<unsigned char>(term[i++]);
      if (label == '.') return false;
      sizes[label] = uses[label]++ == 0 ? shape[axis] : std::max(sizes[label], shape[axis]);
      ++axis;
    }
    return true;
  }

  std::optional<Shape> output(std::string_view term) const {
    Shape shape;
    for (std::size_t i = 0; i < term.size();) {
      if (term.substr(i, 3) == "...") {
        shape.insert(shape.end(), hidden->begin(), hidden->end());
        i += 3;
        continue;
      }
      const auto label = static_cast<unsigned char>(term[i++]);
      if (uses[label] == 0) return std::nullopt;
      shape.push_back(sizes[label]);
    }
    return shape;
  }

  // Without an arrow: the ellipsis, then what comes once.
  Shape implicit_output() const {
    Shape shape = *hidden;
    for (std::size_t label = 0; label < uses.size(); ++label)
      if (uses[label] == 1) shape.push_back(sizes[label]);
    return shape;
  }
};

bool einsum(OnnxCall& call, std::string_view aten) {
  std::string equation(call.text("equation", ""));
  std::erase(equation, ' ');
  const auto arrow = equation.find("->");
  std::string_view inputs = std::string_view(equation).substr(0, arrow);
  if (equation.empty() || !call.has_first(call.input_count())) return false;
  Labelled labels;
  for (std::size_t i = 0; i < call.input_count(); ++i) {
    const auto comma = inputs.find(',');
    if ((comma == std::string_view::npos) != (i + 1 == call.input_count())) return false;
    if (!labels.add(inputs.substr(0, comma), call.shape(i))) return false;
    if (comma != std::string_view::npos) inputs.remove_prefix(comma + 1);
  }
  const auto shape = arrow == std::string::npos ? labels.implicit_output()
                                                : labels.output(std::string_view(equation).substr(arrow + 2));
  return shape && call.answer(aten, {call.word("equation", equation), call.tensors("tensors", call.values())},
                              {*shape});
}

// --- Recurrences

// [directions, rows, columns] of one direction: a view.
ValueId part(OnnxCall& call, std::size_t input, std::int64_t direction, const Shape& shape) {
  return call.op("aten::select",
                 {call.tensor("self", input), call.number("dim", 0), call.number("index", direction)},
                 {shape, call.dtype(input)});
}

bool recurrent(OnnxCall& call, std::string_view aten) {
  if (call.rank(0) != 3 || call.rank(1) != 3 || call.rank(2) != 3) return false;
  const auto directions = call.dim(1, 0), gates = call.dim(1, 1), hidden = call.dim(2, 2);
  const bool batch_first = call.integer("layout", 0) != 0;
  if (directions < 1 || directions > 2) return false;
  std::vector<ValueId> params;
  for (std::int64_t d = 0; d < directions; ++d) {
    params.push_back(part(call, 1, d, {gates, call.dim(1, 2)}));
    params.push_back(part(call, 2, d, {gates, hidden}));
    if (!call.has(3)) continue;
    params.push_back(part(call, 3, d, {call.dim(3, 1)}));
  }
  std::vector<ValueId> state;
  for (const std::size_t i : {5, 6})
    if (call.has(i)) state.push_back(call.value(i));
  const bool is_relu = aten == "aten::rnn_tanh" && call.text("activations", "") == "Relu";
  const Argument arguments[] = {call.tensor("input", 0),
                                call.tensors("hx", state),
                                call.tensors("params", params),
                                call.flag("has_biases", call.has(3)),
                                call.number("num_layers", 1),
                                call.flag("bidirectional", directions == 2),
                                call.flag("batch_first", batch_first)};
  const auto steps = call.dim(0, batch_first ? 1 : 0), batch = call.dim(0, batch_first ? 0 : 1);
  const Shape last = batch_first ? Shape{batch, directions, hidden} : Shape{directions, batch, hidden};
  const Shape all =
      batch_first ? Shape{batch, steps, directions, hidden} : Shape{steps, directions, batch, hidden};
  std::vector<OnnxOutput> outputs{call.settle(0, {all})};
  for (const std::size_t i : {1, 2})
    if (call.wants(i)) outputs.push_back({last});
  const auto made = call.op(is_relu ? "aten::rnn_relu" : aten, arguments, outputs);
  std::size_t next = 0;
  call.result(0, made[next++]);
  for (const std::size_t i : {1, 2})
    if (call.wants(i)) call.result(i, made[next++]);
  return true;
}

// A convolution over what came before, channel by channel: [batch, channels, length], and the last places of
// the padded input as the next call's state.
bool causal_conv(OnnxCall& call, std::string_view aten) {
  if (call.rank(0) != 3 || call.rank(1) != 3) return false;
  const auto channels = call.dim(0, 1), length = call.dim(0, 2), kept = call.dim(1, 2) - 1;
  if (kept < 0 || call.dim(1, 0) != channels) return false;
  const std::int64_t padding[] = {kept}, one[] = {1};
  auto made = call.op(aten, {call.tensor("input", 0), call.tensor("weight", 1), call.tensor("bias", 2),
                             call.list("stride", one), call.list("padding", padding),
                             call.list("dilation", one), call.number("groups", channels)});
  const auto activation = call.text("activation", "none");
  if (activation == "silu" || activation == "swish")
    made = call.op("aten::silu", {call.tensor_of("self", made)});
  call.result(0, made);
  const Shape state{call.dim(0, 0), channels, kept};
  const Shape new_part{state[0], channels, std::min(kept, length)};
  const auto part = call.op("aten::slice", {call.tensor("self", 0)},
                            {new_part, call.dtype(0), contiguous_strides(call.shape(0))});
  if (kept <= length) {
    call.result(1, call.op("aten::clone", {call.tensor_of("self", part)}, {state}));
    return true;
  }
  std::vector<ValueId> both{part};
  if (call.has(3)) both.insert(both.begin(), call.value(3));
  call.result(1, call.op("aten::cat", {call.tensors("tensors", both), call.number("dim", 2)}, {state}));
  return true;
}

bool determinant(OnnxCall& call, std::string_view aten) {
  Shape shape = call.shape(0);
  if (shape.size() < 2) return false;
  shape.resize(shape.size() - 2);
  return call.answer(aten, {call.tensor("A", 0)}, {shape});
}

// --- Quantisation

// To the zero point's type, or the one that is named.
bool quantize(OnnxCall& call, std::string_view aten) {
  const auto zero = call.dtype(2);
  const auto to = call.dtype_attribute("output_dtype", zero != DType::kUndefined ? zero : DType::kUInt8);
  return call.answer(aten, {call.tensor("input", 0)}, {call.shape(0), to});
}
bool dequantize(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("self", 0)},
                     {call.shape(0), call.dtype_attribute("output_dtype", call.dtype(1))});
}
// The range of the input, then the quantising.
bool quantize_dynamically(OnnxCall& call, std::string_view) {
  const OnnxOutput outs[] = {{{}}, {{}, DType::kUInt8}};
  const Argument self[] = {call.tensor("self", 0)};
  const auto range = call.op("aten::_choose_qparams_per_tensor", self, outs);
  call.answer("aten::quantize_per_tensor", {call.tensor("self", 0)}, {call.shape(0), DType::kUInt8});
  call.result(1, range[0]);
  call.result(2, range[1]);
  return true;
}

constexpr auto kLayersRules = std::to_array<OnnxRule>({
    {"CausalConvWithState", causal_conv, "aten::conv1d", 2},
    {"DequantizeLinear", dequantize, "aten::dequantize", 2},
    {"Det", determinant, "aten::linalg_det"},
    {"DynamicQuantizeLinear", quantize_dynamically},
    {"Einsum", einsum, "aten::einsum"},
    {"GRU", recurrent, "aten::gru", 3},
    {"Gemm", gemm, {}, 2},
    {"LSTM", recurrent, "aten::lstm", 3},
    {"MatMul", matmul},
    {"MatMulInteger", matmul_integer},
    {"QLinearMatMul", quantised_matmul},
    {"QuantizeLinear", quantize, "aten::quantize_per_tensor"},
    {"RNN", recurrent, "aten::rnn_tanh", 3},
});
static_assert(std::ranges::is_sorted(kLayersRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_layer_rules() { return kLayersRules; }

}  // namespace opscope
