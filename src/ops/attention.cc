// Scaled dot-product attention in all its forms: B heads of all batches, L queries, S keys, E wide, values V
// wide; u is 1 with a mask. Grouped heads are sized by the queries'. A causal mask is counted in full: the
// scores above the diagonal are masked, not skipped. Scores stay on the chip, so they are no traffic.
#include "ops/rules.h"

namespace opscope {
namespace {

struct Attention {
  Count heads = 1, queries = 1, keys = 1, width = 1, value_width = 1;
  bool masked = false, dropped = false;
  std::optional<Count> packed_pairs{};  // of a query and a key, over all packed sequences
  Confidence confidence = Confidence::kExact;
  Count pairs() const { return packed_pairs.value_or(queries * keys); }
  Count scores() const { return heads * pairs(); }
  Count macs() const { return scores() * (width + value_width); }
  // Scale, maximum, subtract, sum and divide; then the mask's add and dropout's compare and multiply.
  Count flops() const {
    return scores() * (Count{5} + Count{masked} + Count{dropped ? 2 : 0}) - heads * queries * 2;
  }
  Letters letters() const {
    return {{"B", heads},          {"L", queries},         {"S", keys},   {"E", width}, {"V", value_width},
            {"u", masked ? 1 : 0}, {"d", dropped ? 1 : 0}, {"P", pairs()}};
  }
  Work work() const { return {.macs = macs(), .other_flops = flops(), .specials = scores()}; }
};

// [..., L, E], [..., S, E], [..., S, V] -> [..., L, V].
std::optional<Attention> attention_of(const OpCall& call) {
  const TensorView *q = call.tensor("query"), *k = call.tensor("key"), *v = call.tensor("value");
  if (q == nullptr || k == nullptr || v == nullptr || call.outputs.empty()) return std::nullopt;
  const TensorView& out = call.outputs[0];
  if (q->rank() < 2 || k->rank() < 2 || v->rank() < 2 || out.rank() < 2) return std::nullopt;
  if (q->dim(-1) != k->dim(-1) || k->dim(-2) != v->dim(-2)) return std::nullopt;
  Attention a{.queries = q->dim(-2), .keys = k->dim(-2), .width = q->dim(-1), .value_width = v->dim(-1)};
  a.heads = leading(out, 2);
  a.masked = call.has("attn_mask") || call.has("attn_bias") || call.boolean("is_causal").value_or(false);
  a.dropped = call.real("dropout_p").value_or(0) > 0;
  return a;
}

// Of four dimensions: the batch, the heads and the places in this order or the other, the width.
std::optional<Attention> four_dimensional(const OpCall& call, std::int64_t heads, std::int64_t places) {
  const TensorView *q = call.tensor("query"), *k = call.tensor("key"), *v = call.tensor("value");
  if (q == nullptr || k == nullptr || v == nullptr) return std::nullopt;
  if (q->rank() != 4 || k->rank() != 4 || v->rank() != 4 || q->dim(3) != k->dim(3)) return std::nullopt;
  return Attention{.heads = Count{q->dim(0)} * Count{q->dim(heads)},
                   .queries = q->dim(places),
                   .keys = k->dim(places),
                   .width = q->dim(3),
                   .value_width = v->dim(3)};
}

// --- Sequences of different lengths, packed one behind the other as [tokens, heads, E], perhaps with a 1
// before. Tensors of offsets say where each begins and the last ends; where the capture knew their numbers,
// they are lists of the same names with ".known" behind.

struct OffsetNames {
  std::string_view queries, keys, known_queries, known_keys, longest_key;
};
constexpr OffsetNames kOffsetNames[] = {
    {"cum_seq_q", "cum_seq_k", "cum_seq_q.known", "cum_seq_k.known", "max_k"},
    {"cu_seqlens_q", "cu_seqlens_k", "cu_seqlens_q.known", "cu_seqlens_k.known", "max_seqlen_k"},
    {"cu_seq_q", "cu_seq_k", "cu_seq_q.known", "cu_seq_k.known", "max_k"},
};

const OffsetNames* offsets_of(const OpCall& call) {
  const auto* found = std::ranges::find_if(
      kOffsetNames, [&](const OffsetNames& names) { return call.tensor(names.queries) != nullptr; });
  return found != std::end(kOffsetNames) ? found : nullptr;
}

// Each query meets the keys of its own sequence. Where these are not known, at most as many as the longest
// has, or else those of an average sequence.
void count_pairs(Attention& a, const OpCall& call, const OffsetNames& names) {
  const bool own_keys = call.tensor(names.keys) != nullptr;
  const auto q = call.ints(names.known_queries),
             k = call.ints(own_keys ? names.known_keys : names.known_queries);
  const auto longest = call.integer(names.longest_key).value_or(0);
  if (q.size() > 1 && q.size() == k.size()) {
    Count pairs = 0;
    for (std::size_t i = 1; i < q.size(); ++i) pairs += Count{q[i] - q[i - 1]} * Count{k[i] - k[i - 1]};
    a.packed_pairs = pairs;
  } else if (longest > 0) {
    a.packed_pairs = a.queries * Count{longest};
    a.confidence = Confidence::kUpperBound;
  } else {
    const Count sequences = std::max<std::int64_t>(call.tensor(names.queries)->dim(0) - 1, 1);
    a.packed_pairs = a.queries * a.keys / sequences;
    a.confidence = Confidence::kEstimated;
  }
}

std::optional<Attention> packed_attention(const OpCall& call, const OffsetNames& names) {
  const TensorView *q = call.tensor("query"), *k = call.tensor("key"), *v = call.tensor("value");
  if (q == nullptr || k == nullptr || v == nullptr || q->rank() < 3 || q->dim(-1) != k->dim(-1))
    return std::nullopt;
  Attention a{.heads = q->dim(-2),
              .queries = leading(*q, 2),
              .keys = leading(*k, 2),
              .width = q->dim(-1),
              .value_width = v->dim(-1)};
  count_pairs(a, call, names);
  return a;
}

// [batch, L, heads, E]: the inner kernels keep heads beside the width; or packed.
std::optional<Attention> inner_attention(const OpCall& call) {
  const OffsetNames* offsets = offsets_of(call);
  auto a = offsets != nullptr ? packed_attention(call, *offsets) : four_dimensional(call, 2, 1);
  if (!a) return std::nullopt;
  a->masked = call.has("bias") || call.has("attn_bias") ||
              call.boolean("is_causal").value_or(call.integer("custom_mask_type").value_or(0) != 0);
  a->dropped = call.real("dropout_p").value_or(0) > 0;
  return a;
}

Confidence inner_confidence(const OpCall& call) {
  const auto a = inner_attention(call);
  return a ? a->confidence : Confidence::kUnknown;
}

std::optional<Attention> backward_attention(const OpCall& call) { return four_dimensional(call, 1, 2); }

// Five products where forward has two: the scores again, then the gradients of p, v, q and k. Three flops for
// each score's gradient (subtract, multiply, scale), and the row sums of grad * out.
template <auto kRead>
MaybeWork attention_backward(const OpCall& call) {
  const auto a = kRead(call);
  if (!a) return std::nullopt;
  const Count scores = a->scores();
  return Work{.macs = scores * (a->width * 3 + a->value_width * 2),
              .other_flops = scores * 5 + a->heads * a->queries * a->value_width * 2,
              .specials = scores};
}

// --- nn.MultiheadAttention and nn.TransformerEncoderLayer as single ops ---

// Four projections of width D with their biases around the attention.
MaybeWork multi_head(const TensorView* q, const TensorView* k, const TensorView* v,
                     std::optional<std::int64_t> heads, bool masked) {
  if (q == nullptr || k == nullptr || v == nullptr || q->rank() != 3 || k->rank() != 3) return std::nullopt;
  if (!heads || *heads <= 0) return std::nullopt;
  const Count width = Count{q->dim(2)} / Count{*heads};
  const Attention a{.heads = Count{q->dim(0)} * Count{*heads},
                    .queries = q->dim(1),
                    .keys = k->dim(1),
                    .width = width,
                    .value_width = width,
                    .masked = masked};
  Work work = a.work();
  const Count projected = q->numel * 2 + k->numel + v->numel;
  work.macs += projected * Count{q->dim(2)};
  work.other_flops += projected;
  return work;
}

MaybeWork native_multi_head(const OpCall& call) {
  return multi_head(call.tensor("query"), call.tensor("key"), call.tensor("value"), call.integer("num_head"),
                    call.has("mask"));
}

// Attention, two layer norms (8 per element), two residual adds, and a feed-forward of width F.
MaybeWork encoder_layer(const OpCall& call) {
  const TensorView *x = call.tensor("src"), *ffn = call.tensor("ffn_weight_1");
  auto work = multi_head(x, x, x, call.integer("num_heads"), call.has("mask"));
  if (!work || ffn == nullptr || ffn->rank() != 2) return std::nullopt;
  const Count rows = Count{x->dim(0)} * Count{x->dim(1)}, hidden = rows * Count{ffn->dim(0)};
  work->macs += x->numel * Count{ffn->dim(0)} * 2;
  work->other_flops += hidden + x->numel + x->numel * (8 * 2 + 2);
  const bool gelu = call.boolean("use_gelu").value_or(false);
  work->other_flops += hidden * (gelu ? 4 : 1);
  work->specials += rows * 2 + (gelu ? hidden : Count{});
  return work;
}

constexpr std::string_view kFormula =
    "B*L*S*(E+V) MACs + B*L*S*(5+u+2*d) - 2*B*L flops (scale, mask, softmax) + B*L*S exps";
constexpr std::string_view kInner =
    "B*P*(E+V) MACs + B*P*(5+u+2*d) - 2*B*L flops (scale, mask, softmax) + B*P exps, P pairs of a query and "
    "a key";
constexpr std::string_view kInnerBackward =
    "B*P*(3*E+2*V) MACs + 5*B*P + 2*B*L*V flops + B*P exps, P pairs of a query and a key";
constexpr std::string_view kBackward = "B*L*S*(3*E+2*V) MACs + 5*B*L*S + 2*B*L*V flops + B*L*S exps";

constexpr OpRow fused_row(std::string_view name, WorkFunction work, std::string_view formula) {
  return Family{.category = Category::kAttention, .fusion = Fusion::kAnchor}(name, work, formula) |
         InTorchCounter{};
}

constexpr OpRow row(std::string_view name) {
  return fused_row(name, work_from<attention_of>, kFormula) | letters_from<attention_of>;
}

constexpr OpRow backward_row(std::string_view name) {
  return fused_row(name, attention_backward<backward_attention>, kBackward) |
         letters_from<backward_attention>;
}

constexpr OpRow inner_row(std::string_view name, WorkFunction work, std::string_view formula) {
  return fused_row(name, work, formula) | letters_from<inner_attention> | inner_confidence | kOffsets;
}

constexpr OpRow kRows[] = {
    inner_row("aten::_cudnn_attention_forward aten::_efficient_attention_forward "
              "aten::_flash_attention_forward torch_attn::_varlen_attn torch_attn::_varlen_attn_out",
              work_from<inner_attention>, kInner),
    inner_row("aten::_efficient_attention_backward aten::_flash_attention_backward "
              "torch_attn::_varlen_attn_backward",
              attention_backward<inner_attention>, kInnerBackward),
    fused_row("aten::_native_multi_head_attention", native_multi_head, "attention + 4 projections with bias"),
    row("aten::_scaled_dot_product_attention_math aten::_scaled_dot_product_cudnn_attention "
        "aten::_scaled_dot_product_efficient_attention aten::_scaled_dot_product_flash_attention "
        "aten::_scaled_dot_product_flash_attention_for_cpu "
        "aten::_scaled_dot_product_fused_attention_overrideable aten::scaled_dot_product_attention"),
    backward_row("aten::_scaled_dot_product_cudnn_attention_backward "
                 "aten::_scaled_dot_product_efficient_attention_backward "
                 "aten::_scaled_dot_product_flash_attention_backward "
                 "aten::_scaled_dot_product_flash_attention_for_cpu_backward "
                 "aten::_scaled_dot_product_fused_attention_overrideable_backward"),
    fused_row("aten::_transformer_encoder_layer_fwd", encoder_layer,
              "attention + 4 projections + 2 layer norms + 2 residual adds + feed-forward"),
};

}  // namespace

std::span<const OpRow> attention_rules() { return kTable<kRows>; }

}  // namespace opscope
