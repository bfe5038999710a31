#include "torch/recording/bounds.h"

#include <algorithm>
#include <array>

#include "torch/rules/layout.h"

namespace opscope::engine {

namespace {

constexpr std::array kLimits = std::to_array<std::string_view>({
    "bincount",           // bins, where minlength does not say
    "item",               // a number read from a tensor
    "nms",                // boxes kept
    "nonzero",            // true elements: nonzero, argwhere, where, x[mask], masked_select
    "repeat_interleave",  // rows after repeating
    "unique",             // distinct elements
});
static_assert(std::ranges::is_sorted(kLimits));

// Index tensors up to this many elements get values, so that code which loops over them keeps working.
constexpr std::int64_t kIndexElements = std::int64_t{1} << 24;

const at::Tensor& tensor_at(const Call& call, std::size_t i) { return call.arguments()[i].toTensor(); }
bool flag_at(const Call& call, std::size_t i) { return call.arguments()[i].toBool(); }

at::Tensor unknown(const Call& call, c10::IntArrayRef sizes, at::ScalarType dtype) {
  RuleCall rule(call.recording, call.arguments(), call.info);
  return rule.make(sizes, engine::contiguous_strides(sizes), dtype);
}

at::Tensor counting(const Call& call, std::int64_t size, std::int64_t modulo) {
  if (size > kIndexElements) return unknown(call, {size}, at::kLong);
  auto made = at::empty({size}, at::kLong);
  auto* data = static_cast<std::int64_t*>(made.mutable_data_ptr());
  for (std::int64_t i = 0; i < size; ++i) data[i] = i % modulo;
  return as_known(call.recording, made);
}

// The positions of the first `count` elements of a tensor of these sizes: the slots taken as true.
at::Tensor coordinates(const Call& call, c10::IntArrayRef sizes, std::int64_t count) {
  const auto rank = static_cast<std::int64_t>(sizes.size());
  if (count * std::max<std::int64_t>(rank, 1) > kIndexElements)
    return unknown(call, {count, rank}, at::kLong);
  auto made = at::empty({count, rank}, at::kLong);
  auto* data = static_cast<std::int64_t*>(made.mutable_data_ptr());
  for (std::int64_t i = 0; i < count; ++i) {
    auto rest = i;
    for (auto d = sizes.size(); d-- > 0; rest /= sizes[d])
      data[i * rank + static_cast<std::int64_t>(d)] = rest % sizes[d];
  }
  return as_known(call.recording, made);
}

void give(const Call& call, std::initializer_list<c10::IValue> results) {
  torch::jit::drop(call.stack, call.info.arguments);
  call.stack.insert(call.stack.end(), results.begin(), results.end());
}

bool nonzero(const Call& call, std::string_view limit) {  // and argwhere
  const at::Tensor self = tensor_at(call, 0);
  give(call, {coordinates(call, self.sizes(), call.recording.bound(call.info, limit, self.numel()))});
  return true;
}

bool nonzero_numpy(const Call& call, std::string_view limit) {
  const at::Tensor self = tensor_at(call, 0);
  const auto sizes = self.dim() == 0 ? Sizes{1} : Sizes(self.sizes().begin(), self.sizes().end());
  const auto count = call.recording.bound(call.info, limit, self.numel());
  const at::Tensor all = coordinates(call, sizes, count);
  c10::List<at::Tensor> columns;
  for (std::int64_t d = 0; d < static_cast<std::int64_t>(sizes.size()); ++d) {
    if (as_abstract(all) && call.recording.is_unknown(all))
      columns.push_back(unknown(call, {count}, at::kLong));
    else
      columns.push_back(as_known(call.recording, call.recording.known_value(all).select(1, d)));
  }
  give(call, {columns});
  return true;
}

bool masked_select(const Call& call, std::string_view limit) {
  const at::Tensor self = tensor_at(call, 0);
  Sizes sizes(self.sizes().begin(), self.sizes().end());
  if (!broadcast(sizes, tensor_at(call, 1).sizes())) return false;
  const auto count = call.recording.bound(call.info, limit, element_count(sizes));
  give(call, {unknown(call, {count}, self.scalar_type())});
  return true;
}

bool nms(const Call& call, std::string_view limit) {
  const auto boxes = tensor_at(call, 0).size(0);
  const auto count = call.recording.bound(call.info, limit, boxes);
  give(call, {counting(call, count, std::max<std::int64_t>(count, 1))});
  return true;
}

std::int64_t distinct(at::ScalarType dtype, std::int64_t elements) {
  if (dtype == at::kBool) return std::min<std::int64_t>(elements, 2);
  if (dtype == at::kByte || dtype == at::kChar) return std::min<std::int64_t>(elements, 256);
  return elements;
}

// values, where each input went, how many went to each: all distinct, or evenly shared out among the limit.
bool give_unique(const Call& call, std::string_view limit, std::int64_t dim, bool inverse, bool counts) {
  const at::Tensor self = tensor_at(call, 0);
  const bool flat = dim < 0;
  const auto elements = flat ? self.numel() : self.size(dim);
  const auto largest = flat ? distinct(self.scalar_type(), elements) : elements;
  const auto count = call.recording.bound(call.info, limit, largest);
  Sizes sizes(self.sizes().begin(), self.sizes().end());
  if (flat)
    sizes = {count};
  else
    sizes[static_cast<std::size_t>(dim)] = count;
  const auto values = unknown(call, sizes, self.scalar_type());
  const auto places = counting(call, inverse || counts ? elements : 0, std::max<std::int64_t>(count, 1));
  const bool known = !call.recording.is_unknown(places);
  at::Tensor shares = counting(call, 0, 1), shaped = shares;
  if (counts)
    shares = known ? as_known(call.recording, at::bincount(call.recording.known_value(places), {}, count))
                   : unknown(call, {count}, at::kLong);
  const auto shape = flat ? self.sizes() : c10::IntArrayRef(elements);
  if (inverse)
    shaped = known ? as_known(call.recording, call.recording.known_value(places).view(shape))
                   : unknown(call, shape, at::kLong);
  give(call, {values, shaped, shares});
  if (call.info.returns == 2) call.stack.pop_back();
  return true;
}

bool unique(const Call& call, std::string_view limit) {  // self, sorted, return_inverse[, return_counts]
  const bool counts = call.info.arguments > 3 && flag_at(call, 3);
  return give_unique(call, limit, -1, flag_at(call, 2), counts);
}

bool unique_consecutive(const Call& call, std::string_view limit) {  // self, inverse, counts, dim
  const auto& dim = call.arguments()[3];
  const auto wrapped = dim.isInt() ? c10::maybe_wrap_dim(dim.toInt(), tensor_at(call, 0).dim()) : -1;
  return give_unique(call, limit, wrapped, flag_at(call, 1), flag_at(call, 2));
}

bool unique_dim(const Call& call, std::string_view limit) {  // self, dim, sorted, inverse, counts
  const auto dim = c10::maybe_wrap_dim(call.arguments()[1].toInt(), tensor_at(call, 0).dim());
  return give_unique(call, limit, dim, flag_at(call, 3), flag_at(call, 4));
}

bool bincount(const Call& call, std::string_view limit) {  // self, weights, minlength
  const auto least = call.arguments()[2].toInt();
  const auto bins = call.recording.limit(limit).value_or(least);
  if (bins <= 0) return false;
  const auto& weights = call.arguments()[1];
  const bool weighted = weights.isTensor() && weights.toTensor().defined();
  const auto dtype = !weighted                                        ? at::kLong
                     : weights.toTensor().scalar_type() == at::kFloat ? at::kFloat
                                                                      : at::kDouble;
  give(call, {unknown(call, {call.recording.bound(call.info, limit, std::max(bins, least))}, dtype)});
  return true;
}

bool repeat_interleave(const Call& call, std::string_view limit) {  // repeats, output_size
  if (call.op.schema().overload_name() != "Tensor" || !call.arguments()[1].isNone()) return false;
  const auto most = call.recording.limit(limit);
  if (!most) refuse(call);
  const auto rows = tensor_at(call, 0).numel();
  const auto count = call.recording.bound(call.info, limit, *most);
  const auto each = std::max<std::int64_t>((count + rows - 1) / std::max<std::int64_t>(rows, 1), 1);
  auto made = at::empty({count}, at::kLong);
  auto* data = static_cast<std::int64_t*>(made.mutable_data_ptr());
  for (std::int64_t i = 0; i < count; ++i) data[i] = i / each;
  give(call, {as_known(call.recording, made)});
  return true;
}

constexpr std::array kRows = std::to_array<BoundRow>({
    {"aten::_unique", "unique", unique},
    {"aten::_unique2", "unique", unique},
    {"aten::argwhere", "nonzero", nonzero},
    {"aten::bincount", "bincount", bincount},
    {"aten::masked_select", "nonzero", masked_select},
    {"aten::nonzero", "nonzero", nonzero},
    {"aten::nonzero_numpy", "nonzero", nonzero_numpy},
    {"aten::repeat_interleave", "repeat_interleave", repeat_interleave},
    {"aten::unique_consecutive", "unique", unique_consecutive},
    {"aten::unique_dim", "unique", unique_dim},
    {"torchvision::nms", "nms", nms},
});
static_assert(std::ranges::is_sorted(kRows, {}, &BoundRow::op));

}  // namespace

std::span<const std::string_view> limit_names() { return kLimits; }

const BoundRow* find_bound(std::string_view op) {
  const auto* row = std::ranges::lower_bound(kRows, op, {}, &BoundRow::op);
  return row != kRows.end() && row->op == op ? row : nullptr;
}

at::Tensor as_known(Recording& recording, const at::Tensor& value) {
  return recording.device.is_cpu() ? value : recording.wrap_known(value);
}

}  // namespace opscope::engine
