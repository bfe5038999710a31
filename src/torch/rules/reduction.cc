// Shape rules of reductions, scans and sorting. Reductions answer in contiguous memory.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

enum class Output { kSame, kSum, kMean, kBool, kFloating, kIndex };

// The dtype of a reduction's result; false where the CPU kernel does not take the input's.
bool result_dtype(Output output, at::ScalarType input, at::ScalarType asked, at::ScalarType& dtype) {
  const bool given = asked != at::ScalarType::Undefined;
  const at::ScalarType type = given ? asked : input;
  switch (output) {
    case Output::kSame:
      dtype = input;
      return !c10::isComplexType(input);
    case Output::kSum:
      dtype = !given && c10::isIntegralType(input, true) ? at::kLong : type;
      return true;
    case Output::kMean:
      dtype = type;
      return c10::isFloatingType(type) || c10::isComplexType(type);
    case Output::kBool:
      dtype = input == at::kByte ? at::kByte : at::kBool;
      return true;
    case Output::kFloating:
      dtype = type;
      return c10::isFloatingType(input) && c10::isFloatingType(type);
    case Output::kIndex:
      dtype = at::kLong;
      return !c10::isComplexType(input) && input != at::kBool;
  }
  return false;
}

Sizes reduced_sizes(const at::Tensor& self, std::uint64_t reduced, bool keepdim) {
  Sizes sizes;
  for (std::int64_t i = 0; i < self.dim(); ++i) {
    const bool gone = (reduced >> i & 1) != 0;
    if (gone && keepdim) sizes.push_back(1);
    if (!gone) sizes.push_back(self.size(i));
  }
  return sizes;
}

constexpr std::size_t kAbsent = ~std::size_t{0};

struct Reduction {
  Output output;
  // Which arguments these are. All dimensions are reduced where none says which.
  std::size_t dims = kAbsent, keepdim = kAbsent, dtype = kAbsent;
  int results = 1;
  bool needs_elements = false;  // no identity: an empty reduction is an error
  bool indices = false;         // a second result
  bool list_only = false;       // an empty list of dimensions is not "all of them"
};

template <Reduction kOp>
bool reduce(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self || self->dim() > 63) return false;
  auto asked = at::ScalarType::Undefined;
  if (kOp.dtype != kAbsent) asked = call.dtype(kOp.dtype, asked);
  at::ScalarType dtype;
  if (!result_dtype(kOp.output, self->scalar_type(), asked, dtype)) return false;
  Sizes dims;
  if (kOp.dims != kAbsent) {
    dims = call.ints(kOp.dims);
    if (kOp.list_only && dims.empty() && !call.none(kOp.dims)) return false;
  }
  std::uint64_t reduced = dims.empty() ? ~std::uint64_t{0} : 0;  // all of them for None and the empty list
  if (!mark_dims(dims, self->dim(), reduced)) return false;
  if (kOp.needs_elements && self->numel() == 0) return false;
  const Sizes sizes = reduced_sizes(*self, reduced, kOp.keepdim != kAbsent && call.flag(kOp.keepdim));
  for (int i = 0; i < kOp.results; ++i) call.output(sizes, dtype);
  // Of halves the CPU's mean is that of a copy in float32.
  if (kOp.output == Output::kMean && call.device().is_cpu() && (dtype == at::kHalf || dtype == at::kBFloat16))
    call.allocates(static_cast<std::uint64_t>(self->numel()) * sizeof(float));
  return !kOp.indices || call.output(sizes, at::kLong);
}

constexpr Reduction kSumAll{.output = Output::kSum, .dtype = 1};
constexpr Reduction kSumDims{.output = Output::kSum, .dims = 1, .keepdim = 2, .dtype = 3};
constexpr Reduction kMeanAll{.output = Output::kMean, .dtype = 1};
constexpr Reduction kMeanDims{.output = Output::kMean, .dims = 1, .keepdim = 2, .dtype = 3};
constexpr Reduction kExtremeAll{.output = Output::kSame, .needs_elements = true};
constexpr Reduction kExtremeDims{.output = Output::kSame, .dims = 1, .keepdim = 2, .needs_elements = true};
constexpr Reduction kExtremeIndex{
    .output = Output::kSame, .dims = 1, .keepdim = 2, .needs_elements = true, .indices = true};
constexpr Reduction kWhere{.output = Output::kIndex, .dims = 1, .keepdim = 2, .needs_elements = true};
constexpr Reduction kLogic{.output = Output::kBool};
constexpr Reduction kLogicDims{.output = Output::kBool, .dims = 1, .keepdim = 2, .list_only = true};
constexpr Reduction kSpread{.output = Output::kFloating};
constexpr Reduction kSpreadDims{.output = Output::kFloating, .dims = 1, .keepdim = 3};
constexpr Reduction kSpreadMean{.output = Output::kFloating, .results = 2};
constexpr Reduction kSpreadMeanDims{.output = Output::kFloating, .dims = 1, .keepdim = 3, .results = 2};
constexpr Reduction kLogSumExp{.output = Output::kFloating, .dims = 1, .keepdim = 2};
constexpr Reduction kNormAll{.output = Output::kFloating, .needs_elements = true};
constexpr Reduction kNormDims{.output = Output::kFloating, .dims = 2, .keepdim = 3, .needs_elements = true};
constexpr Reduction kNormDtype{
    .output = Output::kFloating, .dims = 2, .keepdim = 3, .dtype = 4, .needs_elements = true};

bool reduce_bools(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  return self && self->scalar_type() == at::kBool && reduce<kLogic>(call);
}

bool scan(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  std::int64_t dim = call.integer(1);
  if (!self || !call.at(1).isInt() || !wrap_dim(dim, self->dim())) return false;
  at::ScalarType dtype;
  if (!result_dtype(Output::kSum, self->scalar_type(), call.dtype(2, at::ScalarType::Undefined), dtype))
    return false;
  return call.output(self->sizes(), dtype);
}

bool topk(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  const std::int64_t k = call.integer(1, -1);
  std::int64_t dim = call.integer(2, -1);
  if (!self || !wrap_dim(dim, self->dim()) || c10::isComplexType(self->scalar_type())) return false;
  if (k < 0 || k > (self->dim() == 0 ? 1 : self->size(dim))) return false;
  Sizes sizes = sizes_of(*self);
  if (!sizes.empty()) sizes[static_cast<std::size_t>(dim)] = k;
  call.output(sizes, self->scalar_type());
  return call.output(sizes, at::kLong);
}

template <std::size_t kDim, bool kValues>
bool sort(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  std::int64_t dim = call.integer(kDim, -1);
  if (!self || !wrap_dim(dim, self->dim()) || c10::isComplexType(self->scalar_type())) return false;
  const Sizes strides = preserved_strides(operand(*self));
  if (kValues) call.output(self->sizes(), strides, self->scalar_type());
  return call.output(self->sizes(), strides, at::kLong);
}

bool cosine_similarity(RuleCall& call) {
  const at::Tensor *a = call.floats(0), *b = call.tensor(1);
  if (!a || !b || a->scalar_type() != b->scalar_type()) return false;
  Sizes sizes = sizes_of(*a);
  std::int64_t dim = call.integer(2, 1);
  if (!broadcast(sizes, b->sizes()) || sizes.empty()) return false;
  if (!wrap_dim(dim, static_cast<std::int64_t>(sizes.size()))) return false;
  sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim));
  return call.output(sizes, a->scalar_type());
}

// A loss for each pair of elements, folded into one unless `reduction` is 0.
bool pair_loss(RuleCall& call) {
  const at::Tensor *self = call.floats(0), *target = call.tensor(1);
  if (!self || !target || self->scalar_type() != target->scalar_type() || self->sizes() != target->sizes())
    return false;
  if (call.integer(2, 1) != 0) return call.output({}, self->scalar_type());
  return emit_iterated(call, {operand(*self), operand(*target)}, self->scalar_type());
}

constexpr ShapeRuleRow kReductionRules[] = {
    {"aten::_is_all_true aten::_is_any_true", "", reduce_bools},
    {"aten::all aten::any", "", reduce<kLogic>},
    {"aten::all aten::any", "dim dims", reduce<kLogicDims>},
    {"aten::amax aten::amin", "", reduce<kExtremeDims>},
    {"aten::argmax aten::argmin", "", reduce<kWhere>},
    {"aten::argsort", "", sort<1, false>},
    {"aten::argsort", "stable", sort<2, false>},
    {"aten::cosine_similarity", "", cosine_similarity},
    {"aten::cumprod aten::cumsum", "", scan},
    {"aten::linalg_vector_norm", "", reduce<kNormDtype>},
    {"aten::logsumexp", "", reduce<kLogSumExp>},
    {"aten::max aten::min", "", reduce<kExtremeAll>},
    {"aten::max aten::min", "dim", reduce<kExtremeIndex>},
    {"aten::mean", "", reduce<kMeanAll>},
    {"aten::mean", "dim", reduce<kMeanDims>},
    {"aten::mse_loss aten::smooth_l1_loss", "", pair_loss},
    {"aten::norm", "Scalar", reduce<kNormAll>},
    {"aten::norm", "ScalarOpt_dim", reduce<kNormDims>},
    {"aten::norm", "ScalarOpt_dim_dtype", reduce<kNormDtype>},
    {"aten::prod aten::sum", "", reduce<kSumAll>},
    {"aten::prod", "dim_int", reduce<kSumDims>},
    {"aten::sort", "", sort<1, true>},
    {"aten::sort", "stable", sort<2, true>},
    {"aten::std aten::var", "", reduce<kSpread>},
    {"aten::std aten::var", "correction dim", reduce<kSpreadDims>},
    {"aten::std_mean aten::var_mean", "", reduce<kSpreadMean>},
    {"aten::std_mean aten::var_mean", "correction dim", reduce<kSpreadMeanDims>},
    {"aten::sum", "dim_IntList", reduce<kSumDims>},
    {"aten::topk", "", topk},
};

}  // namespace

std::span<const ShapeRuleRow> reduction_shape_rules() { return kReductionRules; }

}  // namespace opscope::engine
