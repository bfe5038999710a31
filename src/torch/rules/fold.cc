// Shape rules of ops that write or add a source into places that an index, a mask, a window or a value names.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// A source with one slice of self for each element of the index.
bool fits_slices(const at::Tensor& self, std::int64_t dim, const at::Tensor& index,
                 const at::Tensor& source) {
  if (source.dim() != self.dim() || source.size(dim) != index.numel()) return false;
  for (std::int64_t i = 0; i < self.dim(); ++i)
    if (i != dim && source.size(i) != self.size(i)) return false;
  return true;
}

// index_add and index_copy.
template <bool kInPlace>
bool index_fold(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *index = call.tensor(2), *source = call.tensor(3);
  std::int64_t dim = call.integer(1);
  if (!self || !index || !source || !call.at(1).isInt() || self->dim() == 0 || index->dim() != 1)
    return false;
  if (!wrap_dim(dim, self->dim()) || index->scalar_type() != at::kLong) return false;
  if (self->scalar_type() != source->scalar_type() || !fits_slices(*self, dim, *index, *source)) return false;
  if (self->numel() == 0) return false;
  return kInPlace ? call.same(0) : call.output(self->sizes(), self->scalar_type());
}

template <bool kInPlace>
bool masked_scatter(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *mask = call.tensor(1), *source = call.tensor(2);
  if (!self || !mask || !source || mask->scalar_type() != at::kBool) return false;
  if (self->scalar_type() != source->scalar_type() || source->numel() == 0) return false;
  if (kInPlace) {
    return expands_to(mask->sizes(), self->sizes()) && call.same(0);
  }
  Sizes sizes = sizes_of(*self);
  return broadcast(sizes, mask->sizes()) && call.output(sizes, self->scalar_type());
}

bool histc(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  const std::int64_t bins = call.integer(1);
  if (!self || bins < 1 || !is_number(call.at(2)) || !is_number(call.at(3))) return false;
  if (self->scalar_type() != at::kFloat && self->scalar_type() != at::kDouble) return false;
  if (call.at(2).toScalar().toDouble() > call.at(3).toScalar().toDouble()) return false;
  return call.output({bins}, self->scalar_type());
}

// How many windows fit along one dimension.
std::int64_t windows(std::int64_t size, std::int64_t kernel, std::int64_t dilation, std::int64_t padding,
                     std::int64_t stride) {
  const std::int64_t room = size + 2 * padding - dilation * (kernel - 1) - 1;
  return room < 0 ? 0 : room / stride + 1;
}

bool read_pair(RuleCall& call, std::size_t i, std::int64_t least, Sizes& pair) {
  pair = call.ints(i);
  return pair.size() == 2 && pair[0] >= least && pair[1] >= least;
}

// Columns of windows, [batch, channels * kernel, windows], folded back into images.
bool col2im(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  Sizes output, kernel, dilation, padding, stride;
  if (!self || (self->dim() != 2 && self->dim() != 3) || self->numel() == 0) return false;
  if (!read_pair(call, 1, 1, output) || !read_pair(call, 2, 1, kernel) || !read_pair(call, 3, 1, dilation) ||
      !read_pair(call, 4, 0, padding) || !read_pair(call, 5, 1, stride))
    return false;
  std::int64_t places = 1;
  for (std::size_t d = 0; d < 2; ++d)
    places *= windows(output[d], kernel[d], dilation[d], padding[d], stride[d]);
  const std::int64_t taps = kernel[0] * kernel[1];
  if (places != self->size(-1) || self->size(-2) % taps != 0) return false;
  Sizes sizes{self->size(-2) / taps, output[0], output[1]};
  if (self->dim() == 3) sizes.insert(sizes.begin(), self->size(0));
  return call.output(sizes, self->scalar_type());
}

constexpr ShapeRuleRow kFoldRules[] = {
    {"aten::col2im", "", col2im},
    {"aten::histc", "", histc},
    {"aten::index_add", "", index_fold<false>},
    {"aten::index_add_", "", index_fold<true>},
    {"aten::index_copy", "", index_fold<false>},
    {"aten::index_copy_", "", index_fold<true>},
    {"aten::masked_scatter", "", masked_scatter<false>},
    {"aten::masked_scatter_", "", masked_scatter<true>},
};

}  // namespace

std::span<const ShapeRuleRow> fold_shape_rules() { return kFoldRules; }

}  // namespace opscope::engine
