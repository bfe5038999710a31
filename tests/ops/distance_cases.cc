// Norms and distances of every order, by definition: what is done to each of m elements, m - n steps to fold
// them into n results, what is done to each result.
#include <limits>

#include "ops/op_case.h"

namespace opscope {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// [4, 3] measured along its rows.
OpCase along_rows(const char* op, std::vector<CaseArgument> more, std::optional<Work> work) {
  std::vector<CaseArgument> arguments{{"self", T{4, 3}}, {"dim", ints{1}}};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return {op, arguments, {{4}}, work};
}

// Two matrices of [5, 6].
OpCase of_matrices(const char* op, std::vector<CaseArgument> more, std::optional<Work> work) {
  std::vector<CaseArgument> arguments{{"self", T{2, 5, 6}}, {"dim", ints{-2, -1}}};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return {op, arguments, {{2}}, work};
}

// Every one of 5 rows with every one of 4, 3 wide.
OpCase all_pairs(const char* op, std::vector<CaseArgument> more, std::optional<Work> work) {
  std::vector<CaseArgument> arguments{{"x1", T{5, 3}}, {"x2", T{4, 3}}};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return {op, arguments, {{5, 4}}, work};
}

// 5 rows, each with the one row of x2, 3 wide.
OpCase row_by_row(std::vector<CaseArgument> more, std::optional<Work> work) {
  std::vector<CaseArgument> arguments{{"x1", T{5, 3}}, {"x2", T{3}}};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return {"aten::pairwise_distance", arguments, {{5}}, work};
}

const std::vector<OpCase>& cases() {
  static const std::vector<OpCase> kCases = {
      // 2: squares, adds, roots
      along_rows("aten::norm", {}, Work{.other_flops = 12 + 8, .specials = 4}),
      along_rows("aten::norm", {{"p", 2.0}}, Work{.other_flops = 12 + 8, .specials = 4}),
      along_rows("aten::frobenius_norm", {}, Work{.other_flops = 12 + 8, .specials = 4}),
      along_rows("aten::linalg_vector_norm", {{"ord", 2}}, Work{.other_flops = 12 + 8, .specials = 4}),
      // 1: absolute values, adds. 0: compares, adds. Infinity: absolute values, compares
      along_rows("aten::linalg_vector_norm", {{"ord", 1}}, Work{.other_flops = 12 + 8}),
      along_rows("aten::linalg_vector_norm", {{"ord", 0}}, Work{.other_flops = 12 + 8}),
      along_rows("aten::linalg_vector_norm", {{"ord", kInfinity}}, Work{.other_flops = 12 + 8}),
      along_rows("aten::linalg_vector_norm", {{"ord", -kInfinity}}, Work{.other_flops = 12 + 8}),
      // else: absolute values, powers, adds, roots
      along_rows("aten::norm", {{"p", 3.5}}, Work{.other_flops = 12 + 8, .specials = 12 + 4}),
      along_rows("aten::norm", {{"p", -1}}, Work{.other_flops = 12 + 8, .specials = 12 + 4}),
      // complex, 2: the squares of both parts, all added up
      {"aten::linalg_vector_norm",
       {{"self", T({4, 3}, DType::kComplex64)}, {"dim", ints{1}}},
       {{4}},
       Work{.other_flops = 24 + 20, .specials = 4}},
      // complex, 1: each absolute value is two squares, an add and a root
      {"aten::linalg_vector_norm",
       {{"self", T({4, 3}, DType::kComplex64)}, {"dim", ints{1}}, {"ord", 1}},
       {{4}},
       Work{.other_flops = 3 * 12 + 8, .specials = 12}},

      // Frobenius: as a vector of 30. 1 and infinity: 30 absolute values, sums, and the largest sum
      of_matrices("aten::linalg_matrix_norm", {{"ord", "fro"}}, Work{.other_flops = 60 + 58, .specials = 2}),
      of_matrices("aten::linalg_matrix_norm", {}, Work{.other_flops = 60 + 58, .specials = 2}),
      of_matrices("aten::linalg_matrix_norm", {{"ord", 1}}, Work{.other_flops = 60 + 58}),
      of_matrices("aten::linalg_matrix_norm", {{"ord", -kInfinity}}, Work{.other_flops = 60 + 58}),
      // singular values
      of_matrices("aten::linalg_matrix_norm", {{"ord", "nuc"}}, Work{.other_flops = 60 * 5 * 14 + 2 * 4}),
      of_matrices("aten::linalg_matrix_norm", {{"ord", 2}}, Work{.other_flops = 60 * 5 * 14 + 2 * 4}),
      of_matrices("aten::linalg_matrix_norm", {{"ord", -2}}, Work{.other_flops = 60 * 5 * 14 + 2 * 4}),
      of_matrices("aten::linalg_norm", {{"ord", "nuc"}}, Work{.other_flops = 60 * 5 * 14 + 2 * 4}),
      of_matrices("aten::linalg_norm", {{"ord", 2}}, Work{.other_flops = 60 * 5 * 14 + 2 * 4}),
      of_matrices("aten::linalg_norm", {{"ord", "fro"}}, Work{.other_flops = 60 + 58, .specials = 2}),
      of_matrices("aten::linalg_norm", {}, Work{.other_flops = 60 + 58, .specials = 2}),
      // without a dim, an order given to a matrix is a matrix norm's; to a vector, a vector norm's
      {"aten::linalg_norm", {{"self", T{5, 6}}, {"ord", 2}}, {{}}, Work{.other_flops = 30 * 5 * 14 + 4}},
      {"aten::linalg_norm", {{"self", T{5, 6}}, {"ord", 1}}, {{}}, Work{.other_flops = 30 + 29}},
      {"aten::linalg_norm", {{"self", T{30}}, {"ord", 2}}, {{}}, Work{.other_flops = 30 + 29, .specials = 1}},
      {"aten::linalg_norm", {{"self", T{2, 5, 6}}}, {{}}, Work{.other_flops = 60 + 59, .specials = 1}},
      along_rows("aten::linalg_norm", {{"ord", 3}}, Work{.other_flops = 12 + 8, .specials = 12 + 4}),

      // 20 pairs: 3 differences, then the norm of 3
      all_pairs("aten::cdist", {}, Work{.other_flops = 20 * (3 + 3 + 2), .specials = 20}),
      all_pairs("aten::cdist", {{"p", 2.0}}, Work{.other_flops = 20 * (3 + 3 + 2), .specials = 20}),
      all_pairs("aten::cdist", {{"p", 1.0}}, Work{.other_flops = 20 * (3 + 3 + 2)}),
      all_pairs("aten::cdist", {{"p", 0.0}}, Work{.other_flops = 20 * (3 + 3 + 2)}),
      all_pairs("aten::cdist", {{"p", kInfinity}}, Work{.other_flops = 20 * (3 + 3 + 2)}),
      all_pairs("aten::cdist", {{"p", 3.0}}, Work{.other_flops = 20 * (3 + 3 + 2), .specials = 20 * (3 + 1)}),
      all_pairs("aten::_cdist_forward", {{"p", 1.0}}, Work{.other_flops = 20 * (3 + 3 + 2)}),
      all_pairs("aten::_euclidean_dist", {}, Work{.other_flops = 20 * (3 + 3 + 2), .specials = 20}),
      {"aten::cdist", {{"x1", T{5, 3}}, {"x2", T{4, 2}}}, {{5, 4}}, std::nullopt},
      // The gradient of 60 differences.
      all_pairs("aten::_cdist_backward", {{"cdist", T{5, 4}}, {"p", 2.0}}, Work{.other_flops = 60 * 4}),
      all_pairs("aten::_cdist_backward", {{"cdist", T{5, 4}}, {"p", 0.0}}, Work{}),
      all_pairs("aten::_cdist_backward", {{"cdist", T{5, 4}}, {"p", kInfinity}}, Work{.other_flops = 60 * 5}),
      all_pairs("aten::_cdist_backward", {{"cdist", T{5, 4}}, {"p", 3.0}},
                Work{.other_flops = 60 * 6, .specials = 60 * 2}),
      all_pairs("aten::_cdist_backward", {{"p", 2.0}}, std::nullopt),
      // eps is added to each difference
      row_by_row({}, Work{.other_flops = 5 * (3 + 3 + 3 + 2), .specials = 5}),
      row_by_row({{"p", 1.0}}, Work{.other_flops = 5 * (3 + 3 + 3 + 2)}),
      row_by_row({{"p", 4.0}}, Work{.other_flops = 5 * (3 + 3 + 3 + 2), .specials = 5 * (3 + 1)}),
      {"aten::dist",
       {{"self", T{4, 3}}, {"other", T{3}}},
       {{}},
       Work{.other_flops = 12 + 12 + 11, .specials = 1}},
      {"aten::dist", {{"self", T{4, 1}}, {"other", T{3}}, {"p", 1}}, {{}}, Work{.other_flops = 12 + 12 + 11}},
      // three products of 3 summed, two roots, two clamps, a product and a divide
      {"aten::cosine_similarity",
       {{"x1", T{5, 3}}, {"x2", T{5, 3}}},
       {{5}},
       Work{.other_flops = 5 * (3 * (3 + 2) + 4), .specials = 5 * 2}},
      // the singular values of 5 x 6
      {"aten::nuclear_norm", {{"self", T{5, 6}}}, {{}}, Work{.other_flops = 14 * 5 * 6 * 5}},
  };
  return kCases;
}

}  // namespace

std::span<const OpCase> distance_cases() { return cases(); }

}  // namespace opscope
