// Shape rules of matrix products and attention; of Fourier transforms, and of the linear solvers that models
// call. The last two answer in a layout of their library's own: MKL's transforms keep the batch in the order
// of its strides and put the transformed dimensions innermost; LAPACK's results are column-major.
#include "torch/engine/torch_version.h"
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// The real kernels refuse mixed dtypes, and the meta kernels take them. Products of bools are refused by the
// CPU kernels.
bool multipliable(const at::Tensor* a, const at::Tensor* b) {
  if (!a || !b) return false;
  TORCH_CHECK(a->scalar_type() == b->scalar_type(), "mat1 and mat2 must have the same dtype, but got ",
              a->scalar_type(), " and ", b->scalar_type());
  return a->scalar_type() != at::kBool;
}

// All dimensions but the last two.
c10::IntArrayRef batch_of(const at::Tensor& tensor) {
  return tensor.dim() > 2 ? tensor.sizes().slice(0, static_cast<std::size_t>(tensor.dim() - 2))
                          : c10::IntArrayRef();
}

bool linear(RuleCall& call) {
  const at::Tensor *input = call.tensor(0), *weight = call.tensor(1);
  if (!multipliable(input, weight) || input->dim() == 0 || weight->dim() != 2) return false;
  if (input->size(-1) != weight->size(1)) return false;
  const Sizes sizes = with_size(*input, input->dim() - 1, weight->size(0));
  if (!call.none(2)) {
    const at::Tensor* bias = call.tensor(2);
    if (!bias || bias->dim() > 1 || bias->scalar_type() != input->scalar_type()) return false;
    if (!expands_to(bias->sizes(), sizes)) return false;
  }
  return call.output(sizes, input->scalar_type());
}

// Matrices with several batch dimensions are multiplied as ones with one; those that do not lie so are
// copied.
std::uint64_t copied_for_one_batch(const at::Tensor& matrices, const Sizes& batch) {
  const auto own = static_cast<std::size_t>(matrices.dim()) - 2, missing = batch.size() - own;
  Sizes sizes = batch, strides(batch.size(), 0);
  for (std::size_t i = 0; i < own; ++i)
    if (matrices.sizes()[i] == batch[missing + i]) strides[missing + i] = matrices.strides()[i];
  std::int64_t count = 1, all = 1;
  for (const std::int64_t size : batch) count *= size;
  for (const std::int64_t dim : {-2, -1}) {
    sizes.push_back(matrices.size(dim));
    strides.push_back(matrices.stride(dim));
  }
  for (const std::int64_t size : sizes) all *= size;
  const Sizes joined{count, matrices.size(-2), matrices.size(-1)};
  if (all == 0 || at::detail::computeStride(sizes, strides, c10::IntArrayRef(joined))) return 0;
  return static_cast<std::uint64_t>(all) * matrices.element_size();
}

bool matmul(RuleCall& call) {
  const at::Tensor *a = call.tensor(0), *b = call.tensor(1);
  if (!multipliable(a, b) || a->dim() == 0 || b->dim() == 0) return false;
  if (a->size(-1) != b->size(b->dim() == 1 ? 0 : b->dim() - 2)) return false;
  Sizes sizes = copy_of(batch_of(*a));
  if (!broadcast(sizes, batch_of(*b))) return false;
  const Sizes batch = sizes;
  if (a->dim() > 1) sizes.push_back(a->size(-2));
  if (b->dim() > 1) sizes.push_back(b->size(-1));
  if (!call.output(sizes, a->scalar_type())) return false;
  if (a->dim() > 2 && b->dim() > 2 && batch.size() > 1)
    call.allocates(copied_for_one_batch(*a, batch) + copied_for_one_batch(*b, batch));
  return true;
}

// mm, bmm, mv and dot: matmul that insists on its operands' ranks.
template <std::int64_t kFirst, std::int64_t kSecond>
bool product(RuleCall& call) {
  const at::Tensor *a = call.tensor(0), *b = call.tensor(1);
  if (!a || !b || a->dim() != kFirst || b->dim() != kSecond) return false;
  if (kFirst == 3 && a->size(0) != b->size(0)) return false;
  return matmul(call);
}

// self + a @ b, with kRank dimensions each.
template <std::int64_t kRank, bool kInPlace>
bool added_product(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *a = call.tensor(1), *b = call.tensor(2);
  if (!self || !multipliable(a, b) || a->dim() != kRank || b->dim() != kRank) return false;
  if (self->scalar_type() != a->scalar_type() || a->size(-1) != b->size(-2)) return false;
  if (kRank == 3 && a->size(0) != b->size(0)) return false;
  const Sizes sizes = with_size(*a, kRank - 1, b->size(-1));
  if (kInPlace) return self->sizes() == c10::IntArrayRef(sizes) && call.same(0);
  return expands_to(self->sizes(), sizes) && call.output(sizes, a->scalar_type());
}

bool outer(RuleCall& call) {
  const at::Tensor *a = call.tensor(0), *b = call.tensor(1);
  if (!a || !b || a->dim() != 1 || b->dim() != 1) return false;
  Promotion promotion;
  promotion.add(*a);
  promotion.add(*b);
  return call.output({a->size(0), b->size(0)}, promotion.result());
}

// input1 [*, i], input2 [*, j], weight [o, i, j].
bool bilinear(RuleCall& call) {
  const at::Tensor *a = call.tensor(0), *b = call.tensor(1), *weight = call.tensor(2);
  if (!multipliable(a, b) || !multipliable(a, weight) || weight->dim() != 3) return false;
  if (a->dim() == 0 || a->dim() != b->dim()) return false;
  if (a->sizes().slice(0, static_cast<std::size_t>(a->dim() - 1)) !=
      b->sizes().slice(0, static_cast<std::size_t>(b->dim() - 1)))
    return false;
  if (a->size(-1) != weight->size(1) || b->size(-1) != weight->size(2)) return false;
  if (const at::Tensor* bias = call.tensor(3)) {
    if (bias->scalar_type() != a->scalar_type() || bias->dim() != 1 || bias->size(0) != weight->size(0))
      return false;
  } else if (!call.none(3)) {
    return false;
  }
  return call.output(with_size(*a, a->dim() - 1, weight->size(0)), a->scalar_type());
}

struct Attention {
  const at::Tensor* query;
  const at::Tensor* key;
  const at::Tensor* value;
  const at::Tensor* mask;  // or nullptr
  bool dropout;
  bool grouped;  // key and value may have fewer heads
  Sizes batch;   // all dimensions but the last two
};

bool read_batch(Attention& a) {
  a.batch = copy_of(batch_of(*a.query));
  if (a.grouped) {
    if (a.query->dim() < 3 || a.key->dim() != a.query->dim() || a.value->dim() != a.query->dim())
      return false;
    for (const at::Tensor* tensor : {a.key, a.value}) {
      if (tensor->size(-3) == 0 || a.query->size(-3) % tensor->size(-3) != 0) return false;
      for (std::size_t i = 0; i + 1 < a.batch.size(); ++i)
        if (tensor->sizes()[i] != a.batch[i]) return false;
    }
    return a.key->size(-3) == a.value->size(-3);
  }
  for (const at::Tensor* tensor : {a.key, a.value})
    if (!broadcast(a.batch, batch_of(*tensor))) return false;
  return true;
}

bool read_attention(RuleCall& call, Attention& a) {
  a = {call.tensor(0), call.tensor(1), call.tensor(2), call.tensor(3), false, call.flag(7), {}};
  if (!multipliable(a.query, a.key) || !multipliable(a.query, a.value)) return false;
  if (!c10::isFloatingType(a.query->scalar_type()) || !call.at(4).isDouble()) return false;
  for (const at::Tensor* tensor : {a.query, a.key, a.value})
    if (tensor->dim() < 2) return false;
  if (a.query->size(-1) != a.key->size(-1) || a.key->size(-2) != a.value->size(-2)) return false;
  a.dropout = call.at(4).toDouble() > 0;
  if (!a.mask) return call.none(3) && read_batch(a);
  if (call.flag(5) || (a.mask->scalar_type() != at::kBool && a.mask->scalar_type() != a.query->scalar_type()))
    return false;
  if (!read_batch(a)) return false;
  Sizes scores = a.batch;
  scores.push_back(a.query->size(-2));
  scores.push_back(a.key->size(-2));
  return expands_to(a.mask->sizes(), scores);
}

bool fused_heads(const Attention& a) {
  const std::int64_t heads = a.key->size(1);
  if (a.value->size(1) != heads) return false;
  if (heads == a.query->size(1)) return true;
  return a.grouped ? kFusesGroupedHeads : heads == 1 && kFusesOneHeadForAll;
}

// The conditions under which the CPU takes its fused kernel, which keeps the query's layout.
bool is_fused(const Attention& a) {
  if (a.dropout || !at::globalContext().userEnabledFlashSDP()) return false;
  if (a.query->dim() != 4 || a.key->dim() != 4 || a.value->dim() != 4) return false;
  if (a.query->size(3) != a.value->size(3)) return false;
  for (const at::Tensor* tensor : {a.query, a.key, a.value})
    if (tensor->size(0) != a.query->size(0) || tensor->size(2) == 0 || tensor->stride(3) != 1) return false;
  if (!fused_heads(a)) return false;
  return !a.mask || (!a.mask->requires_grad() && (a.mask->dim() == 2 || a.mask->dim() == 4));
}

bool attention(RuleCall& call) {
  Attention a;
  if (!read_attention(call, a)) return false;
  Sizes sizes = a.batch;
  sizes.push_back(a.query->size(-2));
  sizes.push_back(a.value->size(-1));
  if (is_fused(a)) return call.output(sizes, preserved_strides(operand(*a.query)), a.query->scalar_type());
  return call.output(sizes, a.query->scalar_type());
}

// Products of groups of rows, as mixtures of experts use them. Groups are a leading dimension, or row ranges
// of a matrix given by `offsets`. Rows start at multiples of 16 bytes, else the kernel refuses.
bool grouped_product(RuleCall& call) {
  const auto* a = call.tensor(0);
  const auto* b = call.tensor(1);
  if (!a || !b || a->dim() < 2 || a->dim() > 3 || b->dim() < 2 || b->dim() > 3 || !call.none(3)) return false;
  if (a->scalar_type() != b->scalar_type() || a->size(-1) != b->size(-2)) return false;
  const auto* offsets = call.tensor(2);
  if ((a->dim() == 3 && b->dim() == 3) == (offsets != nullptr)) return false;
  const auto type = call.dtype(4, a->scalar_type());
  const auto row_bytes = static_cast<std::size_t>(b->size(-1)) * c10::elementSize(type);
  if (row_bytes % 16 != 0) return false;
  Sizes sizes{a->size(-2), b->size(-1)};
  if (a->dim() == b->dim()) sizes.insert(sizes.begin(), a->dim() == 3 ? a->size(0) : offsets->size(0));
  if (a->dim() == 3 && b->dim() == 3 && a->size(0) != b->size(0)) return false;
  if (a->dim() != b->dim() && offsets->size(0) != (a->dim() == 3 ? a : b)->size(0)) return false;
  return call.output(sizes, type);
}

// Dimensions from the largest stride to the smallest; `keep_last` leaves the last one where it is.
void sort_by_stride(Sizes& dims, const at::Tensor& self, bool keep_last) {
  std::sort(dims.begin(), dims.end() - (keep_last ? 1 : 0),
            [&](std::int64_t a, std::int64_t b) { return self.stride(a) > self.stride(b); });
}

bool read_dims(RuleCall& call, const at::Tensor& self, Sizes& dims) {
  dims = call.ints(1);
  std::uint64_t seen = 0;
  if (dims.empty() || any_negative(dims) || self.dim() == 0 || self.numel() == 0) return false;
  return mark_dims(dims, self.dim(), seen);
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
  Sizes sizes = copy_of(batch_of(*a));
  if (!broadcast(sizes, batch_of(*b))) return false;
  sizes.push_back(b->size(-2));
  sizes.push_back(b->size(-1));
  return element_count(sizes) != 0 && call.output(sizes, column_major_strides(sizes), a->scalar_type());
}

constexpr ShapeRuleRow kMatmulRules[] = {
    {"aten::_fft_c2c", "", complex_to_complex},
    {"aten::_fft_c2r", "", complex_to_real},
    {"aten::_fft_r2c", "", real_to_complex},
    {"aten::_grouped_mm", "", grouped_product},
    {"aten::addmm", "", added_product<2, false>, added_product<2, true>},
    {"aten::baddbmm", "", added_product<3, false>, added_product<3, true>},
    {"aten::bilinear", "", bilinear},
    {"aten::bmm", "", product<3, 3>},
    {"aten::dot", "", product<1, 1>},
    {"aten::linalg_solve_triangular", "", solve_triangular},
    {"aten::linear", "", linear},
    {"aten::matmul", "", matmul},
    {"aten::mm", "", product<2, 2>},
    {"aten::mv", "", product<2, 1>},
    {"aten::outer", "", outer},
    {"aten::scaled_dot_product_attention", "", attention},
};

}  // namespace

std::span<const ShapeRuleRow> matmul_shape_rules() { return kMatmulRules; }

}  // namespace opscope::engine
