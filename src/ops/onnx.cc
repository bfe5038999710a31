// Ops of ONNX that PyTorch has no like of, under ONNX's own names and the arguments that its reader gives
// them. All others become ATen's (src/readers/onnx).
#include "ops/rules.h"

namespace opscope {
namespace {

// --- Linear attention: a state of k by v for each head of keys and values, brought forward token by token

struct LinearAttention {
  Count tokens, heads, kv_heads, k, v, decays;
  bool gated, delta;
  Work work() const {
    const Count states = tokens * kv_heads * k * v;
    return {.macs = tokens * heads * k * v + states * (delta ? 2 : 1),
            .other_flops = tokens * heads * v + (gated ? states : Count{}) +
                           (delta ? tokens * kv_heads * v * 2 : Count{}),
            .specials = decays};
  }
  Letters letters() const {
    return {{"t", tokens}, {"h", heads},  {"j", kv_heads},      {"k", k},
            {"v", v},      {"e", decays}, {"g", gated ? 1 : 0}, {"d", delta ? 1 : 0}};
  }
};

// [batch, tokens, heads * width], all three.
std::optional<LinearAttention> linear_attention(const OpCall& call) {
  const TensorView *q = call.tensor("query"), *key = call.tensor("key"), *value = call.tensor("value");
  const Count heads = call.integer("q_num_heads").value_or(0), kv = call.integer("kv_num_heads").value_or(0);
  if (q == nullptr || key == nullptr || value == nullptr || !heads || !kv) return std::nullopt;
  if (q->rank() != 3 || key->rank() != 3 || value->rank() != 3) return std::nullopt;
  const auto rule = call.string("update_rule");
  const TensorView* decay = call.tensor("decay");
  const bool gated = rule.starts_with("gated");
  return LinearAttention{.tokens = Count{q->dim(0)} * Count{q->dim(1)},
                         .heads = heads,
                         .kv_heads = kv,
                         .k = Count{key->dim(2)} / kv,
                         .v = Count{value->dim(2)} / kv,
                         .decays = gated && decay != nullptr ? decay->numel : Count{},
                         .gated = gated,
                         .delta = rule.ends_with("delta")};
}

// --- Windows

// s squares are summed for each element, then scaled, shifted, raised and divided by.
MaybeWork local_response(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const Count n = call.outputs[0].numel, s = call.integer("size").value_or(1);
  return Work{.other_flops = n * (s + 3), .specials = n};
}

Letters local_letters(const OpCall& call) {
  if (call.outputs.empty()) return {};
  return {{"n", call.outputs[0].numel}, {"s", call.integer("size").value_or(1)}};
}

struct PowerPool {
  Count n, k = 1;
  std::int64_t order;
  Work work() const {
    Work work{.other_flops = n * k + n * (k - 1)};
    if (order != 1) work.specials = n;
    if (order > 2) work.specials += n * k;
    return work;
  }
  Letters letters() const { return {{"n", n}, {"k", k}}; }
};

std::optional<PowerPool> power_pool(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  PowerPool pool{.n = call.outputs[0].numel, .order = call.integer("p").value_or(2)};
  for (const std::int64_t size : call.ints("kernel_size")) pool.k *= Count{size};
  return pool;
}

// Boxes [batch, N, 4] against each other for each class of the scores [batch, classes, N]: 13 flops a pair,
// as torchvision's.
struct Suppression {
  Count batch, classes, n;
  Work work() const { return {.other_flops = batch * classes * (n * (n - 1) / 2 * 13 + n)}; }
  Letters letters() const { return {{"b", batch}, {"c", classes}, {"N", n}}; }
};

std::optional<Suppression> suppression(const OpCall& call) {
  const TensorView *boxes = call.tensor("boxes"), *scores = call.tensor("scores");
  if (boxes == nullptr || scores == nullptr || boxes->rank() != 3 || scores->rank() != 3) return std::nullopt;
  return Suppression{.batch = scores->dim(0), .classes = scores->dim(1), .n = boxes->dim(1)};
}

// --- Tables, trees and vectors that were learned

// Each element is looked up among k.
MaybeWork look_up(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  return Work{.other_flops = call.outputs[0].numel * log2_of(Count{call.integer("keys").value_or(1)} + 1)};
}

Letters look_up_letters(const OpCall& call) {
  if (call.outputs.empty()) return {};
  return {{"n", call.outputs[0].numel}, {"k", call.integer("keys").value_or(1)}};
}

// Each of m places is the beginning of g n-grams, of each length and skip, looked up among k; the counts are
// weighed.
MaybeWork n_grams(const OpCall& call) {
  if (call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  const Count grams = call.integer("grams").value_or(1), k = call.integer("keys").value_or(1);
  return Work{.other_flops = call.inputs[0].numel * grams * log2_of(k + 1) + call.outputs[0].numel};
}

// The deepest way through every tree, d compares in all, for each row; then the leaves are added up.
struct Forest {
  Count rows, depth, trees;
  Work work() const { return {.other_flops = rows * (depth + trees)}; }
  Letters letters() const { return {{"r", rows}, {"d", depth}, {"t", trees}}; }
};

std::optional<Forest> forest(const OpCall& call) {
  const TensorView* x = call.tensor("x");
  const auto depth = call.integer("depth"), trees = call.integer("trees");
  if (x == nullptr || !depth || !trees) return std::nullopt;
  return Forest{.rows = x->rank() > 1 ? Count{x->dim(0)} : Count{1}, .depth = *depth, .trees = *trees};
}

// A kernel of each of r rows with each of s support vectors, f wide; then a product with the coefficients.
struct Machine {
  Count rows, vectors, width, classes;
  std::string_view kernel;
  Work work() const {
    const Count pairs = rows * vectors;
    Work work{.macs = pairs * width + pairs * classes};
    if (kernel == "RBF") work += {.other_flops = pairs * (width + 1), .specials = pairs};
    if (kernel == "POLY" || kernel == "SIGMOID") work += {.other_flops = pairs * 2, .specials = pairs};
    return work;
  }
  Letters letters() const { return {{"r", rows}, {"s", vectors}, {"f", width}, {"c", classes}}; }
};

std::optional<Machine> machine(const OpCall& call) {
  const TensorView *x = call.tensor("x"), *vectors = call.tensor("support_vectors");
  if (x == nullptr || vectors == nullptr || vectors->rank() != 2) return std::nullopt;
  return Machine{.rows = x->rank() > 1 ? Count{x->dim(0)} : Count{1},
                 .vectors = vectors->dim(0),
                 .width = vectors->dim(1),
                 .classes = call.integer("rows_of_coefficients").value_or(1),
                 .kernel = call.string("kernel")};
}

constexpr Family attention_row{
    .category = Category::kAttention, .fusion = Fusion::kAnchor, .letters = letters_from<linear_attention>};
constexpr Family norm_row{.category = Category::kNorm, .fusion = Fusion::kBarrier, .letters = local_letters};
constexpr Family pool_row{
    .category = Category::kPool, .fusion = Fusion::kBarrier, .letters = letters_from<power_pool>};
constexpr Family reduction_row{.category = Category::kReduction, .fusion = Fusion::kReduction};
constexpr Family suppression_row{.category = Category::kSort,
                                 .fusion = Fusion::kBarrier,
                                 .confidence = Confidence::kUpperBound,
                                 .letters = letters_from<suppression>};
constexpr Family look_up_row{.category = Category::kIndex,
                             .fusion = Fusion::kBarrier,
                             .confidence = Confidence::kEstimated,
                             .letters = look_up_letters};
constexpr Family gram_row{
    .category = Category::kIndex, .fusion = Fusion::kBarrier, .confidence = Confidence::kEstimated};
constexpr Family forest_row{.category = Category::kIndex,
                            .fusion = Fusion::kBarrier,
                            .confidence = Confidence::kUpperBound,
                            .letters = letters_from<forest>};
constexpr Family machine_row{
    .category = Category::kMatmul, .fusion = Fusion::kAnchor, .letters = letters_from<machine>};
constexpr Family create_row{
    .category = Category::kCreate, .fusion = Fusion::kPointwise, .traffic = write_only};
// Estimated, since how long the texts are is not known.
constexpr Family text_row{
    .category = Category::kCopy, .fusion = Fusion::kBarrier, .confidence = Confidence::kEstimated};

constexpr OpRow kRows[] = {
    look_up_row("ai.onnx.ml::CategoryMapper ai.onnx.ml::DictVectorizer ai.onnx.ml::LabelEncoder", look_up,
                "n*log2(k+1) compares among k keys"),
    machine_row("ai.onnx.ml::SVMClassifier ai.onnx.ml::SVMRegressor", work_from<machine>,
                "r*s*(f+c) MACs + the kernel's: r*s*(f+1) flops + r*s exps (RBF), 2*r*s flops + r*s specials "
                "(POLY, SIGMOID)"),
    forest_row("ai.onnx.ml::TreeEnsemble", work_from<forest>, "r*(d+t) flops, d the depths of t trees"),
    reduction_row("onnx::Hardmax", per_input<1>, "m compares"),
    norm_row("onnx::LRN", local_response,
             "n*(s+3) flops (s squares summed, scale, shift, divide) + n powers"),
    attention_row("onnx::LinearAttention", work_from<linear_attention>,
                  "t*h*k*v + t*j*k*v*(1+d) MACs + t*h*v + g*t*j*k*v + 2*d*t*j*v flops + e exps"),
    pool_row("onnx::LpPool", work_from<power_pool>,
             "n*k + n*(k-1) flops; + n roots unless p is 1; + n*k powers where p is above 2"),
    create_row("onnx::MelWeightMatrix", no_work, "none"),
    suppression_row("onnx::NonMaxSuppression", work_from<suppression>, "b*c*(13*N*(N-1)/2 + N) flops"),
    text_row("onnx::RegexFullMatch onnx::StringConcat onnx::StringNormalizer onnx::StringSplit", no_work,
             "none"),
    gram_row("onnx::TfIdfVectorizer", n_grams, "a search among the pool for each n-gram + n multiplies"),
};

}  // namespace

std::span<const OpRow> onnx_rules() { return kTable<kRows>; }

}  // namespace opscope
