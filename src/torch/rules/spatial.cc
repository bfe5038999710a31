// Shape rules of layers over spatial dimensions: pooling, up- and downsampling, padding, windows and the
// shuffling of pixels and channels.
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
  sizes = sizes_of(*pool.input);
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

// Whether the dimensions follow each other in memory without gaps, the innermost named first.
bool lies_in_order(const at::Tensor& tensor, std::initializer_list<std::int64_t> order) {
  std::int64_t expected = 1;
  for (const std::int64_t d : order) {
    if (tensor.size(d) != 1 && tensor.stride(d) != expected) return false;
    expected *= tensor.size(d);
  }
  return true;
}

// Of a volume without a batch: channels last where its memory is, which suggest_memory_format does not tell.
Sizes volume_strides(const at::Tensor& input, const Sizes& sizes) {
  if (lies_in_order(input, {3, 2, 1, 0}) || !lies_in_order(input, {0, 3, 2, 1}))
    return engine::contiguous_strides(sizes);
  Sizes whole{1};
  whole.append(sizes.begin(), sizes.end());
  const Sizes strides = format_strides(whole, at::MemoryFormat::ChannelsLast3d);
  return Sizes(strides.begin() + 1, strides.end());
}

template <std::size_t kRank, Format kFormat, bool kIndices>
bool max_pool(RuleCall& call) {
  Pool pool;
  Sizes sizes;
  if (!read_pool(call, kRank, true, pool, sizes)) return false;
  const bool is_volume = kRank == 3 && pool.input->dim() == 4;
  const Sizes strides =
      is_volume ? volume_strides(*pool.input, sizes) : strides_for(kFormat, *pool.input, sizes);
  call.output(sizes, strides, pool.input->scalar_type());
  if (kIndices) return call.output(sizes, strides, at::kLong);
  if (kRank > 1)  // they are found, and let go
    call.allocates(static_cast<std::uint64_t>(element_count(sizes)) * sizeof(std::int64_t));
  return true;
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

// grad, self, kernel_size, stride, padding, dilation, ceil_mode, indices
bool max_pool_backward(RuleCall& call) {
  const at::Tensor *grad = call.floats(0), *self = call.floats(1), *indices = call.tensor(7);
  if (!grad || !self || !indices || self->dim() != 4 || self->numel() == 0 || grad->numel() == 0)
    return false;
  if (grad->sizes() != indices->sizes() || grad->scalar_type() != self->scalar_type()) return false;
  if (!self->is_contiguous() || !grad->is_contiguous() || !indices->is_contiguous()) return false;
  const bool fits =
      grad->size(0) == self->size(0) && grad->size(1) == self->size(1) && indices->scalar_type() == at::kLong;
  return fits && call.output(self->sizes(), self->scalar_type());
}

bool emit_resized(RuleCall& call, const at::Tensor& input, const Sizes& spatial) {
  Sizes sizes{input.size(0), input.size(1)};
  for (const std::int64_t size : spatial) {
    if (size < 1) return false;
    sizes.push_back(size);
  }
  return call.output(sizes, input.scalar_type(), input.suggest_memory_format());
}

bool resizable(const at::Tensor* input, std::size_t rank) {
  return input && input->dim() == static_cast<std::int64_t>(rank) + 2 && input->numel() > 0;
}

// upsample_*(input, output_size, ..)
template <std::size_t kRank>
bool upsample(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  const Sizes spatial = call.ints(1);
  return resizable(input, kRank) && spatial.size() == kRank && emit_resized(call, *input, spatial);
}

// upsample_*.vec(input, output_size?, [align_corners,] scale_factors?): one of the two is given.
template <std::size_t kRank, std::size_t kScales>
bool upsample_vec(RuleCall& call) {
  const at::Tensor* input = call.floats(0);
  if (!resizable(input, kRank) || call.none(1) == call.none(kScales)) return false;
  Sizes spatial;
  if (!call.none(1)) {
    spatial = call.ints(1);
  } else {
    const auto scales = call.at(kScales).toListRef();
    for (std::size_t d = 0; d < scales.size() && d < kRank; ++d)
      spatial.push_back(
          static_cast<std::int64_t>(static_cast<double>(input->sizes()[d + 2]) * scales[d].toDouble()));
    if (scales.size() != kRank) return false;
  }
  return spatial.size() == kRank && emit_resized(call, *input, spatial);
}

// input [n, c, spatial...], grid [n, spatial of the output..., one coordinate per dimension]
bool grid_sampler(RuleCall& call) {
  const at::Tensor *input = call.floats(0), *grid = call.tensor(1);
  if (!input || !grid || input->dim() != grid->dim() || (input->dim() != 4 && input->dim() != 5))
    return false;
  if (input->scalar_type() != grid->scalar_type() || input->numel() == 0) return false;
  if (input->size(0) != grid->size(0) || grid->size(-1) != input->dim() - 2) return false;
  if (input->dim() == 5 && call.integer(2) == 2) return false;
  Sizes sizes{input->size(0), input->size(1)};
  for (std::int64_t d = 1; d < grid->dim() - 1; ++d) sizes.push_back(grid->size(d));
  return call.output(sizes, input->scalar_type());
}

// Pads come in pairs from the last dimension backwards. False where a size would become negative.
bool padded_sizes(const at::Tensor& input, const Sizes& pads, Sizes& sizes) {
  sizes = sizes_of(input);
  if (pads.size() % 2 != 0 || pads.size() / 2 > sizes.size()) return false;
  for (std::size_t i = 0; i < pads.size() / 2; ++i) {
    std::int64_t& size = sizes[sizes.size() - 1 - i];
    size += pads[2 * i] + pads[2 * i + 1];
    if (size < 0) return false;
  }
  return true;
}

bool constant_pad(RuleCall& call) {
  const at::Tensor* input = call.tensor(0);
  const Sizes pads = call.ints(1);
  Sizes sizes;
  if (!input || !padded_sizes(*input, pads, sizes)) return false;
  for (std::size_t i = 0; i < pads.size(); ++i)
    if (input->sizes()[sizes.size() - 1 - i / 2] + std::min<std::int64_t>(pads[i], 0) < 0) return false;
  const bool only_crops = std::all_of(pads.begin(), pads.end(), [](std::int64_t pad) { return pad <= 0; });
  if (only_crops)
    return call.output(sizes, preserved_strides({sizes, input->strides()}), input->scalar_type());
  return call.output(sizes, input->scalar_type(), input->suggest_memory_format());
}

// Reflection and replication: kRank spatial dimensions, an optional batch before the channels.
bool border_pad(RuleCall& call, std::size_t rank, bool reflects) {
  const at::Tensor* input = call.floats(0);
  const Sizes pads = call.ints(1);
  Sizes sizes;
  if (!input || pads.size() != 2 * rank || !padded_sizes(*input, pads, sizes) || input->numel() == 0)
    return false;
  const std::size_t dims = sizes.size();
  if (dims != rank + 1 && dims != rank + 2) return false;
  for (std::size_t i = 0; i < pads.size(); ++i) {
    const std::int64_t size = input->sizes()[dims - 1 - i / 2];
    if (pads[i] < 0 || (reflects && pads[i] >= size)) return false;
  }
  return call.output(sizes, input->scalar_type(), input->suggest_memory_format());
}

template <std::size_t kRank, bool kReflects>
bool border_pad_rule(RuleCall& call) {
  return border_pad(call, kRank, kReflects);
}

bool pad(RuleCall& call) {
  if (!call.at(2).isString()) return false;
  const std::string& mode = call.at(2).toStringRef();
  if (mode == "constant") return constant_pad(call);
  if (mode != "reflect" && mode != "replicate") return false;
  if (call.at(3).isDouble() && call.at(3).toDouble() != 0) return false;
  return border_pad(call, call.ints(1).size() / 2, mode == "reflect");
}

// Channels become pixels, factor by factor, or pixels channels.
template <bool kUnshuffles>
bool pixel_shuffle(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  const std::int64_t factor = call.integer(1);
  if (!self || self->dim() < 3 || factor < 1 || self->numel() == 0) return false;
  Sizes sizes = sizes_of(*self);
  std::int64_t &channels = sizes.end()[-3], &height = sizes.end()[-2], &width = sizes.end()[-1];
  const bool fits =
      kUnshuffles ? height % factor == 0 && width % factor == 0 : channels % (factor * factor) == 0;
  channels = kUnshuffles ? channels * factor * factor : channels / (factor * factor);
  height = kUnshuffles ? height / factor : height * factor;
  width = kUnshuffles ? width / factor : width * factor;
  return fits && call.output(sizes, self->scalar_type(), self->suggest_memory_format());
}

bool channel_shuffle(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  const std::int64_t groups = call.integer(1);
  if (!self || self->dim() < 3 || groups < 1 || self->size(1) % groups != 0 || self->numel() == 0)
    return false;
  return call.output(self->sizes(), self->scalar_type(), self->suggest_memory_format());
}

// The windows of a plane. Arguments from `first` on: kernel, dilation, padding, stride; two numbers each.
struct Windows {
  std::int64_t count = 1, taps = 1;
};

std::optional<Windows> read_windows(const RuleCall& call, std::size_t first, c10::IntArrayRef plane) {
  const Sizes kernel = call.ints(first), dilation = call.ints(first + 1), padding = call.ints(first + 2),
              stride = call.ints(first + 3);
  if (kernel.size() != 2 || dilation.size() != 2 || padding.size() != 2 || stride.size() != 2)
    return std::nullopt;
  Windows windows;
  for (std::size_t d = 0; d < 2; ++d) {
    if (kernel[d] < 1 || dilation[d] < 1 || padding[d] < 0 || stride[d] < 1) return std::nullopt;
    const std::int64_t room = plane[d] + 2 * padding[d] - dilation[d] * (kernel[d] - 1) - 1;
    if (room < 0) return std::nullopt;
    windows.count *= room / stride[d] + 1;
    windows.taps *= kernel[d];
  }
  return windows;
}

// unfold: [n, c, h, w] -> [n, c*kh*kw, windows]
bool im2col(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  if (!self || (self->dim() != 3 && self->dim() != 4) || self->numel() == 0) return false;
  const auto windows = read_windows(call, 1, self->sizes().slice(static_cast<std::size_t>(self->dim() - 2)));
  if (!windows) return false;
  Sizes sizes{self->size(-3) * windows->taps, windows->count};
  if (self->dim() == 4) sizes.insert(sizes.begin(), self->size(0));
  return call.output(sizes, self->scalar_type());
}

// fold: [n, c*kh*kw, windows] -> [n, c, h, w]
bool col2im(RuleCall& call) {
  const at::Tensor* self = call.floats(0);
  const Sizes plane = call.ints(1);
  if (!self || (self->dim() != 2 && self->dim() != 3) || self->numel() == 0) return false;
  if (plane.size() != 2 || plane[0] < 1 || plane[1] < 1) return false;
  const auto windows = read_windows(call, 2, plane);
  if (!windows || windows->count != self->size(-1) || self->size(-2) % windows->taps != 0) return false;
  Sizes sizes{self->size(-2) / windows->taps, plane[0], plane[1]};
  if (self->dim() == 3) sizes.insert(sizes.begin(), self->size(0));
  return call.output(sizes, self->scalar_type());
}

constexpr ShapeRuleRow kSpatialRules[] = {
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
    {"aten::max_pool2d_with_indices_backward", "", max_pool_backward},
    {"aten::_upsample_bicubic2d_aa aten::_upsample_bilinear2d_aa aten::_upsample_nearest_exact2d "
     "aten::upsample_bicubic2d aten::upsample_bilinear2d aten::upsample_nearest2d",
     "", upsample<2>},
    {"aten::_upsample_bicubic2d_aa aten::_upsample_bilinear2d_aa aten::upsample_bicubic2d "
     "aten::upsample_bilinear2d",
     "vec", upsample_vec<2, 3>},
    {"aten::_upsample_nearest_exact1d aten::upsample_linear1d aten::upsample_nearest1d", "", upsample<1>},
    {"aten::_upsample_nearest_exact1d aten::upsample_nearest1d", "vec", upsample_vec<1, 2>},
    {"aten::_upsample_nearest_exact2d aten::upsample_nearest2d", "vec", upsample_vec<2, 2>},
    {"aten::channel_shuffle", "", channel_shuffle},
    {"aten::col2im", "", col2im},
    {"aten::constant_pad_nd", "", constant_pad},
    {"aten::grid_sampler aten::grid_sampler_2d", "", grid_sampler},
    {"aten::im2col", "", im2col},
    {"aten::pad", "", pad},
    {"aten::pixel_shuffle", "", pixel_shuffle<false>},
    {"aten::pixel_unshuffle", "", pixel_shuffle<true>},
    {"aten::reflection_pad1d", "", border_pad_rule<1, true>},
    {"aten::reflection_pad2d", "", border_pad_rule<2, true>},
    {"aten::replication_pad1d", "", border_pad_rule<1, false>},
    {"aten::replication_pad2d", "", border_pad_rule<2, false>},
    {"aten::upsample_linear1d", "vec", upsample_vec<1, 3>},
    {"aten::upsample_nearest3d aten::upsample_trilinear3d", "", upsample<3>},
    {"aten::upsample_nearest3d", "vec", upsample_vec<3, 2>},
    {"aten::upsample_trilinear3d", "vec", upsample_vec<3, 3>},
};

}  // namespace

std::span<const ShapeRuleRow> spatial_shape_rules() { return kSpatialRules; }

}  // namespace opscope::engine
