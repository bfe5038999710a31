#include "cost/library_workspace.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "ops/op_rule.h"

namespace opscope {
namespace {

// cuBLAS's pool on Hopper, for each handle: PyTorch has one for each thread that multiplies. cuBLASLt, which
// adds a bias in the product, takes another.
constexpr std::uint64_t kPool = std::uint64_t{32} << 20, kBiasPool = std::uint64_t{1} << 20;

struct Interval {
  Count least{}, most{};
};

// --- pools

bool is_on_cuda(const Graph& graph, const Op& op) {
  const auto outputs = graph.outputs_of(op);
  return !outputs.empty() && graph.text(graph.values[outputs[0]].device).starts_with("cuda");
}

bool multiplies(std::string_view name) {
  static constexpr std::array<std::string_view, 10> kNames{"linear",  "matmul", "mm",       "addmm", "bmm",
                                                           "baddbmm", "einsum", "bilinear", "dot",   "mv"};
  return std::ranges::find(kNames, op_type(name)) != kNames.end();
}

bool adds_bias(const Graph& graph, const Op& op) {
  if (op_type(graph.op_name(op)) == "addmm") return true;
  if (op_type(graph.op_name(op)) != "linear") return false;
  const auto arguments = graph.arguments_of(op);
  return arguments.size() > 2 && arguments[2].kind == ArgumentKind::kTensor;
}

// Backward's products run in a thread of the device's own.
Count pools(const Graph& graph) {
  std::array<bool, 2> multiplied{}, biased{};
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    if (!multiplies(graph.op_name(op)) || !is_on_cuda(graph, op)) continue;
    const std::size_t thread = !graph.phases.empty() && phase_of(graph, id) == 1 ? 1 : 0;
    multiplied[thread] = true;
    biased[thread] |= adds_bias(graph, op);
  }
  const Count pool{graph.cuda ? graph.cuda->cublas_pool_bytes : kPool};
  Count sum{};
  for (const std::size_t thread : {0U, 1U})
    sum += (multiplied[thread] ? pool : Count{}) + Count{biased[thread] ? kBiasPool : 0};
  return sum;
}

// --- convolutions. cuDNN's kernels for tensor cores want channels last, each channel count a multiple of 16
// bytes: what comes with channels first is copied into that order, and the result back. Which kernel runs,
// and whether it splits the sum into parts, only cuDNN knows.

const Value* value_of(const Graph& graph, const Op& op, std::string_view first,
                      std::string_view second = "") {
  for (const Argument& argument : graph.arguments_of(op)) {
    const auto name = graph.text(argument.name);
    if (argument.kind == ArgumentKind::kTensor && (name == first || (!second.empty() && name == second)))
      return &graph.values[static_cast<ValueId>(argument.integer)];
  }
  return nullptr;
}

bool has_channels_last(const Graph& graph, const Value& value) {
  const auto shape = graph.shape(value), strides = graph.strides(value);
  return shape.size() > 2 && strides.size() == shape.size() && strides[1] == 1 && shape[1] > 1;
}

// Its bytes with channels last, their count padded.
double copied_bytes(const Graph& graph, const Value& value) {
  const auto shape = graph.shape(value);
  const double element = static_cast<double>(bytes_of(value.dtype, Count{1}).value());
  const double channels = static_cast<double>(shape[1]), step = 16 / std::max(element, 1.0);
  return static_cast<double>(bytes_of(graph, value).value()) / channels * std::ceil(channels / step) * step;
}

// In shares of input, result and weight together, as measured over the convolutions of 27 models on an H200
// (docs/memory_measured.md).
struct Shares {
  double least, most;
};

struct Convolution {
  const Value *input, *weight, *result;
  bool is_backward;
  std::span<const std::int64_t> window, places;  // of the weight, and the result's

  bool is_depthwise(const Graph& graph) const { return window[1] == 1 && graph.shape(*input)[1] > 1; }
  bool is_point() const {
    return std::ranges::all_of(window.subspan(2), [](std::int64_t side) { return side == 1; });
  }
  bool has_few_channels(const Graph& graph) const { return graph.shape(*input)[1] <= 4; }
};

Shares shares_of(const Graph& graph, const Convolution& conv) {
  if (conv.is_depthwise(graph)) return {0, !conv.is_backward ? 0 : conv.window.back() < 7 ? 2.0 : 5.0};
  if (conv.has_few_channels(graph)) return {0, conv.is_backward ? 1.35 : 1.15};
  if (conv.is_point()) return {0, conv.is_backward ? 1.15 : 1};
  return {0.5, conv.is_backward ? 1.35 : 1.15};
}

// The gradient of a weight of one place may be summed up image by image, each in float32.
double images_bytes(const Graph& graph, const Convolution& conv) {
  constexpr double kFewPlaces = 256;
  if (!conv.is_backward || !conv.is_point()) return 0;
  double places = 1;
  for (const std::int64_t side : conv.places.subspan(2)) places *= static_cast<double>(side);
  if (places > kFewPlaces) return 0;
  return static_cast<double>(conv.places[0]) * static_cast<double>(numel(graph.shape(*conv.weight)).value()) *
         4;
}

Interval of_convolution(const Graph& graph, const Op& op) {
  const bool is_backward = short_op_name(graph.op_name(op)) == "convolution_backward";
  const Value* input = value_of(graph, op, "input", "self");
  const Value* weight = value_of(graph, op, "weight");
  const Value* result =
      is_backward ? value_of(graph, op, "grad_output") : &graph.values[graph.outputs_of(op)[0]];
  if (!input || !weight || !result) return {};
  const Convolution conv{input, weight, result, is_backward, graph.shape(*weight), graph.shape(*result)};
  if (conv.window.size() < 3 || graph.shape(*input).size() != conv.window.size() ||
      conv.places.size() != conv.window.size() || has_channels_last(graph, *input))
    return {};
  const double bytes =
      copied_bytes(graph, *input) + copied_bytes(graph, *result) + copied_bytes(graph, *weight);
  const auto [least, most] = shares_of(graph, conv);
  return {Count{static_cast<std::uint64_t>(bytes * least)},
          Count{static_cast<std::uint64_t>(std::max(bytes * most, images_bytes(graph, conv)))}};
}

bool is_convolution(std::string_view name) {
  static constexpr std::array<std::string_view, 9> kNames{"conv1d",
                                                          "conv2d",
                                                          "conv3d",
                                                          "convolution",
                                                          "convolution_backward",
                                                          "cudnn_convolution",
                                                          "conv_transpose1d",
                                                          "conv_transpose2d",
                                                          "conv_transpose3d"};
  return std::ranges::find(kNames, short_op_name(name)) != kNames.end();
}

}  // namespace

LibraryWorkspace library_workspace(const Graph& graph, std::span<const Count> alive, Count peak) {
  const bool on_cuda = std::ranges::any_of(graph.ops, [&](const Op& op) { return is_on_cuda(graph, op); });
  if (!on_cuda) return {};
  LibraryWorkspace found{.pools = pools(graph)};
  found.least_by_op.resize(graph.ops.size());
  found.most_by_op.resize(graph.ops.size());
  Count least = peak, most = peak;
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    const Op& op = graph.ops[id];
    if (!is_convolution(graph.op_name(op)) || !is_on_cuda(graph, op)) continue;
    const Interval interval = of_convolution(graph, op);
    least = std::max(least, alive[id] + (found.least_by_op[id] = interval.least));
    most = std::max(most, alive[id] + (found.most_by_op[id] = interval.most));
  }
  found.least = Count{least.value() - peak.value()} + found.pools;
  found.most = Count{most.value() - peak.value()} + found.pools;
  return found;
}

}  // namespace opscope
