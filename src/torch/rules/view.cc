// Shape rules of views: the same storage, seen with other sizes and strides; some come as a list (chunk,
// split, unbind).
#include <numeric>

#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// Given as numbers, or as another tensor's; nullopt for neither.
std::optional<Sizes> read_sizes(RuleCall& call, std::size_t i) {
  if (call.at(i).isList()) return call.ints(i);
  const at::Tensor* other = call.tensor(i);
  return other ? std::optional(sizes_of(*other)) : std::nullopt;
}

void erase(Sizes& values, std::int64_t i) { values.erase(values.begin() + static_cast<std::ptrdiff_t>(i)); }

void insert(Sizes& values, std::int64_t i, std::int64_t value) {
  values.insert(values.begin() + static_cast<std::ptrdiff_t>(i), value);
}

bool emit_view(RuleCall& call, const at::Tensor& self, Sizes sizes) {
  Sizes strides;
  if (!infer_sizes(sizes, self.numel()) || !view_strides(operand(self), sizes, strides)) return false;
  return call.view(self, sizes, strides, self.storage_offset());
}

// A view where the strides allow it, else a copy.
bool emit_reshape(RuleCall& call, const at::Tensor& self, Sizes sizes) {
  if (!infer_sizes(sizes, self.numel())) return false;
  return emit_view(call, self, sizes) || call.output(sizes, self.scalar_type());
}

// view, reshape and expand, and each with _as.
template <bool kEmit(RuleCall&, const at::Tensor&, Sizes)>
bool resized(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  const auto sizes = read_sizes(call, 1);
  return self && sizes && kEmit(call, *self, *sizes);
}

bool flatten(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  std::int64_t start = call.integer(1);
  std::int64_t end = call.integer(2, -1);
  if (!self || !wrap_dim(start, self->dim()) || !wrap_dim(end, self->dim()) || start > end) return false;
  if (self->dim() == 0) return emit_reshape(call, *self, {1});
  if (start == end) return call.same(0);
  Sizes sizes;
  std::int64_t merged = 1;
  for (std::int64_t i = 0; i < self->dim(); ++i) {
    if (i < start || i > end) sizes.push_back(self->size(i));
    if (i >= start && i <= end) merged *= self->size(i);
    if (i == end) sizes.push_back(merged);
  }
  return emit_reshape(call, *self, sizes);
}

bool unflatten(RuleCall& call) {
  const auto [self, dim] = read_along(call, 1);
  Sizes parts = call.ints(2);
  if (!self || parts.empty() || !infer_sizes(parts, self->size(dim))) return false;
  Sizes sizes = sizes_of(*self);
  erase(sizes, dim);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim), parts.begin(), parts.end());
  return emit_view(call, *self, sizes);
}

bool emit_permuted(RuleCall& call, const at::Tensor& self, const Sizes& order) {
  std::uint64_t seen = 0;
  if (order.size() != static_cast<std::size_t>(self.dim()) || !mark_dims(order, self.dim(), seen))
    return false;
  Sizes sizes, strides;
  for (const std::int64_t dim : order) {
    sizes.push_back(self.size(dim));
    strides.push_back(self.stride(dim));
  }
  return call.view(self, sizes, strides, self.storage_offset());
}

bool permute(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  return self && emit_permuted(call, *self, call.ints(1));
}

bool swap_dims(RuleCall& call, const at::Tensor& self, std::int64_t first, std::int64_t second) {
  if (!wrap_dim(first, self.dim()) || !wrap_dim(second, self.dim())) return false;
  Sizes sizes = sizes_of(self), strides = copy_of(self.strides());
  if (self.dim() > 0) {
    std::swap(sizes[static_cast<std::size_t>(first)], sizes[static_cast<std::size_t>(second)]);
    std::swap(strides[static_cast<std::size_t>(first)], strides[static_cast<std::size_t>(second)]);
  }
  return call.view(self, sizes, strides, self.storage_offset());
}

bool transpose(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self || !call.at(1).isInt() || !call.at(2).isInt()) return false;
  return swap_dims(call, *self, call.integer(1), call.integer(2));
}

bool t(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self || self->dim() > 2) return false;
  return swap_dims(call, *self, 0, self->dim() < 2 ? 0 : 1);
}

bool matrix_transpose(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  return self && self->dim() >= 2 && swap_dims(call, *self, -2, -1);
}

bool movedim(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  Sizes from = call.ints(1), to = call.ints(2);
  if (!self || from.size() != 1 || to.size() != 1 || self->dim() == 0) return false;
  if (!wrap_dim(from[0], self->dim()) || !wrap_dim(to[0], self->dim())) return false;
  Sizes order;
  for (std::int64_t i = 0; i < self->dim(); ++i)
    if (i != from[0]) order.push_back(i);
  insert(order, to[0], from[0]);
  return emit_permuted(call, *self, order);
}

bool emit_slice(RuleCall& call, const at::Tensor& self, std::int64_t dim, std::int64_t start,
                std::int64_t length, std::int64_t step) {
  Sizes sizes = sizes_of(self), strides = copy_of(self.strides());
  const auto d = static_cast<std::size_t>(dim);
  const std::int64_t offset = self.storage_offset() + start * strides[d];
  sizes[d] = length;
  strides[d] *= step;
  return call.view(self, sizes, strides, offset);
}

bool slice(RuleCall& call) {
  const auto [self, dim] = read_along(call, 1);
  const std::int64_t step = call.integer(4, 1);
  if (!self || step < 1) return false;
  const std::int64_t size = self->size(dim);
  const auto bounded = [size](std::int64_t at) {
    return std::clamp<std::int64_t>(at < 0 ? at + size : at, 0, size);
  };
  if ((!call.none(2) && !call.at(2).isInt()) || (!call.none(3) && !call.at(3).isInt())) return false;
  const std::int64_t start = call.none(2) ? 0 : bounded(call.integer(2));
  const std::int64_t end = std::max(start, call.none(3) ? size : bounded(call.integer(3)));
  return emit_slice(call, *self, dim, start, (end - start + step - 1) / step, step);
}

bool narrow(RuleCall& call) {
  const auto [self, dim] = read_along(call, 1);
  std::int64_t start = call.integer(2);
  const std::int64_t length = call.integer(3, -1);
  if (!self || !call.at(2).isInt()) return false;
  const std::int64_t size = self->size(dim);
  if (start < -size || start > size) return false;
  if (start < 0) start += size;
  if (length < 0 || start > size - length) return false;
  return emit_slice(call, *self, dim, start, length, 1);
}

bool select(RuleCall& call) {
  const auto [self, dim] = read_along(call, 1);
  std::int64_t index = call.integer(2);
  if (!self || !call.at(2).isInt()) return false;
  const std::int64_t size = self->size(dim);
  if (index < -size || index >= size) return false;
  if (index < 0) index += size;
  Sizes sizes = sizes_of(*self), strides = copy_of(self->strides());
  const std::int64_t offset = self->storage_offset() + index * strides[static_cast<std::size_t>(dim)];
  erase(sizes, dim);
  erase(strides, dim);
  return call.view(*self, sizes, strides, offset);
}

bool unsqueeze(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  std::int64_t dim = call.integer(1);
  if (!self || !wrap_dim(dim, self->dim() + 1)) return false;
  Sizes sizes = sizes_of(*self), strides = copy_of(self->strides());
  insert(strides, dim, dim == self->dim() ? 1 : self->size(dim) * self->stride(dim));
  insert(sizes, dim, 1);
  return call.view(*self, sizes, strides, self->storage_offset());
}

// squeeze, squeeze.dim and squeeze.dims: dimensions of another size than 1 stay.
bool squeeze(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self || self->dim() > 63) return false;
  std::uint64_t chosen = call.size() == 1 ? ~std::uint64_t{0} : 0;
  if (call.size() > 1 && !mark_dims(call.ints(1), self->dim(), chosen)) return false;
  Sizes sizes, strides;
  for (std::int64_t i = 0; i < self->dim(); ++i) {
    if (self->size(i) == 1 && (chosen >> i & 1) != 0) continue;
    sizes.push_back(self->size(i));
    strides.push_back(self->stride(i));
  }
  return call.view(*self, sizes, strides, self->storage_offset());
}

// Raises PyTorch's own error where `self` does not widen to `sizes`.
bool emit_expanded(RuleCall& call, const at::Tensor& self, Sizes sizes) {
  if (sizes.size() < static_cast<std::size_t>(self.dim())) return false;
  const auto wide = at::inferExpandGeometry_dimvector(self.sizes(), self.strides(), sizes);
  return !any_negative(wide.sizes) && call.view(self, wide.sizes, wide.strides, self.storage_offset());
}

bool alias(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  return self && call.view(*self, self->sizes(), self->strides(), self->storage_offset());
}

// Windows of `size`, `step` apart, along one dimension, as a new last one.
bool unfold(RuleCall& call) {
  const auto [self, dim] = read_along(call, 1);
  const std::int64_t size = call.integer(2, -1);
  const std::int64_t step = call.integer(3);
  if (!self || step < 1 || size < 0 || size > self->size(dim)) return false;
  Sizes sizes = sizes_of(*self), strides = copy_of(self->strides());
  const auto d = static_cast<std::size_t>(dim);
  sizes.push_back(size);
  strides.push_back(strides[d]);
  sizes[d] = (sizes[d] - size) / step + 1;
  strides[d] *= step;
  return call.view(*self, sizes, strides, self->storage_offset());
}

// Views of one dimension of a tensor, one after another.
class Parts {
 public:
  Parts(RuleCall& call, const at::Tensor& self, std::int64_t dim)
      : call_(call),
        self_(self),
        dim_(static_cast<std::size_t>(dim)),
        offset_(self.storage_offset()),
        sizes_(sizes_of(self)),
        strides_(copy_of(self.strides())) {}

  void add(std::int64_t size) {
    sizes_[dim_] = size;
    // An empty part past the end starts at the end.
    list_.push_back(call_.make_view(self_, sizes_, strides_, offset_));
    offset_ += size * strides_[dim_];
  }
  // A part of size one without its dimension.
  void add_slice() {
    Sizes sizes = sizes_, strides = strides_;
    sizes.erase(sizes.begin() + static_cast<std::ptrdiff_t>(dim_));
    strides.erase(strides.begin() + static_cast<std::ptrdiff_t>(dim_));
    list_.push_back(call_.make_view(self_, sizes, strides, offset_));
    offset_ += strides_[dim_];
  }
  bool finish() { return call_.push(std::move(list_)); }

 private:
  RuleCall& call_;
  const at::Tensor& self_;
  std::size_t dim_;
  std::int64_t offset_;
  Sizes sizes_, strides_;
  c10::List<at::Tensor> list_;
};

bool emit_even(RuleCall& call, const at::Tensor& self, std::int64_t dim, std::int64_t size) {
  const std::int64_t total = self.size(dim);
  if (size < 1) return false;
  Parts parts(call, self, dim);
  if (total == 0) parts.add(0);
  for (std::int64_t start = 0; start < total; start += size) parts.add(std::min(size, total - start));
  return parts.finish();
}

bool chunk(RuleCall& call) {
  const auto [self, dim] = read_along(call, 2);
  const std::int64_t chunks = call.integer(1);
  if (!self || chunks < 1 || self->size(dim) == 0) return false;
  return emit_even(call, *self, dim, (self->size(dim) + chunks - 1) / chunks);
}

bool split(RuleCall& call) {
  const auto [self, dim] = read_along(call, 2);
  return self && emit_even(call, *self, dim, call.integer(1));
}

bool split_with_sizes(RuleCall& call) {
  const auto [self, dim] = read_along(call, 2);
  if (!self) return false;
  const Sizes sizes = call.ints(1);
  const auto total = std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0});
  if (any_negative(sizes) || total != self->size(dim)) return false;
  Parts parts(call, *self, dim);
  for (const std::int64_t size : sizes) parts.add(size);
  return parts.finish();
}

bool unbind(RuleCall& call) {
  const auto [self, dim] = read_along(call, 1);
  if (!self) return false;
  Parts parts(call, *self, dim);
  for (std::int64_t i = 0; i < self->size(dim); ++i) parts.add_slice();
  return parts.finish();
}

constexpr ShapeRuleRow kViewRules[] = {
    {"aten::_unsafe_view aten::view aten::view_as", "", resized<emit_view>},
    {"aten::alias aten::detach", "", alias},
    {"aten::chunk", "", chunk},
    {"aten::expand aten::expand_as", "", resized<emit_expanded>},
    {"aten::flatten", "using_ints", flatten},
    {"aten::mT", "", matrix_transpose},
    {"aten::movedim", "int intlist", movedim},
    {"aten::narrow", "", narrow},
    {"aten::numpy_T aten::t", "", t},
    {"aten::permute", "", permute},
    {"aten::reshape aten::reshape_as", "", resized<emit_reshape>},
    {"aten::select", "int", select},
    {"aten::slice", "Tensor", slice},
    {"aten::split", "Tensor", split},
    {"aten::split", "sizes", split_with_sizes},
    {"aten::split_with_sizes", "", split_with_sizes},
    {"aten::squeeze", "", squeeze},
    {"aten::squeeze", "dim dims", squeeze},
    {"aten::swapaxes aten::swapdims", "", transpose},
    {"aten::transpose", "int", transpose},
    {"aten::unbind", "int", unbind},
    {"aten::unflatten", "int", unflatten},
    {"aten::unfold", "", unfold},
    {"aten::unsqueeze", "", unsqueeze},
};

}  // namespace

std::span<const ShapeRuleRow> view_shape_rules() { return kViewRules; }

}  // namespace opscope::engine
