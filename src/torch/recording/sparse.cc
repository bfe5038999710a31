#include "torch/recording/sparse.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/SparseTensorImpl.h>

namespace opscope::engine {

namespace {

std::string_view layout_name(c10::Layout layout) {
  switch (layout) {
    case c10::kSparseCsr:
      return "sparse_csr";
    case c10::kSparseCsc:
      return "sparse_csc";
    case c10::kSparseBsr:
      return "sparse_bsr";
    case c10::kSparseBsc:
      return "sparse_bsc";
    default:
      return "sparse_coo";
  }
}

}  // namespace

SparseContents contents_of(const at::Tensor& sparse) {
  auto* const impl = sparse.unsafeGetTensorImpl();
  at::Tensor values;
  std::uint64_t index_bytes = 0;
  if (sparse.layout() == c10::kSparse) {
    const auto* coo = static_cast<const at::SparseTensorImpl*>(impl);
    values = coo->values();
    index_bytes = coo->indices().nbytes();
  } else {
    auto* compressed = static_cast<at::SparseCsrTensorImpl*>(impl);
    values = compressed->values();
    index_bytes = compressed->compressed_indices().nbytes() + compressed->plain_indices().nbytes();
  }
  return {.layout = layout_name(sparse.layout()),
          .stored = values.numel(),
          .index_bytes = index_bytes,
          .bytes = values.nbytes() + index_bytes};
}

}  // namespace opscope::engine
