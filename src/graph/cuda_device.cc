#include "graph/cuda_device.h"

#include "base/text.h"

namespace opscope {

std::string to_text(const CudaDevice& device) {
  return std::to_string(device.major) + "." + std::to_string(device.minor) + "x" +
         std::to_string(device.processors);
}

std::optional<CudaDevice> cuda_device_from(std::string_view text) {
  const auto dot = text.find('.'), times = text.find('x');
  if (dot == std::string_view::npos || times == std::string_view::npos || times < dot) return std::nullopt;
  const auto major = number_from<std::int64_t>(text.substr(0, dot));
  const auto minor = number_from<std::int64_t>(text.substr(dot + 1, times - dot - 1));
  const auto processors = number_from<std::int64_t>(text.substr(times + 1));
  constexpr std::int64_t kMost = 100'000;
  if (!major || !minor || !processors || *major < 5 || *major > 99 || *minor < 0 || *minor > 9 ||
      *processors < 1 || *processors > kMost)
    return std::nullopt;
  return CudaDevice{*major, *minor, *processors};
}

}  // namespace opscope
