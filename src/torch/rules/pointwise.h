// The one rule behind all pointwise ops: broadcast the operands, promote their types, lay the result out as
// TensorIterator does. What differs between ops is a `Pointwise` value.
#pragma once

#include "torch/rules/layout.h"

namespace opscope::engine {

enum class Result { kPromoted, kFloat, kBool };
// Operand types that the CPU kernels take; what is outside is left to PyTorch, which mostly raises.
enum class Domain { kAny, kNoBool, kReal, kRealNoBool, kFloating, kFloatingOrComplex, kIntegral };

struct Pointwise {
  std::size_t operands = 1;  // leading arguments that are tensors, or numbers as tensors without dimensions
  std::size_t bounds = 0;    // numbers after them that take part in promotion, not in the layout
  Result result = Result::kPromoted;
  Domain domain = Domain::kAny;
  bool one_dtype = false;  // no promotion: tensors must agree
  bool reversed = false;   // the kernel takes its operands in the other order: rsub
  bool like_self = false;  // written into empty_like(self), not into what TensorIterator allocates
};

bool accepts(Domain domain, at::ScalarType dtype);
bool run_pointwise(RuleCall& call, const Pointwise& op, bool in_place);
// True where an op may write into `self` a result of this shape and type. Raises PyTorch's own error where
// elements of `self` share memory, because its meta kernels do not.
bool can_write(const at::Tensor& self, c10::IntArrayRef sizes, at::ScalarType dtype);

template <Pointwise kOp, bool kInPlace = false>
bool pointwise(RuleCall& call) {
  return run_pointwise(call, kOp, kInPlace);
}

// The row of ops that also exist in place.
template <Pointwise kOp>
constexpr ShapeRuleRow in_both(std::string_view names, std::string_view overloads = kAnyOverload) {
  return {names, overloads, pointwise<kOp>, pointwise<kOp, true>};
}

}  // namespace opscope::engine
