// Threads that a model starts: each is in the capture of the thread that started it, from its place in the
// model on.
#pragma once

#include <memory>
#include <optional>

#include "torch/recording/recording.h"

namespace opscope::engine {

// A capture that lasts, by its number (Storages::capture); nullptr where it is over.
std::shared_ptr<Recording> find_recording(std::uint64_t capture);
void open_recording(const std::shared_ptr<Recording>& recording);
void close_recording(Recording& recording);

// Where a thread is that starts another.
struct Fork {
  std::shared_ptr<Recording> recording;
  Place place;
  bool grad_mode = false;  // of the thread that is started: PyTorch's own default in training

  // Of this thread; nothing where it is in no capture, or inside an op, whose parts are not recorded.
  static std::optional<Fork> here();
  // Of a thread that came to the capture's tensors by a way that nobody has told of.
  static Fork stray(std::shared_ptr<Recording> recording);
};

// This thread is in a capture, from construction to destruction.
class InCapture {
 public:
  explicit InCapture(Fork fork);
  ~InCapture();
  InCapture(const InCapture&) = delete;
  InCapture& operator=(const InCapture&) = delete;

 private:
  Fork fork_;
  Scopes::OwnPlace place_;
  std::shared_ptr<c10::ThreadLocalDebugInfo> info_;
  bool watched_;
  bool grad_mode_;
  int depth_, below_caches_;
};

}  // namespace opscope::engine
