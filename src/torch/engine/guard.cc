#include "torch/engine/guard.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/profiler_kineto.h>

#include "base/error.h"
#include "torch/engine/execute.h"
#include "torch/engine/threads.h"

// Of the OpenMP that PyTorch runs on, where it does.
extern "C" void omp_set_num_threads(int count) __attribute__((weak));

namespace opscope::engine {

namespace {

at::CPUGeneratorImpl& default_generator() {
  return *at::check_generator<at::CPUGeneratorImpl>(at::detail::getDefaultCPUGenerator());
}

// A device shown as a pretended one: PyTorch asks for a guard when it indexes a tensor, and there is nothing
// to guard. A build without CUDA has no guard; that of a build with it fails where there is no driver.
// Whether there is one to pretend.
bool ensure_device_guard(c10::DeviceType type) {
  if (type != c10::DeviceType::CUDA) return false;
  static const c10::impl::NoOpDeviceGuardImpl<c10::DeviceType::CUDA> nothing;
  auto& guard = c10::impl::device_guard_impl_registry[static_cast<std::size_t>(type)];
  const auto* const own = guard.load();
  if (own && own != &nothing && own->deviceCount() > 0) return false;
  guard.store(&nothing);
  return true;
}

// How many threads the kernels called from this thread use. at::set_num_threads would also set it for every
// thread that starts later.
void set_own_threads(int count) {
  if (omp_set_num_threads) omp_set_num_threads(count);
}

const c10::DebugInfoBase* running_profiler() {
  return c10::ThreadLocalDebugInfo::get(c10::DebugInfoKind::PROFILER_STATE);
}

// One that the model left running. Where it is only forgotten, torch 2.8 to 2.11 refuse all later ones.
void stop_profiler() {
  try {
    torch::autograd::profiler::disableProfiler();
  } catch (const std::exception&) {  // something of the model's own is on top of it
  }
}

}  // namespace

CaptureGuard::CaptureGuard(std::shared_ptr<Recording> recording)
    : recording_(std::move(recording)),
      grad_mode_(at::GradMode::is_enabled()),
      depth_(depth),
      before_(c10::ThreadLocalDebugInfo::current()),
      profiler_(running_profiler()),
      default_dtype_(c10::get_default_dtype()),
      threads_(at::get_num_threads()) {
  if (Recording::current())
    throw Error("a capture is already running in this thread", recording_->graph.capture.model,
                "profile the inner model on its own, outside the outer model's forward");
  register_backend_kernels();
  open_recording(recording_);
  if (recording_->lasting) {
    set_watching(true);
    return;
  }
  recording_->pretends = ensure_device_guard(recording_->device.type());
  {
    auto& generator = default_generator();
    std::lock_guard lock(generator.mutex_);
    random_ = {generator.engine(), generator.next_float_normal_sample(),
               generator.next_double_normal_sample()};
  }
  autocast_ = at::autocast::is_autocast_enabled(recording_->device.type());
  autocast_dtype_ = at::autocast::get_autocast_dtype(recording_->device.type());
  at::autocast::clear_cache();
  at::GradMode::set_enabled(false);
  recording_->threads = threads_;
  // What is computed in a static capture is small, and other threads would be waited for.
  if (!recording_->eager) set_own_threads(1);
  set_watching(true);
}

void CaptureGuard::set_watching(bool on) {
  c10::impl::tls_set_dispatch_key_included(kModeKey, on);
  if (running_profiler() != profiler_) stop_profiler();
  // Not _pop: it throws where the model left something of its own on top, such as a running profiler.
  c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(before_);
  if (on) c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::TEST_INFO, recording_);
  depth = on ? 0 : depth_;
}

CaptureGuard::~CaptureGuard() {
  set_watching(false);
  close_recording(*recording_);
  recording_->storages.lifetimes->close();
  if (recording_->lasting) return;
  recording_->journal.restore_all();
  at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(recording_->device.type(), autocast_);
  at::autocast::set_autocast_dtype(recording_->device.type(), autocast_dtype_);
  at::GradMode::set_enabled(grad_mode_);
  c10::set_default_dtype(default_dtype_);
  {
    auto& generator = default_generator();
    std::lock_guard lock(generator.mutex_);
    generator.set_engine(random_.engine);
    generator.set_next_float_normal_sample(random_.next_float);
    generator.set_next_double_normal_sample(random_.next_double);
  }
  if (!recording_->eager) set_own_threads(threads_);
}

}  // namespace opscope::engine
