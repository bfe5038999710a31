// Writing by index, gradients of windows and rows, and the few ops whose work follows their lengths. Numbers
// are counted by hand for each call.
#include "ops/op_case.h"

namespace opscope {
namespace {

const auto kLong = DType::kInt64;

const std::vector<OpCase>& cases() {
  static const std::vector<OpCase> kCases = {
      // Rows 4 times: 4 * 3 elements, whatever the values' shape.
      {"aten::index_put",
       {{"self", T{10, 3}}, {"indices", Shapes{T({4}, kLong)}}, {"values", T{4, 3}}, {"accumulate", true}},
       {{10, 3}},
       Work{.other_flops = 12}},
      {"aten::index_put",
       {{"self", T{10, 3}}, {"indices", Shapes{T({4}, kLong)}}, {"values", T(ints{})}, {"accumulate", true}},
       {{10, 3}},
       Work{.other_flops = 12}},
      // [4, 1] with [2]: 8 places, nothing left over.
      {"aten::_index_put_impl",
       {{"self", T{10, 3}},
        {"indices", Shapes{T({4, 1}, kLong), T({2}, kLong)}},
        {"values", T{1}},
        {"accumulate", true}},
       {{10, 3}},
       Work{.other_flops = 8}},
      // A mask picks as many as there are values.
      {"aten::_unsafe_index_put",
       {{"self", T{10, 3}},
        {"indices", Shapes{T({10, 3}, DType::kBool)}},
        {"values", T{7}},
        {"accumulate", true}},
       {{10, 3}},
       Work{.other_flops = 7}},
      {"aten::index_put",
       {{"self", T{10, 3}}, {"indices", Shapes{T({4}, kLong)}}, {"values", T{4, 3}}, {"accumulate", false}},
       {{10, 3}},
       Work{}},
      {"aten::put",
       {{"self", T{10, 3}}, {"index", T({5}, kLong)}, {"source", T{5}}, {"accumulate", true}},
       {{10, 3}},
       Work{.other_flops = 5}},
      // As much as the index has, of a larger source.
      {"aten::scatter_add",
       {{"self", T{10, 3}}, {"dim", 0}, {"index", T({4, 3}, kLong)}, {"src", T{6, 3}}},
       {{10, 3}},
       Work{.other_flops = 12}},
      {"aten::scatter_reduce",
       {{"self", T{10, 3}}, {"dim", 0}, {"index", T({4, 3}, kLong)}, {"src", T{4, 3}}, {"reduce", "amax"}},
       {{10, 3}},
       Work{.other_flops = 12}},
      {"aten::scatter.src",
       {{"self", T{10, 3}}, {"dim", 0}, {"index", T({4, 3}, kLong)}, {"src", T{4, 3}}},
       {{10, 3}},
       Work{}},
      {"aten::scatter.reduce",
       {{"self", T{10, 3}}, {"dim", 0}, {"index", T({4, 3}, kLong)}, {"src", T{4, 3}}, {"reduce", "add"}},
       {{10, 3}},
       Work{.other_flops = 12}},
      {"aten::index_add",
       {{"self", T{10, 3}}, {"dim", 0}, {"index", T({4}, kLong)}, {"source", T{4, 3}}},
       {{10, 3}},
       Work{.other_flops = 12}},
      {"aten::index_reduce",
       {{"self", T{10, 3}}, {"dim", 1}, {"index", T({2}, kLong)}, {"source", T{10, 2}}},
       {{10, 3}},
       Work{.other_flops = 20}},
      {"aten::embedding", {{"weight", T{10, 3}}, {"indices", T({4}, kLong)}}, {{4, 3}}, Work{}},

      // 2 * 4 * 4 gradients, each divided by 9 and added to 9 places.
      {"aten::avg_pool2d_backward",
       {{"grad_output", T{1, 2, 4, 4}}, {"self", T{1, 2, 12, 12}}, {"kernel_size", ints{3, 3}}},
       {{1, 2, 12, 12}},
       Work{.other_flops = 32 + 32 * 9}},
      {"aten::avg_pool2d_backward",
       {{"grad_output", T{1, 2, 4, 4}}, {"self", T{1, 2, 8, 8}}, {"kernel_size", ints{2}}},
       {{1, 2, 8, 8}},
       Work{.other_flops = 32 + 32 * 4}},
      {"aten::avg_pool3d_backward",
       {{"grad_output", T{1, 2, 2, 2, 2}}, {"self", T{1, 2, 4, 4, 4}}, {"kernel_size", ints{2, 2, 2}}},
       {{1, 2, 4, 4, 4}},
       Work{.other_flops = 16 + 16 * 8}},
      {"aten::avg_pool2d_backward", {{"grad_output", T{1, 2, 4, 4}}}, {{1, 2, 8, 8}}, std::nullopt},
      // 5 places in 3 windows, 0-2, 1-4, 3-5: 2 + 3 + 2 of them on each side.
      {"aten::_adaptive_avg_pool2d_backward",
       {{"grad_output", T{1, 2, 3, 3}}, {"self", T{1, 2, 5, 5}}},
       {{1, 2, 5, 5}},
       Work{.other_flops = 18 + 2 * 7 * 7}},
      {"aten::_adaptive_avg_pool3d_backward",
       {{"grad_output", T{1, 2, 1, 1, 1}}, {"self", T{1, 2, 4, 4, 4}}},
       {{1, 2, 4, 4, 4}},
       Work{.other_flops = 2 + 2 * 64}},

      // 4 rows of 3: products, sums of 3, differences, products.
      {"aten::_softmax_backward_data",
       {{"grad_output", T{4, 3}}, {"output", T{4, 3}}, {"dim", 1}},
       {{4, 3}},
       Work{.other_flops = 12 + 4 * 2 + 12 + 12}},
      // 3 columns of 4: sums of 4, exps, products, differences.
      {"aten::_log_softmax_backward_data",
       {{"grad_output", T{4, 3}}, {"output", T{4, 3}}, {"dim", 0}},
       {{4, 3}},
       Work{.other_flops = 3 * 3 + 12 + 12, .specials = 12}},
      // 6 pairs of a and b: s = sigmoid(b) (3 and an exp), g*s, and g*s*a*(1 - s).
      {"aten::glu_backward",
       {{"grad_output", T{2, 3}}, {"self", T{4, 3}}, {"dim", 0}},
       {{4, 3}},
       Work{.other_flops = 6 * (3 + 1 + 3), .specials = 6}},
      {"aten::gelu_backward",
       {{"grad_output", T{4, 3}}, {"self", T{4, 3}}, {"approximate", "tanh"}},
       {{4, 3}},
       Work{.other_flops = 12 * 17, .specials = 12}},

      // 12 elements to the smallest and the largest of each row.
      {"aten::aminmax", {{"self", T{4, 3}}, {"dim", 1}}, {{4}, {4}}, Work{.other_flops = 4 * (2 + 2)}},
      {"aten::allclose", {{"self", T{4, 3}}, {"other", T{4, 3}}}, {}, Work{.other_flops = 12 * 6 + 11}},
      {"aten::_foreach_max", {{"self", Shapes{{4, 3}, {5}}}}, {{}, {}}, Work{.other_flops = 11 + 4}},
      {"aten::_foreach_norm",
       {{"self", Shapes{{4, 3}, {5}}}},
       {{}, {}},
       Work{.other_flops = (12 + 11) + (5 + 4), .specials = 2}},
      {"aten::_foreach_norm", {{"self", Shapes{{4, 3}, {5}}}, {"ord", 1}}, {{}, {}}, std::nullopt},
      {"aten::_foreach_add",
       {{"self", Shapes{{4, 3}, {5}}}, {"alpha", -0.1}},
       {{4, 3}, {5}},
       Work{.other_flops = 2 * 17}},
      {"aten::_fused_adagrad",
       {{"self", Shapes{{4, 3}}}, {"weight_decay", 0.1}},
       {{4, 3}},
       Work{.other_flops = 12 * (6 + 2), .specials = 12}},
      // (w - 1)*t + 1 and a product for each element
      {"aten::binary_cross_entropy_with_logits",
       {{"self", T{4, 3}}, {"target", T{4, 3}}, {"pos_weight", T{3}}, {"reduction", 1}},
       {{}},
       Work{.other_flops = 12 * (6 + 4 + 1), .specials = 12 * 2}},

      // 7 frames of 16: 7*16*4*2.5 to transform, a window and an add each, 96 samples to divide.
      {"aten::istft",
       {{"self", T({9, 7}, DType::kComplex64)}, {"n_fft", 16}},
       {{96}},
       Work{.other_flops = 7 * 16 * 10 + 2 * 7 * 16 + 96}},
      {"aten::istft",
       {{"self", T({2, 9, 7}, DType::kComplex64)}, {"n_fft", 16}},
       {{2, 96}},
       Work{.other_flops = 2 * (7 * 16 * 10 + 2 * 7 * 16 + 96)}},
      // A target of 3 labels has 7 states, one of 2 has 5; 10 and 8 times.
      {"aten::ctc_loss",
       {{"log_probs", T{10, 2, 5}},
        {"targets", T({2, 3}, kLong)},
        {"input_lengths", ints{10, 8}},
        {"target_lengths", ints{3, 2}}},
       {{}},
       Work{.other_flops = (10 * 7 + 8 * 5) * 9, .specials = (10 * 7 + 8 * 5) * 4}},
      // Lengths that are tensors are not known: the longest of all.
      {"aten::_ctc_loss",
       {{"log_probs", T{10, 2, 5}},
        {"targets", T({2, 3}, kLong)},
        {"input_lengths", T({2}, kLong)},
        {"target_lengths", T({2}, kLong)}},
       {{2}, {2, 10, 7}},
       Work{.other_flops = 10 * 2 * 7 * 9, .specials = 10 * 2 * 7 * 4}},
      {"aten::_ctc_loss_backward",
       {{"grad", T{2}},
        {"log_probs", T{10, 2, 5}},
        {"targets", T({2, 3}, kLong)},
        {"input_lengths", ints{10, 8}},
        {"target_lengths", ints{3, 2}}},
       {{10, 2, 5}},
       Work{.other_flops = 110 * 15 + 100 * 5, .specials = 110 * 7 + 100 * 2}},
      {"aten::_ctc_loss_backward", {{"grad", T{2}}}, {{10, 2, 5}}, std::nullopt},
      {"aten::linalg_lstsq",
       {{"self", T{6, 4}}, {"b", T{6, 2}}},
       {{4, 2}},
       Work{.other_flops = 2 * 6 * 4 * 4 + 4 * 6 * 4 * 2}},
      {"aten::linalg_pinv", {{"self", T{6, 4}}}, {{4, 6}}, Work{.other_flops = (14 + 2) * 6 * 4 * 4}},
      {"aten::pinverse", {{"self", T{6, 4}}}, {{4, 6}}, Work{.other_flops = (14 + 2) * 6 * 4 * 4}},
  };
  return kCases;
}

}  // namespace

std::span<const OpCase> selecting_cases() { return cases(); }

}  // namespace opscope
