// Shape rules of the views that come as a list: chunk, split, unbind.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// Views of one dimension of a tensor, one after another.
class Parts {
 public:
  Parts(RuleCall& call, const at::Tensor& self, std::int64_t dim)
      : call_(call),
        self_(self),
        dim_(static_cast<std::size_t>(dim)),
        offset_(self.storage_offset()),
        sizes_(self.sizes().begin(), self.sizes().end()),
        strides_(self.strides().begin(), self.strides().end()) {}

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

bool read(RuleCall& call, std::size_t dim_argument, const at::Tensor*& self, std::int64_t& dim) {
  self = call.tensor(0);
  dim = call.integer(dim_argument);
  return self && self->dim() > 0 && wrap_dim(dim, self->dim());
}

bool chunk(RuleCall& call) {
  const at::Tensor* self;
  std::int64_t dim;
  const std::int64_t chunks = call.integer(1);
  if (!read(call, 2, self, dim) || chunks < 1 || self->size(dim) == 0) return false;
  return emit_even(call, *self, dim, (self->size(dim) + chunks - 1) / chunks);
}

bool split(RuleCall& call) {
  const at::Tensor* self;
  std::int64_t dim;
  return read(call, 2, self, dim) && emit_even(call, *self, dim, call.integer(1));
}

bool split_with_sizes(RuleCall& call) {
  const at::Tensor* self;
  std::int64_t dim;
  if (!read(call, 2, self, dim)) return false;
  const Sizes sizes = call.ints(1);
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) return false;
    total += size;
  }
  if (total != self->size(dim)) return false;
  Parts parts(call, *self, dim);
  for (const std::int64_t size : sizes) parts.add(size);
  return parts.finish();
}

bool unbind(RuleCall& call) {
  const at::Tensor* self;
  std::int64_t dim;
  if (!read(call, 1, self, dim)) return false;
  Parts parts(call, *self, dim);
  for (std::int64_t i = 0; i < self->size(dim); ++i) parts.add_slice();
  return parts.finish();
}

constexpr ShapeRuleRow kSplitRules[] = {
    {"aten::chunk", "", chunk},
    {"aten::split", "Tensor", split},
    {"aten::split", "sizes", split_with_sizes},
    {"aten::split_with_sizes", "", split_with_sizes},
    {"aten::unbind", "int", unbind},
};

}  // namespace

std::span<const ShapeRuleRow> split_shape_rules() { return kSplitRules; }

}  // namespace opscope::engine
