// A capture in this thread, from construction to destruction: switches the mode on, and puts back everything
// that running a model under it can change.
#pragma once

#include <ATen/CPUGeneratorImpl.h>

#include <memory>

#include "torch/recording/recording.h"

namespace opscope::engine {

class CaptureGuard {
 public:
  // Throws Error when this thread is capturing already.
  explicit CaptureGuard(std::shared_ptr<Recording> recording);
  ~CaptureGuard();
  CaptureGuard(const CaptureGuard&) = delete;
  CaptureGuard& operator=(const CaptureGuard&) = delete;

  // Between the runs of a measurement: ops go by unseen, all else stays as it is.
  void set_watching(bool on);

 private:
  std::shared_ptr<Recording> recording_;
  bool grad_mode_;
  int depth_;
  std::shared_ptr<c10::ThreadLocalDebugInfo> before_;
  const c10::DebugInfoBase* profiler_;  // that ran before
  caffe2::TypeMeta default_dtype_;
  struct {
    at::mt19937 engine;
    std::optional<float> next_float;
    std::optional<double> next_double;
  } random_;  // the default generator's state
  bool autocast_;
  at::ScalarType autocast_dtype_;
  int threads_;
};

}  // namespace opscope::engine
