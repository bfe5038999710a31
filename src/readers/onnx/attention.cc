// ONNX's attentions: [batch, heads, length, width], or [batch, length, heads * width] with the counts. One op
// where a kernel does it all; taken apart where the scores are asked for, capped, or changed by a graph.
#include <algorithm>
#include <array>

#include "readers/onnx/call.h"

namespace opscope {
namespace {

struct Heads {
  ValueId query = kNone, key = kNone, value = kNone;
  Shape q, k, v;

  Shape scores() const { return {q[0], q[1], q[2], k[2]}; }
  Shape out() const { return {q[0], q[1], q[2], v[3]}; }
};

// Heads beside the width become heads beside the batch: a view. A cache is joined in front.
std::optional<Heads> heads_of(OnnxCall& call) {
  const auto heads = call.integer("q_num_heads", 0), kv_heads = call.integer("kv_num_heads", heads);
  const auto q = call.heads(0, heads), k = call.heads(1, kv_heads), v = call.heads(2, kv_heads);
  if (!q || !k || !v) return std::nullopt;
  const auto split = [&](std::size_t i, const Shape& shape) {
    return call.rank(i) == 4 ? call.value(i)
                             : call.op("aten::view", {call.tensor("self", i), call.list("size", shape)},
                                       {shape, call.dtype(i)});
  };
  const auto joined = [&](ValueId now, Shape& shape, std::size_t past) {
    if (!call.has(past) || call.rank(past) != 4) return now;
    shape[2] = clamp_size(__int128{shape[2]} + call.dim(past, 2));
    const ValueId both[] = {call.value(past), now};
    return call.op("aten::cat", {call.tensors("tensors", both), call.number("dim", 2)},
                   {shape, call.dtype(past)});
  };
  Heads all{.q = *q, .k = *k, .v = *v};
  all.query = split(0, *q);
  all.key = joined(split(1, *k), all.k, 4);
  all.value = joined(split(2, *v), all.v, 5);
  return all;
}

// Keys and values of groups of heads, seen once for each head.
ValueId for_each_head(OnnxCall& call, ValueId id, Shape shape, std::int64_t heads, DType dtype) {
  if (shape[1] == heads) return id;
  shape[1] = heads;
  return call.op("aten::expand", {call.tensor_of("self", id), call.list("size", shape)}, {shape, dtype});
}

// What the scores become on their way: after the product, the cap, the mask and the softmax.
struct Taken {
  std::array<ValueId, 4> scores{};
  ValueId out = kNone;
};

struct Steps {
  double cap = 0;
  bool masked = false;
  std::string_view score_graph = {}, weight_graph = {};  // that change them
};

ValueId changed(OnnxCall& call, std::string_view graph, ValueId scores) {
  if (graph.empty()) return scores;
  auto& bodies = *call.state().bodies;
  OnnxInfo* const inputs[] = {call.info_of(scores)};
  const auto made = bodies.run_body(call, bodies.body(graph), inputs);
  return made.empty() ? scores : call.value_of(*made.front());
}

Taken take_apart(OnnxCall& call, const Heads& all, const Steps& steps) {
  const auto dtype = call.dtype(0);
  const OnnxOutput out{all.scores(), dtype};
  const auto key = for_each_head(call, all.key, all.k, all.q[1], call.dtype(1));
  const auto value = for_each_head(call, all.value, all.v, all.q[1], call.dtype(2));
  const Shape across{all.q[0], all.q[1], all.k[3], all.k[2]};
  const auto turned = call.op("aten::transpose", {call.tensor_of("self", key)}, {across, call.dtype(1)});
  const auto each = [&](std::string_view name, ValueId x) {
    return call.op(name, {call.tensor_of("self", x)}, out);
  };
  Taken taken;
  auto x = call.op("aten::matmul", {call.tensor_of("self", all.query), call.tensor_of("other", turned)}, out);
  taken.scores[0] = x = each("aten::mul", x);
  if (steps.cap != 0) x = each("aten::mul", each("aten::tanh", each("aten::div", x)));
  taken.scores[1] = x;
  x = changed(call, steps.score_graph, x);
  if (steps.masked) x = each("aten::add", x);
  taken.scores[2] = x;
  x = call.op("aten::softmax", {call.tensor_of("self", x), call.number("dim", -1)}, out);
  taken.scores[3] = x = changed(call, steps.weight_graph, x);
  taken.out = call.op("aten::matmul", {call.tensor_of("self", x), call.tensor_of("other", value)},
                      {all.out(), dtype});
  return taken;
}

// The output as the query was: with heads beside the width again, where they were.
bool give_output(OnnxCall& call, ValueId made, const Shape& shape) {
  if (call.rank(0) == 3)
    made = call.op("aten::view", {call.tensor_of("self", made)},
                   {{shape[0], shape[2], clamp_size(__int128{shape[1]} * shape[3])}});
  call.result(0, made);
  return true;
}

bool attention(OnnxCall& call, std::string_view aten) {
  const auto all = heads_of(call);
  if (!all) return false;
  call.result(1, all->key);
  call.result(2, all->value);
  const bool is_causal = call.integer("is_causal", 0) != 0;
  const bool is_local =
      call.integer("left_window_size", -1) >= 0 || call.integer("right_window_size", -1) >= 0;
  const bool masked = call.has(3) || call.has(6) || is_causal || is_local;
  const double cap = call.real("softcap", 0);
  if (call.wants(3) || cap != 0) {
    const auto taken = take_apart(call, *all, {.cap = cap, .masked = masked});
    const auto mode = std::clamp<std::int64_t>(call.integer("qk_matmul_output_mode", 0), 0, 3);
    call.result(3, taken.scores[static_cast<std::size_t>(mode)]);
    return give_output(call, taken.out, all->out());
  }
  const auto made = call.op(aten,
                            {call.tensor_of("query", all->query), call.tensor_of("key", all->key),
                             call.tensor_of("value", all->value), call.tensor("attn_mask", 3),
                             call.flag("is_causal", masked && !call.has(3))},
                            {all->out()});
  return give_output(call, made, all->out());
}

bool linear_attention(OnnxCall& call, std::string_view aten) {
  const auto heads = call.integer("q_num_heads", 0), kv = call.integer("kv_num_heads", 0);
  if (heads < 1 || kv < 1 || call.rank(0) != 3 || call.rank(1) != 3 || call.rank(2) != 3) return false;
  const auto k = call.dim(1, 2) / kv, v = call.dim(2, 2) / kv, batch = call.dim(0, 0);
  const OnnxOutput outputs[] = {{{batch, call.dim(0, 1), clamp_size(__int128{heads} * v)}},
                                {{batch, kv, k, v}, call.has(3) ? call.dtype(3) : call.dtype(0)}};
  return call.answer_all(
      aten,
      {call.tensor("query", 0), call.tensor("key", 1), call.tensor("value", 2), call.tensor("past_state", 3),
       call.tensor("decay", 4), call.tensor("beta", 5), call.number("q_num_heads", heads),
       call.number("kv_num_heads", kv), call.word("update_rule", call.text("update_rule", "gated_delta"))},
      outputs);
}

// x*cos + rotated(x)*sin, on the part that turns.
bool rotary(OnnxCall& call, std::string_view) {
  const auto direct = call.op("aten::mul", {call.tensor("self", 0)});
  const auto turned = call.op("aten::mul", {call.tensor("self", 0)});
  return call.answer("aten::add", {call.tensor_of("self", direct), call.tensor_of("other", turned)});
}

constexpr auto kAttentionRules = std::to_array<OnnxRule>({
    {"Attention", attention, "aten::scaled_dot_product_attention", 3},
    {"LinearAttention", linear_attention, "onnx::LinearAttention", 3},
    {"RotaryEmbedding", rotary},
});
static_assert(std::ranges::is_sorted(kAttentionRules, {}, &OnnxRule::type));

}  // namespace

bool flex_attention(OnnxCall& call, std::string_view aten) {
  const auto graph = [&](std::string_view name) {
    const auto* found = call.attribute(name);
    return found != nullptr ? found->graph : std::string_view{};
  };
  const Steps steps{.score_graph = graph("score_mod"), .weight_graph = graph("prob_mod")};
  const auto all = heads_of(call);
  if (!all) return false;
  if (!steps.score_graph.empty() || !steps.weight_graph.empty())
    return give_output(call, take_apart(call, *all, steps).out, all->out());
  return call.answer(aten,
                     {call.tensor_of("query", all->query), call.tensor_of("key", all->key),
                      call.tensor_of("value", all->value)},
                     {all->out()});
}

std::span<const OnnxRule> onnx_attention_rules() { return kAttentionRules; }

}  // namespace opscope
