#include "torch/engine/threads.h"

#include <mutex>
#include <unordered_map>

namespace opscope::engine {

namespace {

struct Open {
  std::mutex mutex;
  std::unordered_map<std::uint64_t, std::weak_ptr<Recording>> recordings;  // by capture
};

Open& open() {
  static auto* made = new Open;  // never destroyed: threads may outlive what is
  return *made;
}

}  // namespace

std::shared_ptr<Recording> find_recording(std::uint64_t capture) {
  std::lock_guard lock(open().mutex);
  const auto found = open().recordings.find(capture);
  return found == open().recordings.end() ? nullptr : found->second.lock();
}

void open_recording(const std::shared_ptr<Recording>& recording) {
  std::lock_guard lock(open().mutex);
  recording->closed = false;
  open().recordings[recording->storages.capture] = recording;
}

void close_recording(Recording& recording) {
  {
    const Lock no_op_runs(recording);
    recording.closed = true;
  }
  std::lock_guard lock(open().mutex);
  open().recordings.erase(recording.storages.capture);
}

std::optional<Fork> Fork::here() {
  auto* const recording = Recording::current();
  if (!recording || depth > 0 || !c10::impl::tls_is_dispatch_key_included(kModeKey) ||
      c10::impl::tls_is_dispatch_key_excluded(kModeKey))
    return std::nullopt;
  return Fork{recording->shared_from_this(), recording->scopes.place(), recording->threads_want_grad};
}

Fork Fork::stray(std::shared_ptr<Recording> recording) {
  return {std::move(recording), {.stray = true}, at::GradMode::is_enabled()};
}

InCapture::InCapture(Fork fork)
    : fork_(std::move(fork)),
      place_(fork_.recording->scopes, fork_.place),
      info_(c10::ThreadLocalDebugInfo::current()),
      watched_(c10::impl::tls_is_dispatch_key_included(kModeKey)),
      grad_mode_(at::GradMode::is_enabled()),
      depth_(std::exchange(depth, 0)),
      below_caches_(std::exchange(below_caches, 0)) {
  ++fork_.recording->threads_inside;
  {
    const Lock lock(*fork_.recording);
    fork_.recording->scopes.begin_thread();
  }
  if (!fork_.place.stray) c10::impl::tls_set_dispatch_key_included(kModeKey, true);
  c10::ThreadLocalDebugInfo::_push(c10::DebugInfoKind::TEST_INFO, fork_.recording);
  at::GradMode::set_enabled(fork_.grad_mode);
}

InCapture::~InCapture() {
  at::GradMode::set_enabled(grad_mode_);
  c10::ThreadLocalDebugInfo::_forceCurrentDebugInfo(info_);
  c10::impl::tls_set_dispatch_key_included(kModeKey, watched_);
  depth = depth_;
  below_caches = below_caches_;
  --fork_.recording->threads_inside;
}

}  // namespace opscope::engine
