// ONNX ops that slide a window or resample: convolutions, pools, resizing.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "readers/onnx/call.h"

namespace opscope {
namespace {

std::string with_dims(std::string_view stem, std::size_t spatial) {
  return std::string(stem) + static_cast<char>('0' + spatial) + "d";
}

struct Window {
  Shape kernel = {}, strides = {}, dilations = {}, begins = {}, ends = {};
  bool rounds_up = false, same = false;
};

// Attributes of Conv and the pools, filled up with their defaults; nullopt where their lengths do not fit.
std::optional<Window> window_of(const OnnxCall& call, std::vector<std::int64_t> kernel) {
  const auto n = kernel.size();
  const auto given = [&](std::string_view name, std::size_t count, std::int64_t usual) {
    const auto items = call.integers(name);
    return items.empty() ? Shape(count, usual) : items;
  };
  Window w{
      .kernel = std::move(kernel), .strides = given("strides", n, 1), .dilations = given("dilations", n, 1)};
  auto pads = given("pads", 2 * n, 0);
  if (w.strides.size() != n || w.dilations.size() != n || pads.size() != 2 * n) return std::nullopt;
  const auto automatic = call.text("auto_pad", "NOTSET");
  if (automatic == "VALID") pads.assign(2 * n, 0);
  const auto middle = pads.begin() + static_cast<std::ptrdiff_t>(n);
  w.begins.assign(pads.begin(), middle);
  w.ends.assign(middle, pads.end());
  w.rounds_up = call.integer("ceil_mode", 0) != 0;
  w.same = automatic.starts_with("SAME");
  for (const auto* sizes : {&w.kernel, &w.strides, &w.dilations})
    if (std::ranges::any_of(*sizes, [](std::int64_t size) { return size <= 0; })) return std::nullopt;
  return w;
}

std::int64_t windows(const Window& w, std::size_t i, std::int64_t size) {
  if (w.same) return clamp_size((__int128{size} + w.strides[i] - 1) / w.strides[i]);
  const __int128 room =
      __int128{size} + w.begins[i] + w.ends[i] - __int128{w.dilations[i]} * (w.kernel[i] - 1) - 1;
  if (room < 0) return 0;
  __int128 count = (room + (w.rounds_up ? w.strides[i] - 1 : 0)) / w.strides[i] + 1;
  // A window that would begin in the padding behind the end is none.
  if (w.rounds_up && (count - 1) * w.strides[i] >= __int128{size} + w.begins[i]) --count;
  return clamp_size(count);
}

// The window's size from the attribute, else from the weight.
std::vector<std::int64_t> kernel_of(const OnnxCall& call, std::size_t weight) {
  auto kernel = call.integers("kernel_shape");
  if (kernel.empty() && call.shape(weight).size() > 2)
    kernel.assign(call.shape(weight).begin() + 2, call.shape(weight).end());
  return kernel;
}

// x, weight and bias are at these inputs: those of the quantised forms are apart.
bool conv_from(OnnxCall& call, std::size_t x, std::size_t weight, std::size_t bias, DType dtype) {
  if (!call.has(weight) || call.rank(x) < 3 || call.rank(weight) != call.rank(x)) return false;
  const auto spatial = call.shape(x).size() - 2;
  const auto w = window_of(call, kernel_of(call, weight));
  if (!w || w->kernel.size() != spatial) return false;
  Shape shape{call.dim(x, 0), call.dim(weight, 0)};
  for (std::size_t i = 0; i < spatial; ++i) shape.push_back(windows(*w, i, call.shape(x)[i + 2]));
  return call.answer(spatial <= 3 ? with_dims("aten::conv", spatial) : "aten::convolution",
                     {call.tensor("input", x), call.tensor("weight", weight), call.tensor("bias", bias),
                      call.list("stride", w->strides), call.list("padding", w->begins),
                      call.list("dilation", w->dilations), call.number("groups", call.integer("group", 1))},
                     {shape, dtype});
}

bool conv(OnnxCall& call, std::string_view) { return conv_from(call, 0, 1, 2, call.dtype(0)); }
bool conv_integer(OnnxCall& call, std::string_view) {
  return conv_from(call, 0, 1, call.input_count(), DType::kInt32);
}
bool quantised_conv(OnnxCall& call, std::string_view) {
  return conv_from(call, 0, 3, 8, call.dtype(7) != DType::kUndefined ? call.dtype(7) : call.dtype(0));
}

bool conv_transpose(OnnxCall& call, std::string_view) {
  if (call.rank(0) < 3 || call.rank(1) != call.rank(0)) return false;
  const auto spatial = call.shape(0).size() - 2;
  const auto w = window_of(call, kernel_of(call, 1));
  const auto groups = call.integer("group", 1);
  if (!w || w->kernel.size() != spatial || spatial > 3 || groups < 1) return false;
  auto extra = call.integers("output_padding");
  const auto wanted = call.integers("output_shape");
  extra.resize(spatial);
  Shape shape{call.dim(0, 0), clamp_size(__int128{call.dim(1, 1)} * groups)};
  for (std::size_t i = 0; i < spatial; ++i) {
    const auto size = __int128{call.shape(0)[i + 2]};
    const auto full =
        (size - 1) * w->strides[i] + __int128{w->dilations[i]} * (w->kernel[i] - 1) + 1 + extra[i];
    shape.push_back(wanted.size() == spatial ? std::max<std::int64_t>(wanted[i], 0)
                    : w->same                ? clamp_size(size * w->strides[i])
                                             : clamp_size(full - w->begins[i] - w->ends[i]));
  }
  return call.answer(
      with_dims("aten::conv_transpose", spatial),
      {call.tensor("input", 0), call.tensor("weight", 1), call.tensor("bias", 2),
       call.list("stride", w->strides), call.list("padding", w->begins), call.list("output_padding", extra),
       call.number("groups", groups), call.list("dilation", w->dilations)},
      {shape});
}

bool pool(OnnxCall& call, std::string_view aten) {
  const auto w = window_of(call, call.integers("kernel_shape"));
  if (!w || w->kernel.empty() || w->kernel.size() > 3) return false;
  const auto spatial = w->kernel.size();
  if (call.shape(0).size() != spatial + 2) return false;
  Shape shape{call.dim(0, 0), call.dim(0, 1)};
  for (std::size_t i = 0; i < spatial; ++i) shape.push_back(windows(*w, i, call.shape(0)[i + 2]));
  const bool has_indices = call.wants(1);
  auto name = with_dims(aten, spatial);
  if (has_indices) name += "_with_indices";
  std::vector<OnnxOutput> outputs{call.settle(0, {shape})};
  if (has_indices) outputs.push_back({shape, DType::kInt64});
  return call.answer_all(
      name,
      {call.tensor("self", 0), call.list("kernel_size", w->kernel), call.list("stride", w->strides),
       call.list("padding", w->begins),
       aten == "aten::max_pool" ? call.list("dilation", w->dilations) : call.flag("ceil_mode", w->rounds_up)},
      outputs);
}

bool global_pool(OnnxCall& call, std::string_view aten) {
  if (call.rank(0) < 3 || call.rank(0) > 5) return false;
  const auto spatial = call.shape(0).size() - 2;
  Shape shape{call.dim(0, 0), call.dim(0, 1)};
  shape.resize(spatial + 2, 1);
  return call.answer(
      with_dims(aten, spatial),
      {call.tensor("self", 0), call.list("output_size", std::vector<std::int64_t>(spatial, 1))}, {shape});
}

// The norm of each window.
bool norm_pool(OnnxCall& call, std::string_view aten) {
  const auto w = window_of(call, call.integers("kernel_shape"));
  if (!w || w->kernel.empty() || call.shape(0).size() != w->kernel.size() + 2) return false;
  Shape shape{call.dim(0, 0), call.dim(0, 1)};
  for (std::size_t i = 0; i < w->kernel.size(); ++i) shape.push_back(windows(*w, i, call.shape(0)[i + 2]));
  return call.answer(
      aten,
      {call.tensor("self", 0), call.list("kernel_size", w->kernel), call.number("p", call.integer("p", 2))},
      {shape});
}

bool global_norm_pool(OnnxCall& call, std::string_view aten) {
  if (call.rank(0) < 3) return false;
  Shape shape{call.dim(0, 0), call.dim(0, 1)}, axes;
  for (std::int64_t i = 2; i < call.rank(0); ++i) axes.push_back(i);
  shape.resize(call.shape(0).size(), 1);
  return call.answer(aten,
                     {call.tensor("self", 0), call.number("ord", call.integer("p", 2)),
                      call.list("dim", axes), call.flag("keepdim", true)},
                     {shape});
}

// Each value goes back to where the index says; the rest is zero.
bool unpool(OnnxCall& call, std::string_view) {
  const auto w = window_of(call, call.integers("kernel_shape"));
  if (!w || w->kernel.empty() || call.shape(0).size() != w->kernel.size() + 2) return false;
  Shape shape{call.dim(0, 0), call.dim(0, 1)};
  for (std::size_t i = 0; i < w->kernel.size(); ++i)
    shape.push_back(clamp_size((__int128{call.shape(0)[i + 2]} - 1) * w->strides[i] + w->kernel[i] -
                               w->begins[i] - w->ends[i]));
  if (const auto* told = call.numbers(2); told != nullptr && told->size() == shape.size())
    for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = std::max<std::int64_t>(told->integer(i), 0);
  return call.answer(w->kernel.size() > 2 ? "aten::max_unpool3d" : "aten::max_unpool2d",
                     {call.tensor("self", 0), call.tensor("indices", 1)}, {shape});
}

bool region_pool(OnnxCall& call, std::string_view aten) {
  const auto size = call.integers("pooled_shape");
  if (call.rank(0) != 4 || call.rank(1) != 2 || size.size() != 2 || has_negative(size)) return false;
  return call.answer(aten,
                     {call.tensor("input", 0), call.tensor("rois", 1), call.number("pooled_height", size[0]),
                      call.number("pooled_width", size[1])},
                     {{call.dim(1, 0), call.dim(0, 1), size[0], size[1]}});
}

bool deform_conv(OnnxCall& call, std::string_view aten) {
  if (call.rank(0) != 4 || call.rank(1) != 4) return false;
  const auto w = window_of(call, kernel_of(call, 1));
  if (!w || w->kernel.size() != 2) return false;
  Shape shape{call.dim(0, 0), call.dim(1, 0)};
  for (std::size_t i = 0; i < 2; ++i) shape.push_back(windows(*w, i, call.shape(0)[i + 2]));
  return call.answer(aten,
                     {call.tensor("input", 0), call.tensor("weight", 1), call.tensor("offset", 2),
                      call.tensor("mask", 4), call.tensor("bias", 3), call.flag("use_mask", call.has(4))},
                     {shape});
}

// --- Resizing

std::int64_t whole_size(double size) {
  return size >= 0 && size < 9e18 ? static_cast<std::int64_t>(size) : 0;
}

// The axes that are resized, each once: all where none are named.
std::optional<std::vector<std::size_t>> resized_axes(const OnnxCall& call) {
  const auto named = call.integers("axes");
  if (named.empty()) return all_axes(call.shape(0).size());
  auto axes = axes_of(named, call.shape(0).size());
  if (axes && std::set(axes->begin(), axes->end()).size() < axes->size()) return std::nullopt;
  return axes;
}

// Sizes are what is asked for, or, where the proportions are to be kept, what the one scale that fits makes.
std::optional<Shape> shape_of_sizes(const OnnxCall& call, std::span<const std::size_t> axes,
                                    const Numbers& sizes) {
  Shape shape = call.shape(0);
  const auto policy = call.text("keep_aspect_ratio_policy", "stretch");
  const bool stretches = policy == "stretch", is_least = policy == "not_larger";
  if (!stretches && !is_least && policy != "not_smaller") return std::nullopt;
  std::optional<double> scale;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    auto& size = shape[axes[i]];
    const auto wanted = std::max<std::int64_t>(sizes.integer(i), 0);
    if (!stretches && size == 0) return std::nullopt;
    const double one = static_cast<double>(wanted) / static_cast<double>(std::max<std::int64_t>(size, 1));
    scale = !scale ? one : is_least ? std::min(*scale, one) : std::max(*scale, one);
    if (stretches) size = wanted;
  }
  if (!stretches)
    for (const auto axis : axes)
      shape[axis] = whole_size(std::floor(*scale * static_cast<double>(shape[axis]) + 0.5));
  return shape;
}

Shape shape_of_scales(const OnnxCall& call, std::span<const std::size_t> axes, const Numbers& scales) {
  Shape shape = call.shape(0);
  for (std::size_t i = 0; i < axes.size(); ++i)
    shape[axes[i]] = whole_size(static_cast<double>(shape[axes[i]]) * scales.real(i));
  return shape;
}

bool resize(OnnxCall& call, std::string_view) {
  if (call.rank(0) < 3 || call.rank(0) > 5) return false;
  const bool is_old = call.node().op_type == "Upsample" || call.opset() < 11;
  const auto* scales = call.numbers(is_old ? 1 : 2);
  Numbers listed{.is_real = true};  // Upsample before opset 9: in an attribute
  if (const auto* found = call.attribute("scales"); found != nullptr && !found->reals.empty()) {
    listed.reals.assign(found->reals.begin(), found->reals.end());
    scales = &listed;
  }
  const auto* sizes = is_old ? nullptr : call.numbers(3);
  const auto rank = call.shape(0).size();
  const auto axes = resized_axes(call);
  std::optional<Shape> shape;
  if (axes && sizes != nullptr && sizes->size() == axes->size())
    shape = shape_of_sizes(call, *axes, *sizes);
  else if (axes && scales != nullptr && scales->size() == axes->size())
    shape = shape_of_scales(call, *axes, *scales);
  if (!shape) shape = call.declared_shape(0, false);
  if (!shape || shape->size() != rank) return false;
  const auto spatial = rank - 2;
  const auto mode = call.text("mode", "nearest");
  std::string name = with_dims("aten::upsample_nearest", spatial);
  if (mode == "linear")
    name = spatial == 1   ? "aten::upsample_linear1d"
           : spatial == 2 ? "aten::upsample_bilinear2d"
                          : "aten::upsample_trilinear3d";
  if (mode == "cubic") name = "aten::upsample_bicubic2d";
  if (mode == "cubic" && spatial != 2) return false;
  if (call.integer("antialias", 0) != 0 && mode != "nearest") {
    if (spatial != 2) return false;
    name = mode == "cubic" ? "aten::_upsample_bicubic2d_aa" : "aten::_upsample_bilinear2d_aa";
  }
  return call.answer(name, {call.tensor("self", 0), call.list("output_size", std::span(*shape).subspan(2))},
                     {*shape});
}

bool grid_sample(OnnxCall& call, std::string_view) {
  if (call.rank(0) != call.rank(1) || call.rank(0) < 4 || call.rank(0) > 5) return false;
  Shape shape{call.dim(0, 0), call.dim(0, 1)};
  for (std::int64_t i = 1; i + 1 < call.rank(1); ++i) shape.push_back(call.dim(1, i));
  const auto mode = call.text("mode", "linear");
  return call.answer("aten::grid_sampler",
                     {call.tensor("input", 0), call.tensor("grid", 1),
                      call.number("interpolation_mode", mode == "nearest"         ? 1
                                                        : mode.ends_with("cubic") ? 2
                                                                                  : 0)},
                     {shape});
}

// theta [N, 2, 3] or [N, 3, 4], and the size of the image: a place in the input for each in the output.
bool affine_grid(OnnxCall& call, std::string_view aten) {
  const auto* size = call.numbers(1);
  std::optional<Shape> shape;
  if (call.rank(0) != 3) return false;
  if (size != nullptr && size->size() > 2) {
    shape = Shape{call.dim(0, 0)};
    for (std::size_t i = 2; i < size->size(); ++i)
      shape->push_back(std::max<std::int64_t>(size->integer(i), 0));
    shape->push_back(call.dim(0, 1));
  }
  shape = call.or_declared(shape);
  return shape && call.answer(aten, {call.tensor("theta", 0)}, {*shape});
}

constexpr auto kWindowsRules = std::to_array<OnnxRule>({
    {"AffineGrid", affine_grid, "aten::affine_grid_generator", 2},
    {"AveragePool", pool, "aten::avg_pool"},
    {"Conv", conv},
    {"ConvInteger", conv_integer},
    {"ConvTranspose", conv_transpose, {}, 2},
    {"DeformConv", deform_conv, "torchvision::deform_conv2d", 3},
    {"GlobalAveragePool", global_pool, "aten::adaptive_avg_pool"},
    {"GlobalLpPool", global_norm_pool, "aten::linalg_vector_norm"},
    {"GlobalMaxPool", global_pool, "aten::adaptive_max_pool"},
    {"GridSample", grid_sample, {}, 2},
    {"LpPool", norm_pool, "onnx::LpPool"},
    {"MaxPool", pool, "aten::max_pool"},
    {"MaxRoiPool", region_pool, "torchvision::roi_pool", 2},
    {"MaxUnpool", unpool, {}, 2},
    {"QLinearConv", quantised_conv},
    {"Resize", resize},
    {"Upsample", resize},
});
static_assert(std::ranges::is_sorted(kWindowsRules, {}, &OnnxRule::type));

}  // namespace

std::span<const OnnxRule> onnx_window_rules() { return kWindowsRules; }

}  // namespace opscope
