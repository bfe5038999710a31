// Kineto traces written by hand, one event at a time.
#pragma once

#include <fmt/format.h>

#include <string>

namespace opscope::test {

class SmallTrace {
 public:
  // Times in nanoseconds.
  void event(std::string_view category, std::string_view name, int thread, long begin, long duration,
             std::string_view args = "") {
    text_ += fmt::format(R"({}{{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": {}, "ts": {}.{:03}, )"
                         R"("dur": {}.{:03}, "args": {{{}}}}})",
                         text_.empty() ? "" : ",\n", category, name, thread, begin / 1000, begin % 1000,
                         duration / 1000, duration % 1000, args);
  }
  void call(std::string_view name, long begin, long duration, std::string_view dims = "", int thread = 1) {
    event("cpu_op", name, thread, begin, duration,
          dims.empty() ? "" : fmt::format(R"("Input Dims": {})", dims));
  }
  // A kernel that is launched at `launch`.
  void kernel(std::string_view name, long launch, long begin, long duration, int thread = 1) {
    ++correlation_;
    event("cuda_runtime", "cudaLaunchKernel", thread, launch, 2,
          fmt::format(R"("cbid": 211, "correlation": {})", correlation_));
    event("kernel", name, 7, begin, duration, fmt::format(R"("correlation": {}, "stream": 7)", correlation_));
  }
  void step(int number, long begin, long duration) {
    event("user_annotation", fmt::format("ProfilerStep#{}", number), 1, begin, duration);
  }
  void raw(std::string_view json) { text_ += fmt::format("{}{}", text_.empty() ? "" : ",\n", json); }

  std::string events() const { return text_; }
  std::string json() const { return "{\"schemaVersion\": 1, \"traceEvents\": [\n" + text_ + "\n]}"; }

 private:
  std::string text_;
  int correlation_ = 0;
};

}  // namespace opscope::test
