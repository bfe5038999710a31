// What a sparse tensor holds, read from it without a call that a capture would see.
#pragma once

#include <string_view>

#include "torch/engine/torch_headers.h"

namespace opscope::engine {

// COO, CSR, CSC, BSR or BSC.
inline bool is_sparse(const at::TensorBase& tensor) {
  constexpr c10::DispatchKeySet kKeys({c10::DispatchKey::Sparse, c10::DispatchKey::SparseCsr});
  return tensor.key_set().has_any(kKeys);
}

struct SparseContents {
  std::string_view layout;  // "sparse_coo"
  std::int64_t stored = 0;  // elements of its values
  std::uint64_t index_bytes = 0;
  std::uint64_t bytes = 0;  // with the indices
};
SparseContents contents_of(const at::Tensor& sparse);

}  // namespace opscope::engine
