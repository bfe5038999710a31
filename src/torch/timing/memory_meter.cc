// The meter stands where a profiler would. It is one, switched off, for those who ask what stands there.
#include "torch/timing/memory_meter.h"

#include <torch/csrc/profiler/orchestration/observer.h>

#include <algorithm>
#include <mutex>
#include <unordered_set>

namespace opscope::engine {
namespace {

using torch::profiler::impl::ActiveProfilerType;
using torch::profiler::impl::ProfilerConfig;
using torch::profiler::impl::ProfilerState;
using torch::profiler::impl::ProfilerStateBase;

class MemoryMeter : public ProfilerStateBase {
 public:
  explicit MemoryMeter(c10::Device device)
      : ProfilerStateBase(ProfilerConfig(ProfilerState::Disabled, false, /*profile_memory=*/true)),
        device_(device) {}

  // Negative sizes are memory given back. Autograd's threads report too.
  void reportMemoryUsage(void*, std::int64_t size, std::size_t, std::size_t, c10::Device device) override {
    if (device != device_) return;
    const std::lock_guard lock(mutex_);
    now_ += size;
    peak_ = std::max(peak_, now_);
  }
  ActiveProfilerType profilerType() override { return ActiveProfilerType::NONE; }

  std::uint64_t peak() const { return static_cast<std::uint64_t>(peak_); }

 private:
  const c10::Device device_;
  std::mutex mutex_;
  std::int64_t now_ = 0, peak_ = 0;
};

// The strided tensors that one of another layout is made of.
std::vector<at::Tensor> parts_of(const at::Tensor& tensor) {
  const auto layout = tensor.layout();
  if (layout == c10::kSparse) return {tensor._indices(), tensor._values()};
  if (layout == c10::kSparseCsr || layout == c10::kSparseBsr)
    return {tensor.crow_indices(), tensor.col_indices(), tensor.values()};
  if (layout == c10::kSparseCsc || layout == c10::kSparseBsc)
    return {tensor.ccol_indices(), tensor.row_indices(), tensor.values()};
  return {tensor};
}

}  // namespace

std::optional<std::uint64_t> peak_growth(c10::Device device, const std::function<void()>& call) {
  const auto place = c10::DebugInfoKind::PROFILER_STATE;
  if (c10::ThreadLocalDebugInfo::get(place)) return std::nullopt;
  const auto meter = std::make_shared<MemoryMeter>(device);
  {
    const c10::DebugInfoGuard listening(place, meter);
    call();
  }
  return meter->peak();
}

std::uint64_t held_bytes(const std::vector<at::Tensor>& tensors, c10::Device device) {
  std::unordered_set<const c10::StorageImpl*> counted;
  std::uint64_t total = 0;
  for (const auto& tensor : tensors)
    for (const auto& part : parts_of(tensor))
      if (part.has_storage() && part.device() == device &&
          counted.insert(part.storage().unsafeGetStorageImpl()).second)
        total += part.storage().nbytes();
  return total;
}

}  // namespace opscope::engine
