// What cuDNN carries out on a CUDA device that need not be there, where the CPU has other ops for it:
// recurrent layers and batch norm in training. PyTorch's own conditions decide.
#include <algorithm>
#include <array>

#include "torch/engine/cuda_device.h"
#include "torch/engine/execute.h"

namespace opscope::engine {

namespace {

constexpr std::int64_t kMostTrainingBatch = 880801, kMostBatch = 65535;  // of cuDNN's batch norm
constexpr double kLeastEpsilon = 0;                                      // since cuDNN 8

bool is_defined(const c10::IValue& value) { return value.isTensor() && value.toTensor().defined(); }

std::optional<at::Tensor> optional(const c10::IValue& value) {
  return is_defined(value) ? std::optional(value.toTensor()) : std::nullopt;
}

// input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled
bool takes_cudnn_batch_norm(at::ArrayRef<c10::IValue> arguments) {
  const auto& input = arguments[0].toTensor();
  if (!is_defined(arguments[1]) || !is_defined(arguments[2]) || !arguments[8].toBool()) return false;
  const auto& weight = arguments[1].toTensor();
  if (input.scalar_type() == at::kBFloat16 || weight.scalar_type() == at::kBFloat16) return false;
  if (input.scalar_type() == at::kDouble || input.dim() < 3) return false;
  const bool training = arguments[5].toBool(), means = is_defined(arguments[3]),
             variances = is_defined(arguments[4]);
  if (means != variances || (!means && !training)) return false;
  return input.size(0) <= (training ? kMostTrainingBatch : kMostBatch) &&
         arguments[7].toDouble() >= kLeastEpsilon;
}

bool run_batch_norm(const Call& call) {
  const auto arguments = call.arguments();
  if (!takes_cudnn_batch_norm(arguments)) return false;
  std::array<c10::IValue, 5> results;
  {
    DepthGuard inside;
    const AutogradLooks no_longer(false);
    auto [out, mean, variance, reserve] = at::cudnn_batch_norm(
        arguments[0].toTensor(), arguments[1].toTensor(), optional(arguments[2]), optional(arguments[3]),
        optional(arguments[4]), arguments[5].toBool(), arguments[6].toDouble(), arguments[7].toDouble());
    results = {std::move(out), std::move(mean), std::move(variance), std::move(reserve), 1};
  }
  call.put_back(call.base(), results);
  return true;
}

// cuDNN's numbers for the kinds of layers.
std::optional<std::int64_t> mode_of(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"aten::rnn_relu", "aten::rnn_tanh", "aten::lstm",
                                                   "aten::gru"};
  const auto found = std::ranges::find(kNames, name);
  return found == kNames.end() ? std::nullopt : std::optional<std::int64_t>(found - kNames.begin());
}

// input, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
bool run_recurrent(const Call& call) {
  if (call.op.schema().overload_name() != "input") return false;
  const auto arguments = call.arguments();
  const auto input = arguments[0].toTensor();
  const auto parameters = arguments[2].toTensorVector();
  const auto wants = [](const at::Tensor& tensor) { return tensor.requires_grad(); };
  if (!at::GradMode::is_enabled() || !(wants(input) || std::ranges::any_of(parameters, wants))) return false;
  const auto mode = mode_of(call.name());
  if (!mode || parameters.empty()) return false;
  const bool two = arguments[1].isTensorList();
  const auto hidden = two ? arguments[1].toTensorVector()[0] : arguments[1].toTensor();
  const auto cell = two ? std::optional(arguments[1].toTensorVector()[1]) : std::nullopt;
  const auto size = (cell ? *cell : hidden).size(2), projected = hidden.size(2) == size ? 0 : hidden.size(2);
  const std::int64_t each = (arguments[3].toBool() ? 4 : 2) + (projected > 0 ? 1 : 0);
  std::array<c10::IValue, 3> results;
  {
    DepthGuard inside;
    const AutogradLooks no_longer(false);
    auto made = at::_cudnn_rnn(input, parameters, each, std::nullopt, hidden, cell, *mode, size, projected,
                               arguments[4].toInt(), arguments[8].toBool(), arguments[5].toDouble(),
                               arguments[6].toBool(), arguments[7].toBool(), {}, std::nullopt);
    results = {std::get<0>(made), std::get<1>(made), std::get<2>(made)};
  }
  call.put_back(call.base(), at::ArrayRef<c10::IValue>(results.data(), two ? 3 : 2));
  return true;
}

}  // namespace

CudaRoute find_cuda_route(std::string_view op) {
  if (op == "aten::scaled_dot_product_attention") return run_attention;
  if (op == "aten::_batch_norm_impl_index") return run_batch_norm;
  return mode_of(op) ? run_recurrent : nullptr;
}

}  // namespace opscope::engine
