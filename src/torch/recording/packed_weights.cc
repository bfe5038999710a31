#include "torch/recording/packed_weights.h"

#include <ATen/native/quantized/PackedParams.h>

#include "torch/engine/execute.h"

namespace opscope::engine {

at::Tensor packed_weight(const c10::IValue& value) {
  if (!value.isCustomClass()) return {};
  const auto type = value.toObjectRef().type()->name()->name();
  c10::impl::ExcludeDispatchKeyGuard off(kModeKey);
  if (type == "LinearPackedParamsBase")
    return std::get<0>(value.toCustomClass<LinearPackedParamsBase>()->unpack());
  if (type == "Conv2dPackedParamsBase")
    return std::get<0>(value.toCustomClass<ConvPackedParamsBase<2>>()->unpack());
  if (type == "Conv3dPackedParamsBase")
    return std::get<0>(value.toCustomClass<ConvPackedParamsBase<3>>()->unpack());
  return {};
}

}  // namespace opscope::engine
