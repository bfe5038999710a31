// A model at one size after the other: read from its file, or captured by one Python process that builds the
// model once and is told what to capture next.
#pragma once

#include <optional>

#include "app/cases/sweep.h"
#include "app/worker/python_worker.h"
#include "base/error.h"

namespace opscope {

class ModelPoints : public PointSource {
 public:
  explicit ModelPoints(Listener& listener) : listener_(listener) {}

  // Throws Error where Python itself is at an end, and Interrupted after Ctrl-C.
  void capture(const CaptureRequest& base, std::span<const CaptureRequest> requests,
               const Give& give) override;
  void expect(std::size_t total) override { total_ = total; }
  void throw_first_problem() const override {
    if (first_problem_) throw *first_problem_;
  }

 private:
  void read_files(std::span<const CaptureRequest> requests, const Give& give);
  void ask(const CaptureRequest& base, std::span<const CaptureRequest> requests, const Give& give);
  void fail(std::size_t index, const Error& problem, const Give& give);
  void say(const std::string& model) { listener_.progress(++done_, total_, "capturing " + model); }

  Listener& listener_;
  SignalsNoted signals_;
  std::optional<PythonWorker> worker_;
  std::optional<Error> first_problem_;
  std::size_t done_ = 0, total_ = 0;
};

}  // namespace opscope
