// Shape rules of indexing, gathering and scattering, and of ops that write or add a source into places that
// an index, a mask or a value names.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// An index as advanced indexing sees it, masks already replaced by the positions of their true elements.
struct Index {
  bool defined = false;
  Sizes sizes, strides;
};

struct Indexing {
  const at::Tensor* self = nullptr;
  c10::SmallVector<Index, 6> indices;  // one for each dimension of self
  Sizes shape;                         // of the broadcast indices
};

// How many elements of a mask are true; where its values are not known, all of them may be.
bool count_true(RuleCall& call, const at::Tensor& mask, std::int64_t& count) {
  if (call.is_unknown(mask)) {
    count = call.bound("nonzero", mask.numel());
    return true;
  }
  const at::Tensor known = call.known_value(mask);
  if (!known.defined() || !known.is_cpu() || !known.is_contiguous()) return false;
  const auto* data = static_cast<const std::uint8_t*>(known.const_data_ptr());
  count = 0;
  for (std::int64_t i = 0; i < known.numel(); ++i) count += data[i] != 0 ? 1 : 0;
  return true;
}

bool add_mask(RuleCall& call, const at::Tensor& mask, Indexing& indexing) {
  const std::size_t first = indexing.indices.size();
  if (mask.dim() == 0 ||
      first + static_cast<std::size_t>(mask.dim()) > static_cast<std::size_t>(indexing.self->dim()))
    return false;
  for (std::int64_t i = 0; i < mask.dim(); ++i)
    if (mask.size(i) != indexing.self->size(static_cast<std::int64_t>(first) + i)) return false;
  std::int64_t count;
  if (!count_true(call, mask, count)) return false;
  for (std::int64_t i = 0; i < mask.dim(); ++i) indexing.indices.push_back({true, {count}, {mask.dim()}});
  return true;
}

bool read_indices(RuleCall& call, Indexing& indexing) {
  indexing.self = call.tensor(0);
  if (!indexing.self || !call.at(1).isList()) return false;
  for (const c10::IValue& item : call.at(1).toListRef()) {
    if (item.isNone() || !item.toTensor().defined()) {
      indexing.indices.push_back({});
      continue;
    }
    const at::Tensor* index = call.plain(item.toTensor());
    if (!index) return false;
    if (index->scalar_type() == at::kBool) {
      if (!add_mask(call, *index, indexing)) return false;
    } else if (is_index_type(index->scalar_type())) {
      indexing.indices.push_back({true, sizes_of(*index), copy_of(index->strides())});
    } else {
      return false;
    }
  }
  if (indexing.indices.size() > static_cast<std::size_t>(indexing.self->dim())) return false;
  indexing.indices.resize(static_cast<std::size_t>(indexing.self->dim()));
  return true;
}

// Widens every index to the common shape, as expand does.
bool broadcast_indices(Indexing& indexing) {
  bool any = false;
  for (const Index& index : indexing.indices) {
    if (index.defined && !broadcast(indexing.shape, index.sizes)) return false;
    any = any || index.defined;
  }
  for (Index& index : indexing.indices) {
    if (!index.defined) continue;
    const auto widened = at::inferExpandGeometry_dimvector(index.sizes, index.strides, indexing.shape);
    index.strides = copy_of(widened.strides);
    index.sizes = indexing.shape;
  }
  return any;
}

// The dimensions of self in the order in which indexing sees them: indexed ones that are not neighbours come
// first. Returns how many others precede them.
std::size_t order_dims(const Indexing& indexing, Sizes& order) {
  const std::size_t rank = indexing.indices.size();
  std::size_t first = rank, last = 0, count = 0;
  for (std::size_t i = 0; i < rank; ++i) {
    if (!indexing.indices[i].defined) continue;
    first = std::min(first, i);
    last = i;
    ++count;
  }
  const bool adjacent = last - first + 1 == count;
  for (std::size_t i = 0; i < rank; ++i)
    if (adjacent || indexing.indices[i].defined) order.push_back(static_cast<std::int64_t>(i));
  for (std::size_t i = 0; i < rank; ++i)
    if (!adjacent && !indexing.indices[i].defined) order.push_back(static_cast<std::int64_t>(i));
  return adjacent ? first : 0;
}

// The source with its indexed dimensions replaced by the indices' shape, at stride 0.
bool restride(const Indexing& indexing, const Sizes& order, std::size_t before, Layout& source) {
  std::size_t position = 0;
  for (const std::int64_t dim : order) {
    const auto d = static_cast<std::size_t>(dim);
    if (position++ == before) {
      source.sizes.append(indexing.shape.begin(), indexing.shape.end());
      source.strides.append(indexing.shape.size(), 0);
    }
    if (!indexing.indices[d].defined) {
      source.sizes.push_back(indexing.self->sizes()[d]);
      source.strides.push_back(indexing.self->strides()[d]);
    } else if (indexing.self->sizes()[d] == 0 && element_count(indexing.shape) != 0) {
      return false;
    }
  }
  return true;
}

bool index_layout(RuleCall& call, Indexing& indexing, Layout& layout) {
  if (!read_indices(call, indexing) || !broadcast_indices(indexing)) return false;
  Sizes order;
  const std::size_t before = order_dims(indexing, order);
  Layout source;
  if (!restride(indexing, order, before, source)) return false;
  const std::size_t after = source.sizes.size() - before - indexing.shape.size();
  c10::SmallVector<Operand, 6> operands{{source.sizes, source.strides}};
  Sizes sizes(before, 1);
  sizes.append(indexing.shape.begin(), indexing.shape.end());
  sizes.append(after, 1);
  c10::SmallVector<Sizes, 4> strides(indexing.indices.size());
  for (std::size_t i = 0; i < indexing.indices.size(); ++i) {
    const Index& index = indexing.indices[i];
    if (!index.defined) continue;
    if (!view_strides({index.sizes, index.strides}, sizes, strides[i])) return false;
    operands.push_back({sizes, strides[i]});
  }
  return iterator_layout(operands, layout);
}

bool index(RuleCall& call) {
  Indexing indexing;
  Layout layout;
  if (!index_layout(call, indexing, layout)) return false;
  return call.output(layout.sizes, layout.strides, indexing.self->scalar_type());
}

// self[indices] = values. A mask of unknown values is fine where one value goes everywhere.
bool index_put_(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *values = call.tensor(2);
  if (!self || !values || self->scalar_type() != values->scalar_type()) return false;
  Indexing indexing;
  Layout layout;
  return index_layout(call, indexing, layout) && expands_to(values->sizes(), layout.sizes) && call.same(0);
}

bool embedding(RuleCall& call) {
  const at::Tensor *weight = call.tensor(0), *indices = call.tensor(1);
  if (!weight || !indices || weight->dim() != 2 || !is_index_type(indices->scalar_type())) return false;
  Sizes sizes = sizes_of(*indices);
  sizes.push_back(weight->size(1));
  return call.output(sizes, weight->scalar_type());
}

// grad, indices, num_weights, padding_idx, scale_grad_by_freq
bool embedding_backward(RuleCall& call) {
  const at::Tensor *grad = call.floats(0), *indices = call.tensor(1);
  if (!grad || !indices || !is_index_type(indices->scalar_type())) return false;
  if (grad->dim() != indices->dim() + 1 || grad->numel() == 0) return false;
  if (grad->sizes().slice(0, static_cast<std::size_t>(indices->dim())) != indices->sizes()) return false;
  return call.output({call.integer(2), grad->size(-1)}, grad->scalar_type());
}

bool index_select(RuleCall& call) {
  const auto [self, dim] = read_along(call, 1);
  const at::Tensor* index = call.tensor(2);
  if (!self || !index || index->dim() > 1 || !is_index_type(index->scalar_type())) return false;
  if (!call.at(1).isInt() || (self->size(dim) == 0 && index->numel() != 0)) return false;
  return call.output(with_size(*self, dim, index->numel()), self->scalar_type());
}

// The index may not be larger than `bound` in any dimension but `dim`.
bool fits(const at::Tensor& index, const at::Tensor& bound, std::int64_t dim) {
  if (index.dim() != bound.dim()) return false;
  for (std::int64_t i = 0; i < index.dim(); ++i)
    if (i != dim && index.size(i) > bound.size(i)) return false;
  return true;
}

// Of gather and scatter: self, dim, index.
bool picks(const RuleCall& call) {
  const auto [self, dim] = read_along(call, 1);
  const at::Tensor* index = call.tensor(2);
  return self && index && index->scalar_type() == at::kLong && index->numel() > 0 && call.at(1).isInt() &&
         fits(*index, *self, dim);
}

bool gather(RuleCall& call) {
  return picks(call) && call.output(call.tensor(2)->sizes(), call.tensor(0)->scalar_type());
}

// scatter and scatter_add, with a tensor or a number as source.
template <bool kInPlace>
bool scatter(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *index = call.tensor(2);
  if (!picks(call)) return false;
  if (const at::Tensor* source = call.tensor(3)) {
    if (source->scalar_type() != self->scalar_type() || !fits(*index, *source, -1)) return false;
  } else if (!is_number(call.at(3))) {
    return false;
  }
  return kInPlace ? call.same(0) : call.output(self->sizes(), self->scalar_type());
}

// index_add and index_copy: a source with one slice of self for each element of the index.
template <bool kInPlace>
bool index_fold(RuleCall& call) {
  const auto [self, dim] = read_along(call, 1);
  const at::Tensor *index = call.tensor(2), *source = call.tensor(3);
  if (!self || !index || !source || !call.at(1).isInt() || index->dim() != 1) return false;
  if (index->scalar_type() != at::kLong || self->numel() == 0) return false;
  if (self->scalar_type() != source->scalar_type()) return false;
  if (source->sizes() != c10::IntArrayRef(with_size(*self, dim, index->numel()))) return false;
  return kInPlace ? call.same(0) : call.output(self->sizes(), self->scalar_type());
}

template <bool kInPlace>
bool masked_scatter(RuleCall& call) {
  const at::Tensor *self = call.tensor(0), *mask = call.tensor(1), *source = call.tensor(2);
  if (!self || !mask || !source || mask->scalar_type() != at::kBool) return false;
  if (self->scalar_type() != source->scalar_type() || source->numel() == 0) return false;
  return emit_masked<kInPlace>(call, *self, *mask);
}

bool histc(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  const std::int64_t bins = call.integer(1);
  if (!self || bins < 1 || !is_number(call.at(2)) || !is_number(call.at(3))) return false;
  if (self->scalar_type() != at::kFloat && self->scalar_type() != at::kDouble) return false;
  if (call.at(2).toScalar().toDouble() > call.at(3).toScalar().toDouble()) return false;
  return call.output({bins}, self->scalar_type());
}

constexpr ShapeRuleRow kIndexRules[] = {
    {"aten::embedding", "", embedding},
    {"aten::embedding_dense_backward", "", embedding_backward},
    {"aten::gather", "", gather},
    {"aten::histc", "", histc},
    {"aten::index", "Tensor", index},
    {"aten::index_add aten::index_copy", "", index_fold<false>, index_fold<true>},
    {"aten::index_put_", "", index_put_},
    {"aten::index_select", "", index_select},
    {"aten::masked_scatter", "", masked_scatter<false>, masked_scatter<true>},
    {"aten::scatter", "src value", scatter<false>, scatter<true>},
    {"aten::scatter_add", "", scatter<false>, scatter<true>},
};

}  // namespace

std::span<const ShapeRuleRow> index_shape_rules() { return kIndexRules; }

}  // namespace opscope::engine
