// Microsoft's contributed ops, as onnxruntime's optimiser writes them, taken apart into ATen's; and the one
// table over all families.
#include <algorithm>
#include <array>

#include "readers/onnx/call.h"

namespace opscope {
namespace {

bool bias_gelu(OnnxCall& call, std::string_view aten) {
  auto x = call.value(0);
  if (call.has(1)) x = call.op("aten::add", {call.tensor_of("self", x), call.tensor("other", 1)});
  const bool is_fast = call.node().op_type == "FastGelu";
  return call.answer(aten, {call.tensor_of("self", x), call.word("approximate", is_fast ? "tanh" : "none")});
}

// x * sigmoid(alpha * x)
bool quick_gelu(OnnxCall& call, std::string_view) {
  const auto scaled = call.op("aten::mul", {call.tensor("self", 0), call.real_number("other", 1.702)});
  const auto gate = call.op("aten::sigmoid", {call.tensor_of("self", scaled)});
  return call.answer("aten::mul", {call.tensor("self", 0), call.tensor_of("other", gate)});
}

// (x + skip + bias), then the norm; the sum is the fourth output.
bool skip_norm(OnnxCall& call, std::string_view aten) {
  if (call.shape(0).empty()) return false;
  const bool is_rms = aten == "aten::rms_norm";
  const std::size_t bias = is_rms ? 3 : 4;
  auto sum = call.op("aten::add", {call.tensor("self", 0), call.tensor("other", 1)});
  if (call.has(bias)) sum = call.op("aten::add", {call.tensor_of("self", sum), call.tensor("other", bias)});
  const std::int64_t width[] = {call.dim(0, -1)};
  const auto made =
      call.op(aten, {call.tensor_of("input", sum), call.list("normalized_shape", width),
                     call.tensor("weight", 2), call.tensor("bias", is_rms ? call.input_count() : 3)});
  call.result(0, made);
  call.result(3, sum);
  return true;
}

// Query [batch, length, width], key and value likewise, or the key as [batch, heads, length, width].
bool multi_head(OnnxCall& call, std::string_view aten) {
  const auto heads = call.integer("num_heads", 0);
  if (heads < 1 || call.rank(0) != 3 || call.wants(1) || call.wants(2))
    return false;  // caches: not worked out
  const auto q = call.heads(0, heads), k = call.heads(1, heads), v = call.heads(2, heads);
  if (!q || !k || !v) return false;
  const auto view = [&](std::size_t i, const Shape& shape) {
    return call.op("aten::view", {call.tensor("self", i), call.list("size", shape)}, {shape, call.dtype(i)});
  };
  const auto query = view(0, *q), key = view(1, *k), value = view(2, *v);
  const auto out = call.op(aten,
                           {call.tensor_of("query", query), call.tensor_of("key", key),
                            call.tensor_of("value", value), call.tensor("attn_mask", 5)},
                           {{(*q)[0], heads, (*q)[2], (*v)[3]}});
  return call.answer("aten::view", {call.tensor_of("self", out)},
                     {{(*q)[0], (*q)[2], clamp_size(__int128{heads} * (*v)[3])}});
}

// One projection to queries, keys and values, then the heads.
bool fused_attention(OnnxCall& call, std::string_view aten) {
  const auto heads = call.integer("num_heads", 0);
  if (heads < 1 || call.rank(0) != 3 || call.rank(1) != 2) return false;
  if (call.has(4) || call.wants(1) || call.attribute("qkv_hidden_sizes") != nullptr) return false;
  const auto batch = call.dim(0, 0), length = call.dim(0, 1), all = call.dim(1, 1);
  if (call.dim(0, 2) != call.dim(1, 0) || all % 3 != 0 || (all / 3) % heads != 0) return false;
  const auto width = all / 3;
  const Shape projected{batch, length, all}, split{batch, heads, length, width / heads};
  auto x = call.op("aten::matmul", {call.tensor("self", 0), call.tensor("other", 1)}, {projected});
  if (call.has(2))
    x = call.op("aten::add", {call.tensor_of("self", x), call.tensor("other", 2)}, {projected});
  const std::vector<OnnxOutput> thirds(3, {split});
  const Argument self[] = {call.tensor_of("self", x)};
  const auto parts = call.op("aten::split", self, thirds);
  const auto out = call.op(
      aten,
      {call.tensor_of("query", parts[0]), call.tensor_of("key", parts[1]), call.tensor_of("value", parts[2]),
       call.tensor("attn_mask", 3), call.flag("is_causal", call.integer("unidirectional", 0) != 0)},
      {split});
  return call.answer("aten::view", {call.tensor_of("self", out)}, {{batch, length, width}});
}

// A product with optional transposes of the last two axes.
bool fused_matmul(OnnxCall& call, std::string_view) {
  if (call.rank(0) < 2 || call.rank(1) < 2) return false;
  if (call.integer("transBatchA", 0) != 0 || call.integer("transBatchB", 0) != 0) return false;
  Shape shapes[] = {call.shape(0), call.shape(1)};
  for (const std::size_t i : {0, 1})
    if (call.integer(i == 0 ? "transA" : "transB", 0) != 0) std::swap(shapes[i].back(), shapes[i].end()[-2]);
  const auto out = matmul_shape(shapes[0], shapes[1]);
  if (!out) return false;
  const auto turned = [&](std::size_t i) {
    return shapes[i] == call.shape(i)
               ? call.value(i)
               : call.op("aten::transpose", {call.tensor("self", i)}, {shapes[i], call.dtype(i)});
  };
  const auto a = turned(0), b = turned(1);
  return call.answer("aten::matmul", {call.tensor_of("self", a), call.tensor_of("other", b)}, {*out});
}

// x [.., k] by n rows of k packed weights, K and N in the attributes.
bool packed_matmul(OnnxCall& call, std::string_view) {
  const auto k = call.integer("K", 0), n = call.integer("N", 0);
  if (call.shape(0).empty() || call.dim(0, -1) != k || n < 1) return false;
  Shape shape = call.shape(0);
  shape.back() = n;
  const auto weight = call.op("aten::dequantize", {call.tensor("self", 1)}, {{n, k}});
  return call.answer("aten::linear", {call.tensor("input", 0), call.tensor_of("weight", weight)}, {shape});
}

bool quantised_binary(OnnxCall& call, std::string_view aten) {
  if (!call.has(3)) return false;
  const auto shape = broadcast(call.shape(0), call.shape(3));
  return shape && call.answer(aten, {call.tensor("qa", 0), call.tensor("qb", 3)}, {*shape});
}

constexpr auto kFusedRules = std::to_array<OnnxRule>({
    {"Attention", fused_attention, "aten::scaled_dot_product_attention", 2},
    {"BiasGelu", bias_gelu, "aten::gelu"},
    {"FastGelu", bias_gelu, "aten::gelu"},
    {"FusedMatMul", fused_matmul, {}, 2},
    {"Gelu", bias_gelu, "aten::gelu"},
    {"MatMulNBits", packed_matmul, {}, 2},
    {"MultiHeadAttention", multi_head, "aten::scaled_dot_product_attention", 3},
    {"QLinearAdd", quantised_binary, "quantized::add"},
    {"QLinearMul", quantised_binary, "quantized::mul"},
    {"QuickGelu", quick_gelu},
    {"SkipLayerNormalization", skip_norm, "aten::layer_norm", 3},
    {"SkipSimplifiedLayerNormalization", skip_norm, "aten::rms_norm", 3},
});
static_assert(std::ranges::is_sorted(kFusedRules, {}, &OnnxRule::type));

const OnnxRule* find_in(std::span<const OnnxRule> rules, std::string_view type) {
  const auto found = std::ranges::lower_bound(rules, type, {}, &OnnxRule::type);
  return found != rules.end() && found->type == type ? &*found : nullptr;
}

const OnnxRule* onnx_rule(std::string_view domain, std::string_view type) {
  // Others' names mean what others say; a few of Microsoft's are copies of ONNX's.
  const bool is_copy = type == "DequantizeLinear" || type == "QuantizeLinear" || type == "RotaryEmbedding";
  if (domain == "com.microsoft" && !is_copy) return find_in(kFusedRules, type);
  if (domain == "ai.onnx.ml") return find_in(onnx_learned_rules(), type);
  if (domain.starts_with("ai.onnx.preview")) return find_in(onnx_preview_rules(), type);
  if (!domain.empty() && domain != "com.microsoft") return nullptr;
  for (const auto rules : {onnx_pointwise_rules(), onnx_layer_rules(), onnx_window_rules(), onnx_view_rules(),
                           onnx_move_rules(), onnx_norm_rules(), onnx_attention_rules(), onnx_control_rules(),
                           onnx_sequence_rules(), onnx_signal_rules()})
    if (const auto* rule = find_in(rules, type)) return rule;
  return nullptr;
}

}  // namespace

bool apply_onnx_rule(OnnxCall& call) {
  const auto& node = call.node();
  const bool has_shapes = call.knows_all_shapes();
  if (const auto* rule = onnx_rule(node.domain, node.op_type))
    return (has_shapes || rule->takes_any) && call.has_first(rule->needs) && rule->apply(call, rule->aten);
  return has_shapes && node.domain.empty() && apply_same_name(call);
}

}  // namespace opscope
