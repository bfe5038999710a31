#include "readers/capture/aliasing.h"

#include <algorithm>

#include "ops/op_facts.h"

namespace opscope {
namespace {

bool in_place(std::string_view op) { return op.ends_with('_') && !op.ends_with("__"); }

bool same(const TensorLayout& in, const TensorLayout& out) {
  return in.dtype == out.dtype && in.device == out.device && std::ranges::equal(in.shape, out.shape) &&
         std::ranges::equal(in.strides, out.strides);
}

}  // namespace

// As PyTorch's computeStride: runs of input dimensions that lie densely in memory take runs of output
// dimensions of the same number of elements.
std::vector<std::int64_t> view_strides(const TensorLayout& in, std::span<const std::int64_t> shape) {
  if (in.strides.size() != in.shape.size() || numel(in.shape) != numel(shape)) return {};
  if (!numel(shape) || shape.empty() || in.shape.empty()) return contiguous_strides(shape);
  std::vector<std::int64_t> strides(shape.size());
  auto view = static_cast<std::ptrdiff_t>(shape.size()) - 1;
  std::int64_t base = in.strides.back();
  Count run = 1, filled = 1;
  const auto at = [](std::ptrdiff_t i) { return static_cast<std::size_t>(i); };
  for (auto i = static_cast<std::ptrdiff_t>(in.shape.size()) - 1; i >= 0; --i) {
    run *= Count{in.shape[at(i)]};
    const bool ends =
        i == 0 || (in.shape[at(i - 1)] != 1 && Count{in.strides[at(i - 1)]} != run * Count{base});
    if (!ends) continue;
    while (view >= 0 && (filled < run || shape[at(view)] == 1)) {
      if (__builtin_mul_overflow(static_cast<std::int64_t>(filled.value()), base, &strides[at(view)]))
        return {};
      filled *= Count{shape[at(view)]};
      --view;
    }
    if (filled != run || filled.saturated()) return {};
    if (i > 0) {
      base = in.strides[at(i - 1)];
      run = filled = 1;
    }
  }
  return view == -1 ? strides : std::vector<std::int64_t>{};
}

bool shares_memory(std::string_view op, const TensorLayout& in, const TensorLayout& out,
                   bool drops_or_copies) {
  if (in_place(op)) return true;
  const OpRule* rule = find_rule(op);
  if (rule == nullptr) return false;
  if (facts_of(*rule).is(Fact::kReshapes)) return !view_strides(in, out.shape).empty() || out.shape.empty();
  if (facts_of(*rule).is(Fact::kMayReturnInput)) return !drops_or_copies && same(in, out);
  return rule->category == Category::kView;
}

}  // namespace opscope
