// Where PyTorch's kernels put their results: broadcasting, type promotion and the stride order that
// TensorIterator would choose, from sizes and strides alone.
#pragma once

#include <c10/core/WrapDimMinimal.h>

#include "torch/rules/shape_rule.h"

namespace opscope::engine {

// A tensor as TensorIterator sees it. Operands with no dimensions do not influence the stride order.
struct Operand {
  c10::IntArrayRef sizes;
  c10::IntArrayRef strides;
};

inline Operand operand(const at::Tensor& tensor) { return {tensor.sizes(), tensor.strides()}; }

struct Layout {
  Sizes sizes;
  Sizes strides;
};

// Widens `sizes` by `other`; false where the two do not broadcast.
bool broadcast(Sizes& sizes, c10::IntArrayRef other);
// True where `from` can be expanded to `to`, without widening it.
bool expands_to(c10::IntArrayRef from, c10::IntArrayRef to);

at::MemoryFormat suggested_format(const Operand& tensor);

// The result that TensorIterator allocates for these inputs; false where they do not broadcast.
bool iterator_layout(at::ArrayRef<Operand> operands, Layout& layout);
bool emit_iterated(RuleCall& call, at::ArrayRef<Operand> operands, at::ScalarType dtype);
// The result of an op that writes where `mask` is true: `self` itself, or as large as the two together.
template <bool kInPlace>
bool emit_masked(RuleCall& call, const at::Tensor& self, const at::Tensor& mask) {
  if (kInPlace) return expands_to(mask.sizes(), self.sizes()) && call.same(0);
  Sizes sizes = sizes_of(self);
  return broadcast(sizes, mask.sizes()) && call.output(sizes, self.scalar_type());
}
// True where an op may write into `self` a result of this shape and type. Raises PyTorch's own error where
// elements of `self` share memory, because its meta kernels do not.
bool can_write(const at::Tensor& self, c10::IntArrayRef sizes, at::ScalarType dtype);

// What empty_like and clone give when told to preserve the format.
Sizes preserved_strides(const Operand& tensor);
// Of a result with one spatial dimension, of a kernel for two that sees `like` as one of height 1.
Sizes flat_strides(const at::Tensor& like, const Sizes& sizes);

// The strides with which `tensor` can be seen as `sizes` without a copy; false where there are none.
bool view_strides(const Operand& tensor, c10::IntArrayRef sizes, Sizes& strides);
// Replaces the one -1 in `sizes`; false where the elements do not fit.
bool infer_sizes(Sizes& sizes, std::int64_t elements);

// Counts `dim` from the front. Out of range it raises PyTorch's own error; the result is always true, so that
// it reads like the other checks. A tensor without dimensions has one, as in PyTorch.
inline bool wrap_dim(std::int64_t& dim, std::int64_t rank) {
  dim = c10::maybe_wrap_dim(dim, rank);
  return true;
}
// The first argument, and the dimension of it that argument `i` names; no tensor where it has none.
struct Along {
  const at::Tensor* self = nullptr;
  std::int64_t dim = 0;
};
inline Along read_along(const RuleCall& call, std::size_t i) {
  const at::Tensor* self = call.tensor(0);
  return self && self->dim() > 0 ? Along{self, c10::maybe_wrap_dim(call.integer(i), self->dim())} : Along{};
}
// Sets a bit for each of `dims`; false where one comes twice, or there are more dimensions than bits.
bool mark_dims(const Sizes& dims, std::int64_t rank, std::uint64_t& marked);
bool any_negative(c10::IntArrayRef sizes);
// One value stands for all dimensions. False where one is below `least`, or there are not as many.
bool fill(Sizes& values, std::size_t rank, std::int64_t least);
std::int64_t element_count(c10::IntArrayRef sizes);

// The dtype of an operation on tensors and numbers, as PyTorch promotes it.
class Promotion {
 public:
  void add(const at::Tensor& tensor) { state_ = at::native::update_result_type_state(tensor, state_); }
  void add(const c10::IValue& number) {
    state_ = at::native::update_result_type_state(number.toScalar(), state_);
  }
  at::ScalarType result() const { return at::native::result_type(state_); }

 private:
  at::native::ResultTypeState state_;
};

// Integers become the default floating dtype.
inline at::ScalarType to_floating(at::ScalarType dtype) {
  return c10::isIntegralType(dtype, /*includeBool=*/true) ? at::typeMetaToScalarType(at::get_default_dtype())
                                                          : dtype;
}

inline bool is_number(const c10::IValue& value) { return value.isScalar(); }
inline bool is_probability(const c10::IValue& value) {
  return value.isDouble() && value.toDouble() >= 0 && value.toDouble() <= 1;
}
inline bool is_index_type(at::ScalarType dtype) { return dtype == at::kLong || dtype == at::kInt; }

}  // namespace opscope::engine
