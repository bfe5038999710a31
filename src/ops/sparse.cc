// Sparse tensors: made, taken apart and converted. Of m and n here only the elements that are stored count,
// as in every row that counts elements; products are with the other products.
#include "ops/rules.h"

namespace opscope {
namespace {

// Whether each element is zero; what is already sparse is only stored another way.
MaybeWork to_sparse(const OpCall& call) {
  const TensorView* self = call.tensor("self");
  if (self == nullptr) return std::nullopt;
  return self->is_sparse ? Work{} : Work{.other_flops = self->numel};
}

// By their indices.
MaybeWork sort_stored(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  const Count m = call.inputs[0].numel;
  return Work{.other_flops = m * (log2_of(m) + 1)};
}

constexpr OpRow view_row(std::string_view name) {
  constexpr Family kView{.category = Category::kView, .fusion = Fusion::kView, .traffic = no_traffic};
  return kView(name, no_work, "none");
}
constexpr OpRow question(std::string_view name) {
  constexpr Family kQuestion{.category = Category::kMetadata, .fusion = Fusion::kView, .traffic = no_traffic};
  return kQuestion(name, no_work, "none");
}

constexpr Family copy_row{.category = Category::kCopy, .fusion = Fusion::kBarrier};
constexpr Family softmax_row{.category = Category::kSoftmax, .fusion = Fusion::kBarrier};
constexpr Family sum_row{.category = Category::kReduction, .fusion = Fusion::kBarrier};
constexpr Family sort_row{
    .category = Category::kSort, .fusion = Fusion::kBarrier, .confidence = Confidence::kEstimated};

constexpr OpRow kRows[] = {
    sort_row("aten::_coalesce", sort_stored, "m*log2(m) compares + m adds"),
    question("aten::_coalesced_ aten::_dimI aten::_dimV aten::_nnz aten::dense_dim aten::sparse_dim"),
    copy_row("aten::_convert_indices_from_coo_to_csr aten::_convert_indices_from_csr_to_coo", per_input<1>,
             "m flops"),
    view_row("aten::_indices aten::_values aten::ccol_indices aten::col_indices aten::crow_indices "
             "aten::indices aten::row_indices aten::values"),
    // The tensors they are given are kept, not copied.
    question("aten::_sparse_bsc_tensor_unsafe aten::_sparse_bsr_tensor_unsafe "
             "aten::_sparse_compressed_tensor_unsafe aten::_sparse_compressed_tensor_with_dims "
             "aten::_sparse_coo_tensor_unsafe aten::_sparse_coo_tensor_with_dims "
             "aten::_sparse_coo_tensor_with_dims_and_tensors aten::_sparse_csc_tensor_unsafe "
             "aten::_sparse_csr_tensor_unsafe aten::sparse_bsc_tensor aten::sparse_bsr_tensor "
             "aten::sparse_compressed_tensor aten::sparse_csc_tensor aten::sparse_csr_tensor "
             "aten::sparse_resize_ aten::sparse_resize_and_clear_"),
    softmax_row("aten::_sparse_log_softmax", per_input<4, 1>,
                "4*m flops (max, subtract, add, subtract) + m exps"),
    softmax_row("aten::_sparse_softmax", per_input<4, 1>, "4*m flops (max, subtract, add, divide) + m exps"),
    softmax_row("aten::_sparse_log_softmax_backward_data aten::_sparse_softmax_backward_data", per_input<4>,
                "4*m flops (multiply, sum, subtract, multiply)"),
    sum_row("aten::_sparse_sum", reduce<>, "m - n adds"),
    copy_row("aten::_sparse_mask_projection aten::_sparse_sum_backward aten::_spdiags aten::_to_dense "
             "aten::sparse_mask",
             no_work, "none"),
    copy_row("aten::_to_sparse", to_sparse, "m compares; none where it is sparse already") | kSizedByData |
        limited_by("nonzero"),
    copy_row("aten::_to_sparse_bsc aten::_to_sparse_bsr aten::_to_sparse_csc aten::_to_sparse_csr", to_sparse,
             "m compares; none where it is sparse already") |
        kSizedByData | limited_by("nonzero"),
    question("aten::_validate_sparse_bsc_tensor_args aten::_validate_sparse_bsr_tensor_args "
             "aten::_validate_sparse_compressed_tensor_args aten::_validate_sparse_coo_tensor_args "
             "aten::_validate_sparse_csc_tensor_args aten::_validate_sparse_csr_tensor_args"),
    // A row of the gradient for each index, beside the indices.
    copy_row("aten::embedding_sparse_backward", no_work, "none"),
};

}  // namespace

std::span<const OpRow> sparse_rules() { return kTable<kRows>; }

}  // namespace opscope
