// Sparse operands: what is stored is multiplied, read and written, and nothing else.
#include "ops/op_case.h"

namespace opscope {
namespace {

T sparse(std::initializer_list<std::int64_t> shape, std::uint64_t stored, std::uint64_t index_bytes = 0) {
  T made(shape);
  made.sparse = SparseSpec{.layout = "sparse_coo", .stored = stored, .index_bytes = index_bytes};
  return made;
}

const std::vector<OpCase>& cases() {
  static const std::vector<OpCase> kCases = {
      // 9 of 100 elements, by 7 columns
      {"aten::mm", {{"self", sparse({20, 5}, 9)}, {"mat2", T{5, 7}}}, {{20, 7}}, Work{.macs = 9 * 7}},
      {"aten::mm", {{"self", T{7, 20}}, {"mat2", sparse({20, 5}, 9)}}, {{7, 5}}, Work{.macs = 9 * 7}},
      {"aten::mv", {{"self", sparse({20, 5}, 9)}, {"vec", T{5}}}, {{20}}, Work{.macs = 9}},
      {"aten::matmul", {{"self", sparse({20, 5}, 9)}, {"other", T{5, 7}}}, {{20, 7}}, Work{.macs = 9 * 7}},
      {"aten::bmm",
       {{"self", sparse({2, 20, 5}, 9)}, {"mat2", T{2, 5, 7}}},
       {{2, 20, 7}},
       Work{.macs = 9 * 7}},
      {"aten::linear", {{"input", T{7, 5}}, {"weight", sparse({20, 5}, 9)}}, {{7, 20}}, Work{.macs = 9 * 7}},
      {"aten::addmm",
       {{"self", T{20, 7}}, {"mat1", sparse({20, 5}, 9)}, {"mat2", T{5, 7}}},
       {{20, 7}},
       Work{.macs = 9 * 7, .other_flops = 20 * 7}},
      {"aten::_sparse_mm",
       {{"sparse", sparse({20, 5}, 9)}, {"dense", T{5, 7}}},
       {{20, 7}},
       Work{.macs = 9 * 7}},
      {"aten::smm", {{"self", sparse({20, 5}, 9)}, {"mat2", T{5, 7}}}, {{20, 7}}, Work{.macs = 9 * 7}},
      {"aten::hspmm", {{"mat1", sparse({20, 5}, 9)}, {"mat2", T{5, 7}}}, {{20, 7}}, Work{.macs = 9 * 7}},
      {"aten::_sparse_mm_reduce_impl",
       {{"self", sparse({20, 5}, 9)}, {"other", T{5, 7}}, {"reduce", "sum"}},
       {{20, 7}},
       Work{.macs = 9 * 7}},
      {"aten::_sparse_addmm",
       {{"self", T{20, 7}}, {"mat1", sparse({20, 5}, 9)}, {"mat2", T{5, 7}}, {"beta", 0}},
       {{20, 7}},
       Work{.macs = 9 * 7}},
      {"aten::sspaddmm",
       {{"self", sparse({20, 7}, 9)}, {"mat1", sparse({20, 5}, 9)}, {"mat2", T{5, 7}}, {"beta", 0}},
       {{20, 7}},
       Work{.macs = 9 * 7}},
      // spread evenly, one of 5 in each row meets 2 of 7
      {"aten::_sparse_sparse_matmul",
       {{"self", sparse({20, 5}, 20)}, {"other", sparse({5, 7}, 10)}},
       {{20, 7}},
       Work{.macs = 20 * 2}},
      {"aten::sparse_sampled_addmm",
       {{"self", sparse({20, 7}, 9)}, {"mat1", T{20, 5}}, {"mat2", T{5, 7}}},
       {{20, 7}},
       Work{.macs = 9 * 5, .other_flops = 9}},
      {"aten::_sparse_semi_structured_linear",
       {{"input", T{3, 8}}, {"weight", T{16, 4}}, {"meta", T{16}}, {"bias", T{16}}},
       {{3, 16}},
       Work{.macs = 3 * 16 * 4, .other_flops = 3 * 16}},
      {"aten::_sparse_semi_structured_mm",
       {{"mat1", T{16, 4}}, {"mat1_meta", T{16}}, {"mat2", T{8, 3}}},
       {{16, 3}},
       Work{.macs = 3 * 16 * 4}},
      {"aten::_sparse_semi_structured_addmm",
       {{"input", T{16}}, {"mat1", T{16, 4}}, {"mat1_meta", T{16}}, {"mat2", T{8, 3}}},
       {{16, 3}},
       Work{.macs = 3 * 16 * 4, .other_flops = 3 * 16}},
      {"aten::_to_sparse", {{"self", T{4, 3}}}, {sparse({4, 3}, 5)}, Work{.other_flops = 12}},
      {"aten::_to_sparse_csr", {{"self", sparse({4, 3}, 5)}}, {sparse({4, 3}, 5)}, Work{}},
      {"aten::_to_sparse_csc", {{"self", T{4, 3}}}, {sparse({4, 3}, 5)}, Work{.other_flops = 12}},
      {"aten::_to_sparse_bsr", {{"self", T{4, 3}}}, {sparse({4, 3}, 5)}, Work{.other_flops = 12}},
      {"aten::_to_sparse_bsc", {{"self", T{4, 3}}}, {sparse({4, 3}, 5)}, Work{.other_flops = 12}},
      {"aten::_coalesce", {{"self", sparse({4, 3}, 8)}}, {sparse({4, 3}, 8)}, Work{.other_flops = 8 * 4}},
      {"aten::_convert_indices_from_coo_to_csr",
       {{"self", T({8}, DType::kInt64)}, {"size", 4}},
       {{{5}, DType::kInt64}},
       Work{.other_flops = 8}},
      {"aten::_convert_indices_from_csr_to_coo",
       {{"crow_indices", T({5}, DType::kInt64)}, {"col_indices", T({8}, DType::kInt64)}},
       {{{2, 8}, DType::kInt64}},
       Work{.other_flops = 5}},
      {"aten::_sparse_softmax",
       {{"self", sparse({4, 3}, 5)}, {"dim", 1}},
       {sparse({4, 3}, 5)},
       Work{.other_flops = 20, .specials = 5}},
      {"aten::_sparse_log_softmax",
       {{"self", sparse({4, 3}, 5)}, {"dim", 1}},
       {sparse({4, 3}, 5)},
       Work{.other_flops = 20, .specials = 5}},
      {"aten::_sparse_softmax_backward_data",
       {{"grad_output", sparse({4, 3}, 5)}, {"output", sparse({4, 3}, 5)}},
       {sparse({4, 3}, 5)},
       Work{.other_flops = 20}},
      {"aten::_sparse_log_softmax_backward_data",
       {{"grad_output", sparse({4, 3}, 5)}, {"output", sparse({4, 3}, 5)}},
       {sparse({4, 3}, 5)},
       Work{.other_flops = 20}},
      {"aten::_sparse_sum", {{"self", sparse({4, 3}, 5)}}, {{}}, Work{.other_flops = 4}},
      {"aten::mul",
       {{"self", sparse({4, 3}, 5)}, {"other", 2.0}},
       {sparse({4, 3}, 5)},
       Work{.other_flops = 5}},
      {"aten::embedding_backward",
       {{"grad", T{5, 8}}, {"indices", T({5}, DType::kInt64)}, {"sparse", true}},
       {sparse({100, 8}, 40)},
       Work{}},
  };
  return kCases;
}

}  // namespace

std::span<const OpCase> sparse_cases() { return cases(); }

}  // namespace opscope
