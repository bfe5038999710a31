// Shape rules of joining, repeating and reordering: cat, stack, repeat, roll, flip, triangles.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// Tensors to join, as cat sees them.
struct Joined {
  c10::SmallVector<Operand, 8> parts;
  at::ScalarType dtype = at::ScalarType::Undefined;
};

bool read_list(RuleCall& call, Joined& joined) {
  if (!call.at(0).isTensorList()) return false;
  Promotion promotion;
  bool mixed = false;
  for (const c10::IValue& item : call.at(0).toListRef()) {
    const at::Tensor* tensor = call.plain(item.toTensor());
    if (!tensor) return false;
    if (joined.parts.empty()) joined.dtype = tensor->scalar_type();
    mixed = mixed || tensor->scalar_type() != joined.dtype;
    promotion.add(*tensor);
    joined.parts.push_back(operand(*tensor));
  }
  if (mixed) joined.dtype = promotion.result();
  return !joined.parts.empty();
}

// A tensor of size [0] is skipped by cat, whatever the others' rank.
bool skipped(const Operand& part) { return part.sizes.size() == 1 && part.sizes[0] == 0; }

at::MemoryFormat joined_format(const Joined& joined) {
  const auto first = suggested_format(joined.parts[0]);
  for (const Operand& part : joined.parts)
    if (suggested_format(part) != first) return at::MemoryFormat::Contiguous;
  return first;
}

bool joined_sizes(const Joined& joined, std::int64_t dim, Layout& layout) {
  const Operand* model = nullptr;
  std::int64_t total = 0;
  for (const Operand& part : joined.parts) {
    if (skipped(part)) continue;
    if (!model) {
      model = &part;
      if (part.sizes.empty() || !wrap_dim(dim, static_cast<std::int64_t>(part.sizes.size()))) return false;
    }
    if (part.sizes.size() != model->sizes.size()) return false;
    for (std::size_t i = 0; i < part.sizes.size(); ++i)
      if (i != static_cast<std::size_t>(dim) && part.sizes[i] != model->sizes[i]) return false;
    if (__builtin_add_overflow(total, part.sizes[static_cast<std::size_t>(dim)], &total)) return false;
  }
  if (!model) return false;
  layout.sizes = copy_of(model->sizes);
  layout.sizes[static_cast<std::size_t>(dim)] = total;
  layout.strides = format_strides(layout.sizes, joined_format(joined));
  return true;
}

bool cat(RuleCall& call) {
  Joined joined;
  Layout layout;
  if (!call.at(1).isInt() || !read_list(call, joined) || !joined_sizes(joined, call.integer(1), layout))
    return false;
  return call.output(layout.sizes, layout.strides, joined.dtype);
}

// Stacking before an existing dimension is cat along it, seen with that dimension split.
bool emit_inner_stack(RuleCall& call, const Joined& joined, std::int64_t dim) {
  Layout layout;
  if (!joined_sizes(joined, dim, layout)) return false;
  Sizes sizes = copy_of(joined.parts[0].sizes);
  sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(dim),
               static_cast<std::int64_t>(joined.parts.size()));
  Sizes strides;
  if (!view_strides({layout.sizes, layout.strides}, sizes, strides)) return false;
  return call.output(sizes, strides, joined.dtype);
}

// Stacking behind the last one is cat of the tensors with a new last dimension of size one.
bool emit_outer_stack(RuleCall& call, Joined& joined) {
  c10::SmallVector<Layout, 8> widened(joined.parts.size());
  for (std::size_t i = 0; i < joined.parts.size(); ++i) {
    Operand& part = joined.parts[i];
    widened[i] = {copy_of(part.sizes), copy_of(part.strides)};
    widened[i].sizes.push_back(1);
    widened[i].strides.push_back(1);
    part = {widened[i].sizes, widened[i].strides};
  }
  Layout layout;
  return joined_sizes(joined, -1, layout) && call.output(layout.sizes, layout.strides, joined.dtype);
}

bool stack(RuleCall& call) {
  Joined joined;
  if (!read_list(call, joined)) return false;
  for (const Operand& part : joined.parts)
    if (part.sizes != joined.parts[0].sizes || skipped(part)) return false;
  const auto rank = static_cast<std::int64_t>(joined.parts[0].sizes.size());
  std::int64_t dim = call.integer(1);
  if (!wrap_dim(dim, rank + 1)) return false;
  return dim < rank ? emit_inner_stack(call, joined, dim) : emit_outer_stack(call, joined);
}

bool emit_repeated(RuleCall& call, const at::Tensor& self, const Sizes& repeats) {
  const auto rank = static_cast<std::size_t>(self.dim());
  if (repeats.size() < rank) return false;
  Sizes sizes = repeats;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (repeats[i] < 0) return false;
    if (i + rank >= sizes.size()) sizes[i] *= self.sizes()[i + rank - sizes.size()];
  }
  return call.output(sizes, self.scalar_type());
}

bool repeat(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  return self && emit_repeated(call, *self, call.ints(1));
}

bool tile(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self) return false;
  Sizes repeats = call.ints(1);
  const auto rank = static_cast<std::size_t>(self->dim());
  if (repeats.size() < rank) repeats.insert(repeats.begin(), rank - repeats.size(), 1);
  return emit_repeated(call, *self, repeats);
}

bool repeat_interleave(RuleCall& call) {  // self, repeats, dim, output_size
  const at::Tensor* self = call.tensor(0);
  const std::int64_t repeats = call.integer(1, -1);
  if (!self || repeats < 0 || !call.none(3)) return false;
  if (call.none(2)) return call.output({self->numel() * repeats}, self->scalar_type());
  std::int64_t dim = call.integer(2);
  if (self->dim() == 0 || !wrap_dim(dim, self->dim())) return false;
  return call.output(with_size(*self, dim, self->size(dim) * repeats), self->scalar_type());
}

// Along one dimension roll is cat of two slices, so channels-last survives, other orders do not.
bool roll(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  const Sizes shifts = call.ints(1), dims = call.ints(2);
  if (!self || shifts.empty() || self->dim() == 0 || self->numel() == 0) return false;
  if (dims.empty() ? shifts.size() != 1 : dims.size() != shifts.size()) return false;
  const auto format = dims.empty() ? at::MemoryFormat::Contiguous : self->suggest_memory_format();
  for (std::size_t i = 0; i < dims.size(); ++i) {
    std::int64_t dim = dims[i];
    if (!wrap_dim(dim, self->dim())) return false;
    // A slice of size 0 has a format of its own.
    if (format != at::MemoryFormat::Contiguous && shifts[i] % self->size(dim) == 0) return false;
  }
  return call.output(self->sizes(), self->scalar_type(), format);
}

bool flip(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  std::uint64_t seen = 0;
  if (!self || !mark_dims(call.ints(1), self->dim(), seen)) return false;
  return call.output(self->sizes(), preserved_strides(operand(*self)), self->scalar_type());
}

bool triangle(RuleCall& call) {
  const at::Tensor* self = call.tensor(0);
  if (!self || self->dim() < 2) return false;
  return call.output(self->sizes(), self->scalar_type());
}

constexpr ShapeRuleRow kCatRules[] = {
    {"aten::cat aten::concat aten::concatenate", "", cat},
    {"aten::flip", "", flip},
    {"aten::repeat", "", repeat},
    {"aten::repeat_interleave", "self_int", repeat_interleave},
    {"aten::roll", "", roll},
    {"aten::stack", "", stack},
    {"aten::tile", "", tile},
    {"aten::tril aten::triu", "", triangle},
};

}  // namespace

std::span<const ShapeRuleRow> cat_shape_rules() { return kCatRules; }

}  // namespace opscope::engine
