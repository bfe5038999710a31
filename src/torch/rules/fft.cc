// Shape rules of Fourier transforms, and of the linear solvers that models call. Both answer in a layout of
// their library's own: MKL's transforms keep the batch in the order of its strides and put the transformed
// dimensions innermost; LAPACK's results are column-major.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// Dimensions from the largest stride to the smallest; `keep_last` leaves the last one where it is.
void sort_by_stride(Sizes& dims, const at::Tensor& self, bool keep_last) {
  std::sort(dims.begin(), dims.end() - (keep_last ? 1 : 0),
            [&](std::int64_t a, std::int64_t b) { return self.stride(a) > self.stride(b); });
}

bool read_dims(RuleCall& call, const at::Tensor& self, Sizes& dims) {
  dims = call.ints(1);
  std::uint64_t seen = 0;
  for (const std::int64_t dim : dims) {
    if (dim < 0 || dim >= self.dim() || (seen >> dim & 1) != 0) return false;
    seen |= std::uint64_t{1} << dim;
  }
  return !dims.empty() && self.dim() < 64 && self.numel() > 0;
}

// The batch's dimensions first, then the transformed ones in their order: the order in memory.
Sizes strides_of(const at::Tensor& self, const Sizes& sizes, const Sizes& dims) {
  Sizes order;
  for (std::int64_t i = 0; i < self.dim(); ++i)
    if (std::find(dims.begin(), dims.end(), i) == dims.end()) order.push_back(i);
  sort_by_stride(order, self, false);
  order.append(dims.begin(), dims.end());
  Sizes strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[static_cast<std::size_t>(order[i])] = next;
    next *= sizes[static_cast<std::size_t>(order[i])];
  }
  return strides;
}

bool complex_to_complex(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  Sizes dims;
  if (!self || !c10::isComplexType(self->scalar_type()) || !read_dims(call, *self, dims)) return false;
  sort_by_stride(dims, *self, false);
  const Sizes sizes = sizes_of(*self);
  return call.output(sizes, strides_of(*self, sizes, dims), self->scalar_type());
}

// Half of the frequencies, the others being their conjugates.
bool real_to_complex(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  Sizes dims;
  if (!self || !call.flag(3) || !read_dims(call, *self, dims)) return false;
  if (self->scalar_type() != at::kFloat && self->scalar_type() != at::kDouble) return false;
  sort_by_stride(dims, *self, true);
  const Sizes sizes = with_size(*self, dims.back(), self->size(dims.back()) / 2 + 1);
  return call.output(sizes, strides_of(*self, sizes, dims), c10::toComplexType(self->scalar_type()));
}

bool complex_to_real(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  const std::int64_t size = call.integer(3);
  Sizes dims;
  if (!self || !c10::isComplexType(self->scalar_type()) || !read_dims(call, *self, dims)) return false;
  if (dims.size() != 1 || size < 1 || size / 2 + 1 != self->size(dims[0])) return false;
  const Sizes sizes = with_size(*self, dims[0], size);
  return call.output(sizes, strides_of(*self, sizes, dims), c10::toRealValueType(self->scalar_type()));
}

Sizes column_major_strides(const Sizes& sizes) {
  Sizes strides = engine::contiguous_strides(sizes);
  const std::size_t rank = sizes.size();
  strides[rank - 2] = 1;
  strides[rank - 1] = std::max<std::int64_t>(sizes[rank - 2], 1);
  return strides;
}

// A of n x n, B of n x k from the left or k x n from the right; batches broadcast.
bool solve_triangular(RuleCall& call) {
  const at::Tensor *a = call.tensor(0), *b = call.tensor(1);
  if (!a || !b || a->dim() < 2 || b->dim() < 2 || a->scalar_type() != b->scalar_type()) return false;
  if (a->scalar_type() != at::kFloat && a->scalar_type() != at::kDouble) return false;
  const bool left = call.flag(3);
  const std::int64_t n = a->size(-1);
  if (a->size(-2) != n || b->size(left ? -2 : -1) != n) return false;
  Sizes sizes(a->sizes().begin(), a->sizes().end() - 2);
  if (!broadcast(sizes, b->sizes().slice(0, static_cast<std::size_t>(b->dim() - 2)))) return false;
  sizes.push_back(b->size(-2));
  sizes.push_back(b->size(-1));
  return element_count(sizes) != 0 && call.output(sizes, column_major_strides(sizes), a->scalar_type());
}

constexpr ShapeRuleRow kFftRules[] = {
    {"aten::_fft_c2c", "", complex_to_complex},
    {"aten::_fft_c2r", "", complex_to_real},
    {"aten::_fft_r2c", "", real_to_complex},
    {"aten::linalg_solve_triangular", "", solve_triangular},
};

}  // namespace

std::span<const ShapeRuleRow> fft_shape_rules() { return kFftRules; }

}  // namespace opscope::engine
