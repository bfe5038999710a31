// ONNX's products, norms, recurrences and attention, and the ways in and out of quantised numbers.
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
bool quantised_matmul(OnnxCall& call, std::string_view) { return matmul_from(call, 0, 3, call.dtype(0)); }

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

// Labels to sizes; an ellipsis is left to libraries that spell it out.
bool einsum(OnnxCall& call, std::string_view aten) {
  std::string equation(call.text("equation", ""));
  std::erase(equation, ' ');
  if (equation.empty() || equation.find('.') != std::string::npos) return false;
  std::array<std::int64_t, 256> sizes{};
  std::array<int, 256> uses{};
  sizes.fill(-1);
  const auto arrow = equation.find("->");
  std::size_t operand = 0, axis = 0;
  for (const char c : std::string_view(equation).substr(0, arrow)) {
    const auto label = static_cast<unsigned char>(c);
    if (c == ',') {
      ++operand, axis = 0;
      continue;
    }
    if (!call.has(operand) || axis >= call.shape(operand).size()) return false;
    sizes[label] = std::max(sizes[label], call.shape(operand)[axis++]);
    ++uses[label];
  }
  Shape shape;
  if (arrow != std::string::npos) {
    for (const char c : std::string_view(equation).substr(arrow + 2)) {
      if (sizes[static_cast<unsigned char>(c)] < 0) return false;
      shape.push_back(sizes[static_cast<unsigned char>(c)]);
    }
  } else {
    for (std::size_t label = 0; label < 256; ++label)
      if (uses[label] == 1) shape.push_back(sizes[label]);
  }
  if (operand + 1 != call.input_count() || !call.has_first(call.input_count())) return false;
  return call.answer(aten, {call.word("equation", equation), call.tensors("tensors", call.values())},
                     {shape});
}

// --- Norms

bool batch_norm(OnnxCall& call, std::string_view aten) {
  const bool training = call.integer("training_mode", 0) != 0;
  const auto mean = call.value(3, ValueKind::kBuffer), variance = call.value(4, ValueKind::kBuffer);
  call.answer(aten, {call.tensor("input", 0), call.tensor("weight", 1), call.tensor("bias", 2),
                     call.tensor_of("running_mean", mean), call.tensor_of("running_var", variance),
                     call.flag("training", training), call.real_number("eps", call.real("epsilon", 1e-5))});
  call.result(1, mean);
  call.result(2, variance);
  return true;
}

bool instance_norm(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("input", 0), call.tensor("weight", 1), call.tensor("bias", 2),
                            call.flag("use_input_stats", true)});
}

bool group_norm(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("input", 0), call.number("num_groups", call.integer("num_groups", 0)),
                            call.tensor("weight", 1), call.tensor("bias", 2)});
}

bool row_norm(OnnxCall& call, std::string_view aten) {
  const auto axis = call.axis(-1);
  if (!axis || call.wants(1)) return false;  // statistics as outputs: no row counts them
  const auto normalised = std::span(call.shape(0)).subspan(*axis);
  return call.answer(aten, {call.tensor("input", 0), call.list("normalized_shape", normalised),
                            call.tensor("weight", 1), call.tensor("bias", 2)});
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
  if (directions < 1 || directions > 2 || call.integer("layout", 0) != 0) return false;
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
  const Argument arguments[] = {call.tensor("input", 0),        call.tensors("hx", state),
                                call.tensors("params", params), call.flag("has_biases", call.has(3)),
                                call.number("num_layers", 1),   call.flag("bidirectional", directions == 2),
                                call.flag("batch_first", false)};
  const auto steps = call.dim(0, 0), batch = call.dim(0, 1);
  const Shape last{directions, batch, hidden};
  std::vector<OnnxOutput> outputs{call.settle(0, {{steps, directions, batch, hidden}})};
  for (const std::size_t i : {1, 2})
    if (call.wants(i)) outputs.push_back({last});
  const auto made = call.op(is_relu ? "aten::rnn_relu" : aten, arguments, outputs);
  std::size_t next = 0;
  call.result(0, made[next++]);
  for (const std::size_t i : {1, 2})
    if (call.wants(i)) call.result(i, made[next++]);
  return true;
}

// --- Attention (opset 23): [batch, heads, length, width], or [batch, length, heads * width] with the counts.

bool attention(OnnxCall& call, std::string_view aten) {
  if (call.wants(3)) return false;  // the scores themselves
  const auto heads = call.integer("q_num_heads", 0), kv_heads = call.integer("kv_num_heads", heads);
  const auto q = call.heads(0, heads), k = call.heads(1, kv_heads), v = call.heads(2, kv_heads);
  if (!q || !k || !v) return false;
  // Heads beside the width become heads beside the batch: a view. A cache is joined in front.
  const auto split = [&](std::size_t i, const Shape& shape) {
    return call.rank(i) == 4 ? call.value(i)
                             : call.op("aten::view", {call.tensor("self", i), call.list("size", shape)},
                                       {shape, call.dtype(i)});
  };
  const auto joined = [&](ValueId now, Shape& shape, std::size_t past, std::size_t present) {
    if (!call.has(past) || call.rank(past) != 4) return now;
    shape[2] = clamp_size(__int128{shape[2]} + call.dim(past, 2));
    const ValueId both[] = {call.value(past), now};
    const auto made = call.op("aten::cat", {call.tensors("tensors", both), call.number("dim", 2)},
                              {shape, call.dtype(past)});
    call.result(present, made);
    return made;
  };
  auto k_shape = *k, v_shape = *v;
  const auto query = split(0, *q);
  const auto key = joined(split(1, *k), k_shape, 4, 1), value = joined(split(2, *v), v_shape, 5, 2);
  const Shape shape{(*q)[0], (*q)[1], (*q)[2], v_shape[3]};
  auto made =
      call.op(aten,
              {call.tensor_of("query", query), call.tensor_of("key", key), call.tensor_of("value", value),
               call.tensor("attn_mask", 3), call.flag("is_causal", call.integer("is_causal", 0) != 0)},
              {shape});
  if (call.rank(0) == 3)
    made = call.op("aten::view", {call.tensor_of("self", made)},
                   {{shape[0], shape[2], clamp_size(__int128{shape[1]} * shape[3])}});
  call.result(0, made);
  return true;
}

// x*cos + rotated(x)*sin, on the part that turns.
bool rotary(OnnxCall& call, std::string_view) {
  const auto direct = call.op("aten::mul", {call.tensor("self", 0)});
  const auto turned = call.op("aten::mul", {call.tensor("self", 0)});
  return call.answer("aten::add", {call.tensor_of("self", direct), call.tensor_of("other", turned)});
}

// --- Quantisation

bool quantize(OnnxCall& call, std::string_view aten) {
  const auto zero = call.dtype(2);
  return call.answer(aten, {call.tensor("input", 0)},
                     {call.shape(0), zero != DType::kUndefined ? zero : DType::kUInt8});
}
bool dequantize(OnnxCall& call, std::string_view aten) {
  return call.answer(aten, {call.tensor("self", 0)}, {call.shape(0), call.dtype(1)});
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
    {"Attention", attention, "aten::scaled_dot_product_attention", 3},
    {"BatchNormalization", batch_norm, "aten::batch_norm", 5},
    {"DequantizeLinear", dequantize, "aten::dequantize", 2},
    {"DynamicQuantizeLinear", quantize_dynamically},
    {"Einsum", einsum, "aten::einsum"},
    {"GRU", recurrent, "aten::gru", 3},
    {"Gemm", gemm, {}, 2},
    {"GroupNormalization", group_norm, "aten::group_norm"},
    {"InstanceNormalization", instance_norm, "aten::instance_norm"},
    {"LSTM", recurrent, "aten::lstm", 3},
    {"LayerNormalization", row_norm, "aten::layer_norm"},
    {"MatMul", matmul},
    {"MatMulInteger", matmul_integer},
    {"QLinearMatMul", quantised_matmul},
    {"QuantizeLinear", quantize, "aten::quantize_per_tensor"},
    {"RMSNormalization", row_norm, "aten::rms_norm"},
    {"RNN", recurrent, "aten::rnn_tanh", 3},
    {"RotaryEmbedding", rotary},
    {"SimplifiedLayerNormalization", row_norm, "aten::rms_norm"},
});
static_assert(std::ranges::is_sorted(kLayersRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_layer_rules() { return kLayersRules; }

}  // namespace opscope
