// Shape rules of pooling layers.
#include "torch/rules/layout.h"

namespace opscope::engine {
namespace {

// A pooling input: [channels, spatial...] or [batch, channels, spatial...].
struct Pool {
  const at::Tensor* input = nullptr;
  std::size_t rank = 0;
  std::size_t first = 0;  // of the spatial dimensions
  Sizes kernel, stride, padding, dilation;
  bool ceil_mode = false;
};

bool read_input(RuleCall& call, std::size_t rank, Pool& pool) {
  pool.input = call.floats(0);
  pool.rank = rank;
  if (!pool.input) return false;
  const auto dims = static_cast<std::size_t>(pool.input->dim());
  if (dims != rank + 1 && dims != rank + 2) return false;
  pool.first = dims - rank;
  // Only the batch may be empty.
  return element_count(pool.input->sizes().slice(pool.first - 1)) > 0;
}

bool valid(Pool& pool) {
  if (pool.stride.empty()) pool.stride = pool.kernel;
  if (!fill(pool.kernel, pool.rank, 1) || !fill(pool.stride, pool.rank, 1) ||
      !fill(pool.padding, pool.rank, 0) || !fill(pool.dilation, pool.rank, 1))
    return false;
  for (std::size_t d = 0; d < pool.rank; ++d)
    if (2 * pool.padding[d] > pool.kernel[d]) return false;
  return true;
}

std::int64_t output_size(const Pool& pool, std::size_t d) {
  const std::int64_t input = pool.input->sizes()[pool.first + d];
  const std::int64_t stride = pool.stride[d];
  const std::int64_t room = input + 2 * pool.padding[d] - pool.dilation[d] * (pool.kernel[d] - 1) - 1;
  if (room < 0 && !pool.ceil_mode) return 0;
  std::int64_t size = (room + (pool.ceil_mode ? stride - 1 : 0)) / stride + 1;
  // The last window must start inside the input or its left padding.
  if (pool.ceil_mode && (size - 1) * stride >= input + pool.padding[d]) --size;
  return room < -stride ? 0 : size;
}

bool output_sizes(const Pool& pool, Sizes& sizes) {
  sizes.assign(pool.input->sizes().begin(), pool.input->sizes().end());
  for (std::size_t d = 0; d < pool.rank; ++d) {
    sizes[pool.first + d] = output_size(pool, d);
    if (sizes[pool.first + d] < 1) return false;
  }
  return true;
}

enum class Format { kContiguous, kSuggested, kFlat };

Sizes strides_for(Format format, const at::Tensor& input, const Sizes& sizes) {
  // Most 1-d poolings run as 2-d ones of height 1, and so may see a transposed input as channels-last.
  if (format == Format::kFlat) return flat_strides(input, sizes);
  if (format == Format::kContiguous) return engine::contiguous_strides(sizes);
  return format_strides(sizes, input.suggest_memory_format());
}

bool read_pool(RuleCall& call, std::size_t rank, bool dilates, Pool& pool, Sizes& sizes) {
  if (!read_input(call, rank, pool)) return false;
  pool.kernel = call.ints(1);
  pool.stride = call.ints(2);
  pool.padding = call.ints(3);
  pool.dilation = dilates ? call.ints(4) : Sizes{1};
  pool.ceil_mode = call.flag(dilates ? 5 : 4);
  return valid(pool) && output_sizes(pool, sizes);
}

template <std::size_t kRank, Format kFormat, bool kIndices>
bool max_pool(RuleCall& call) {
  Pool pool;
  Sizes sizes;
  if (!read_pool(call, kRank, true, pool, sizes)) return false;
  const Sizes strides = strides_for(kFormat, *pool.input, sizes);
  call.output(sizes, strides, pool.input->scalar_type());
  return !kIndices || call.output(sizes, strides, at::kLong);
}

template <std::size_t kRank, Format kFormat>
bool avg_pool(RuleCall& call) {
  Pool pool;
  Sizes sizes;
  if (kRank > 1 && call.at(6).isInt() && call.at(6).toInt() == 0) return false;
  return read_pool(call, kRank, false, pool, sizes) &&
         call.output(sizes, strides_for(kFormat, *pool.input, sizes), pool.input->scalar_type());
}

// Down to one element the average is a plain mean, which keeps its input's format in three dimensions too.
template <std::size_t kRank, Format kFormat, bool kIndices>
bool adaptive_pool(RuleCall& call) {
  Pool pool;
  Sizes wanted = call.ints(1);
  if (!read_input(call, kRank, pool) || !fill(wanted, kRank, 1)) return false;
  Sizes sizes = sizes_of(*pool.input);
  for (std::size_t d = 0; d < kRank; ++d) sizes[pool.first + d] = wanted[d];
  const bool is_mean =
      !kIndices && std::all_of(wanted.begin(), wanted.end(), [](std::int64_t n) { return n == 1; });
  const Format format = is_mean && kRank == 3 ? Format::kSuggested : kFormat;
  const Sizes strides = strides_for(format, *pool.input, sizes);
  call.output(sizes, strides, pool.input->scalar_type());
  return !kIndices || call.output(sizes, strides, at::kLong);
}

constexpr ShapeRuleRow kPoolRules[] = {
    {"aten::_adaptive_avg_pool2d aten::adaptive_avg_pool2d", "", adaptive_pool<2, Format::kSuggested, false>},
    {"aten::adaptive_avg_pool1d", "", adaptive_pool<1, Format::kFlat, false>},
    {"aten::adaptive_avg_pool3d", "", adaptive_pool<3, Format::kContiguous, false>},
    {"aten::adaptive_max_pool1d", "", adaptive_pool<1, Format::kFlat, true>},
    {"aten::adaptive_max_pool2d", "", adaptive_pool<2, Format::kSuggested, true>},
    {"aten::adaptive_max_pool3d", "", adaptive_pool<3, Format::kContiguous, true>},
    {"aten::avg_pool1d", "", avg_pool<1, Format::kFlat>},
    {"aten::avg_pool2d", "", avg_pool<2, Format::kSuggested>},
    {"aten::avg_pool3d", "", avg_pool<3, Format::kContiguous>},
    {"aten::max_pool1d", "", max_pool<1, Format::kContiguous, false>},
    {"aten::max_pool2d", "", max_pool<2, Format::kSuggested, false>},
    {"aten::max_pool2d_with_indices", "", max_pool<2, Format::kSuggested, true>},
    {"aten::max_pool3d", "", max_pool<3, Format::kSuggested, false>},
    {"aten::max_pool3d_with_indices", "", max_pool<3, Format::kSuggested, true>},
};

}  // namespace

std::span<const ShapeRuleRow> pool_shape_rules() { return kPoolRules; }

}  // namespace opscope::engine
