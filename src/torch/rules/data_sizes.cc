// Ops whose sizes depend on data that a static capture does not have: the largest they can be, or the limit
// that the user set. What they return is flagged, and so is what is computed from it. Indices get values, so
// that code which loops over them keeps working.
#include <algorithm>
#include <array>

#include "torch/rules/layout.h"

namespace opscope::engine {

namespace {

// Index tensors up to this many elements get values.
constexpr std::int64_t kIndexElements = std::int64_t{1} << 24;

const at::Tensor& tensor_at(const RuleCall& call, std::size_t i) { return call.at(i).toTensor(); }

at::Tensor made_unknown(RuleCall& call, c10::IntArrayRef sizes, at::ScalarType dtype) {
  return call.make(sizes, engine::contiguous_strides(sizes), dtype);
}

// Elements value(0), value(1), ..., or an unknown tensor where they are too many.
template <class ValueAt>
at::Tensor indices(RuleCall& call, std::int64_t size, ValueAt&& value_at) {
  if (size > kIndexElements) return made_unknown(call, {size}, at::kLong);
  auto made = at::empty({size}, at::kLong);
  auto* data = static_cast<std::int64_t*>(made.mutable_data_ptr());
  for (std::int64_t i = 0; i < size; ++i) data[i] = value_at(i);
  return call.known(made);
}

at::Tensor counting(RuleCall& call, std::int64_t size, std::int64_t modulo) {
  return indices(call, size, [modulo](std::int64_t i) { return i % modulo; });
}

// The positions of the first `count` elements of a tensor of these sizes: the slots taken as true.
at::Tensor coordinates(RuleCall& call, c10::IntArrayRef sizes, std::int64_t count) {
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (count * std::max<std::int64_t>(rank, 1) > kIndexElements)
    return made_unknown(call, {count, rank}, at::kLong);
  auto made = at::empty({count, rank}, at::kLong);
  auto* data = static_cast<std::int64_t*>(made.mutable_data_ptr());
  for (std::int64_t i = 0; i < count; ++i) {
    auto rest = i;
    for (auto d = sizes.size(); d-- > 0; rest /= sizes[d])
      data[i * rank + static_cast<std::int64_t>(d)] = rest % sizes[d];
  }
  return call.known(made);
}

bool nonzero(RuleCall& call) {  // and argwhere
  const at::Tensor& self = tensor_at(call, 0);
  return call.push(coordinates(call, self.sizes(), call.bound("nonzero", self.numel())));
}

bool nonzero_numpy(RuleCall& call) {
  const at::Tensor& self = tensor_at(call, 0);
  const auto sizes = self.dim() == 0 ? Sizes{1} : Sizes(self.sizes().begin(), self.sizes().end());
  const auto count = call.bound("nonzero", self.numel());
  const at::Tensor all = coordinates(call, sizes, count);
  c10::List<at::Tensor> columns;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(sizes.size()); ++d) {
    if (as_abstract(all) && call.is_unknown(all))
      columns.push_back(made_unknown(call, {count}, at::kLong));
    else
      columns.push_back(call.known(call.known_value(all).select(1, d)));
  }
  return call.push(columns);
}

bool masked_select(RuleCall& call) {
  const at::Tensor& self = tensor_at(call, 0);
  Sizes sizes = sizes_of(self);
  if (!broadcast(sizes, tensor_at(call, 1).sizes())) return false;
  return call.output({call.bound("nonzero", element_count(sizes))}, self.scalar_type());
}

// Every element is stored, or as many as the limit says, in the layout that is asked for.
bool give_sparse(RuleCall& call, c10::Layout layout, const Sizes& block) {
  const at::Tensor& self = tensor_at(call, 0);
  const auto count = call.bound("nonzero", self.numel());
  if (count * std::max<std::int64_t>(self.dim(), 1) > kIndexElements) throw NeedsValues{};
  const auto places = call.known_value(coordinates(call, self.sizes(), count)).t().contiguous();
  auto made = at::_sparse_coo_tensor_unsafe(places, at::zeros({count}, self.scalar_type()), self.sizes());
  made._coalesced_(true);
  if (layout != c10::kSparse)
    made = made.to_sparse(layout, block.empty() ? at::OptionalIntArrayRef() : at::OptionalIntArrayRef(block));
  return call.push(made);
}

template <c10::Layout kLayout>
bool to_compressed(RuleCall& call) {  // self, dense_dim; or self, blocksize, dense_dim
  const bool has_blocks = kLayout == c10::kSparseBsr || kLayout == c10::kSparseBsc;
  return give_sparse(call, kLayout, has_blocks ? call.ints(1) : Sizes{});
}

bool to_sparse(RuleCall& call) {  // self, layout, blocksize, dense_dim; or self, sparse_dim
  if (call.size() < 3 || call.none(1)) return give_sparse(call, c10::kSparse, {});
  return give_sparse(call, static_cast<c10::Layout>(call.integer(1)), call.ints(2));
}

bool nms(RuleCall& call) {
  const auto count = call.bound("nms", tensor_at(call, 0).size(0));
  return call.push(counting(call, count, std::max<std::int64_t>(count, 1)));
}

std::int64_t distinct(at::ScalarType dtype, std::int64_t elements) {
  if (dtype == at::kBool) return std::min<std::int64_t>(elements, 2);
  if (dtype == at::kByte || dtype == at::kChar) return std::min<std::int64_t>(elements, 256);
  return elements;
}

// values, where each input went, how many went to each: all distinct, or evenly shared out among the limit.
bool give_unique(RuleCall& call, std::int64_t dim, bool inverse, std::optional<bool> counts) {
  const at::Tensor& self = tensor_at(call, 0);
  const bool flat = dim < 0;
  const auto elements = flat ? self.numel() : self.size(dim);
  const auto count = call.bound("unique", flat ? distinct(self.scalar_type(), elements) : elements);
  call.output(flat ? Sizes{count} : with_size(self, dim, count), self.scalar_type());
  const bool any = inverse || counts.value_or(false);
  const auto places = counting(call, any ? elements : 0, std::max<std::int64_t>(count, 1));
  const bool known = !call.is_unknown(places);
  const auto shape = flat ? self.sizes() : c10::IntArrayRef(elements);
  if (!inverse)
    call.push(counting(call, 0, 1));
  else if (known)
    call.push(call.known(call.known_value(places).view(shape)));
  else
    call.output(shape, at::kLong);
  if (!counts) return true;
  if (!*counts) return call.push(counting(call, 0, 1));
  if (known) return call.push(call.known(at::bincount(call.known_value(places), {}, count)));
  return call.output({count}, at::kLong);
}

bool unique(RuleCall& call) {  // self, sorted, return_inverse
  return give_unique(call, -1, call.flag(2), std::nullopt);
}

bool unique2(RuleCall& call) {  // self, sorted, return_inverse, return_counts
  return give_unique(call, -1, call.flag(2), call.flag(3));
}

bool unique_consecutive(RuleCall& call) {  // self, inverse, counts, dim
  const auto dim = call.none(3) ? -1 : c10::maybe_wrap_dim(call.integer(3), tensor_at(call, 0).dim());
  return give_unique(call, dim, call.flag(1), call.flag(2));
}

bool unique_dim(RuleCall& call) {  // self, dim, sorted, inverse, counts
  const auto dim = c10::maybe_wrap_dim(call.integer(1), tensor_at(call, 0).dim());
  return give_unique(call, dim, call.flag(3), call.flag(4));
}

bool bincount(RuleCall& call) {  // self, weights, minlength
  const auto least = call.integer(2);
  const auto bins = call.limit("bincount").value_or(least);
  if (bins <= 0) return false;
  const auto& weights = call.at(1);
  const bool weighted = weights.isTensor() && weights.toTensor().defined();
  const auto dtype = !weighted                                        ? at::kLong
                     : weights.toTensor().scalar_type() == at::kFloat ? at::kFloat
                                                                      : at::kDouble;
  return call.output({call.bound("bincount", std::max(bins, least))}, dtype);
}

bool repeat_interleave(RuleCall& call) {  // repeats, output_size; its other overloads take the tensor first
  if (call.size() != 2 || !call.none(1)) return false;
  const auto most = call.limit("repeat_interleave");
  if (!most) throw NeedsValues{};
  const auto rows = tensor_at(call, 0).numel();
  const auto count = call.bound("repeat_interleave", *most);
  const auto each = std::max<std::int64_t>((count + rows - 1) / std::max<std::int64_t>(rows, 1), 1);
  return call.push(indices(call, count, [each](std::int64_t i) { return i / each; }));
}

struct SizeRuleRow {
  std::string_view op;
  ShapeRule rule;
};
constexpr std::array kRows = std::to_array<SizeRuleRow>({
    {"aten::_to_sparse", to_sparse},
    {"aten::_to_sparse_bsc", to_compressed<c10::kSparseBsc>},
    {"aten::_to_sparse_bsr", to_compressed<c10::kSparseBsr>},
    {"aten::_to_sparse_csc", to_compressed<c10::kSparseCsc>},
    {"aten::_to_sparse_csr", to_compressed<c10::kSparseCsr>},
    {"aten::_unique", unique},
    {"aten::_unique2", unique2},
    {"aten::argwhere", nonzero},
    {"aten::bincount", bincount},
    {"aten::masked_select", masked_select},
    {"aten::nonzero", nonzero},
    {"aten::nonzero_numpy", nonzero_numpy},
    {"aten::repeat_interleave", repeat_interleave},
    {"aten::unique_consecutive", unique_consecutive},
    {"aten::unique_dim", unique_dim},
    {"torchvision::nms", nms},
});
static_assert(std::ranges::is_sorted(kRows, {}, &SizeRuleRow::op));

}  // namespace

ShapeRule find_size_rule(std::string_view name) {
  const auto* row = std::ranges::lower_bound(kRows, name, {}, &SizeRuleRow::op);
  return row != kRows.end() && row->op == name ? row->rule : nullptr;
}

}  // namespace opscope::engine
