// Ops that only ONNX has.
#include "ops/op_case.h"

namespace opscope {
namespace {

// 3 heads of queries, 1 of keys and values, 2 * 5 tokens, keys 4 wide and values 6.
std::vector<CaseArgument> linear_attention(const char* rule) {
  return {{"query", T{2, 5, 12}}, {"key", T{2, 5, 4}}, {"value", T{2, 5, 6}}, {"decay", T{2, 5, 4}},
          {"q_num_heads", 3},     {"kv_num_heads", 1}, {"update_rule", rule}};
}

const std::vector<OpCase>& cases() {
  static const std::vector<OpCase> kCases = {
      {"onnx::LinearAttention",
       linear_attention("linear"),
       {{2, 5, 18}},
       Work{.macs = 10 * 3 * 4 * 6 + 10 * 4 * 6, .other_flops = 10 * 3 * 6}},
      {"onnx::LinearAttention",
       linear_attention("gated"),
       {{2, 5, 18}},
       Work{.macs = 10 * 3 * 4 * 6 + 10 * 4 * 6, .other_flops = 10 * 3 * 6 + 10 * 4 * 6, .specials = 10 * 4}},
      {"onnx::LinearAttention",
       linear_attention("gated_delta"),
       {{2, 5, 18}},
       Work{.macs = 10 * 3 * 4 * 6 + 2 * 10 * 4 * 6,
            .other_flops = 10 * 3 * 6 + 10 * 4 * 6 + 2 * 10 * 6,
            .specials = 10 * 4}},
      {"onnx::LinearAttention", {{"query", T{2, 5, 12}}}, {{2, 5, 12}}, std::nullopt},
      {"onnx::LRN",
       {{"self", T{1, 5, 4, 4}}, {"size", 3}},
       {{1, 5, 4, 4}},
       Work{.other_flops = 80 * 6, .specials = 80}},
      {"onnx::LpPool",
       {{"self", T{1, 2, 6}}, {"kernel_size", ints{3}}, {"p", 1}},
       {{1, 2, 4}},
       Work{.other_flops = 8 * 3 + 8 * 2}},
      {"onnx::LpPool",
       {{"self", T{1, 2, 6, 6}}, {"kernel_size", ints{2, 3}}, {"p", 2}},
       {{1, 2, 5, 4}},
       Work{.other_flops = 40 * 6 + 40 * 5, .specials = 40}},
      {"onnx::LpPool",
       {{"self", T{1, 2, 6}}, {"kernel_size", ints{3}}, {"p", 3}},
       {{1, 2, 4}},
       Work{.other_flops = 8 * 3 + 8 * 2, .specials = 8 + 8 * 3}},
      {"onnx::Hardmax", {{"self", T{3, 4}}}, {{3, 4}}, Work{.other_flops = 12}},
      {"onnx::MelWeightMatrix", {}, {{9, 8}}, Work{}},
      {"onnx::NonMaxSuppression",
       {{"boxes", T{2, 6, 4}}, {"scores", T{2, 3, 6}}},
       {{5, 3}},
       Work{.other_flops = 2 * 3 * (6 * 5 / 2 * 13 + 6)}},
      {"onnx::NonMaxSuppression", {{"boxes", T{6, 4}}, {"scores", T{6}}}, {{5, 3}}, std::nullopt},
      {"onnx::RegexFullMatch", {{"self", T{4}}}, {{4}}, Work{}},
      {"onnx::StringConcat", {{"self", T{4}}, {"other", T{4}}}, {{4}}, Work{}},
      {"onnx::StringNormalizer", {{"self", T{4}}}, {{4}}, Work{}},
      {"onnx::StringSplit", {{"self", T{4}}}, {{4, 3}, {4}}, Work{}},
      {"onnx::TfIdfVectorizer",
       {{"self", T{12}}, {"grams", 2}, {"keys", 7}},
       {{7}},
       Work{.other_flops = 12 * 2 * 3 + 7}},
      {"ai.onnx.ml::LabelEncoder", {{"self", T{5}}, {"keys", 7}}, {{5}}, Work{.other_flops = 5 * 3}},
      {"ai.onnx.ml::CategoryMapper", {{"self", T{5}}, {"keys", 3}}, {{5}}, Work{.other_flops = 5 * 2}},
      {"ai.onnx.ml::DictVectorizer", {{"keys", 3}}, {{1, 3}}, Work{.other_flops = 3 * 2}},
      {"ai.onnx.ml::TreeEnsemble",
       {{"x", T{8, 4}}, {"depth", 11}, {"trees", 3}},
       {{8, 2}},
       Work{.other_flops = 8 * (11 + 3)}},
      {"ai.onnx.ml::TreeEnsemble", {{"x", T{8, 4}}}, {{8, 2}}, std::nullopt},
      {"ai.onnx.ml::SVMRegressor",
       {{"x", T{8, 4}}, {"support_vectors", T{6, 4}}, {"kernel", "LINEAR"}},
       {{8, 1}},
       Work{.macs = 8 * 6 * (4 + 1)}},
      {"ai.onnx.ml::SVMRegressor",
       {{"x", T{8, 4}}, {"support_vectors", T{6, 4}}, {"kernel", "RBF"}},
       {{8, 1}},
       Work{.macs = 8 * 6 * (4 + 1), .other_flops = 8 * 6 * (4 + 1), .specials = 8 * 6}},
      {"ai.onnx.ml::SVMClassifier",
       {{"x", T{8, 4}}, {"support_vectors", T{6, 4}}, {"rows_of_coefficients", 2}, {"kernel", "POLY"}},
       {{8, 3}},
       Work{.macs = 8 * 6 * (4 + 2), .other_flops = 8 * 6 * 2, .specials = 8 * 6}},
  };
  return kCases;
}

}  // namespace

std::span<const OpCase> onnx_cases() { return cases(); }

}  // namespace opscope
