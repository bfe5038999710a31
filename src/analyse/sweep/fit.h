// The largest batch, length or image that fits into a memory: found by what few captures say, and certain
// because the answer and the next value above it are captured themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "analyse/sweep/sweep.h"

namespace opscope {

struct FitQuestion {
  std::string variable = "batch";
  std::int64_t first = 1, step = 1;  // the smallest value, and how far apart values are
  std::int64_t most = std::int64_t{1} << 20;
  Count memory{}, reserve{};  // reserve: of it, for others

  Count available() const { return memory - reserve; }
};

// What is asked, from its words. Without `memory` it is the device's, of which 1 GiB is then kept for the
// driver and the allocator's gaps unless `reserve` ("2GiB", "10%") says otherwise.
FitQuestion fit_question(std::string variable, const std::string& memory, const std::string& reserve,
                         std::optional<std::int64_t> step, const Device* device);

struct FitPoint {
  std::int64_t value = 0;
  SweepFigures figures;
  std::string peak_at;  // the layer that runs then
};

struct FitAnswer {
  enum class End : std::uint8_t {
    kMemory,    // one more does not fit
    kModel,     // one more is not a size that the model takes
    kNothing,   // not even the smallest fits
    kFails,     // not even the smallest can be captured
    kUnlimited  // the largest value that is tried fits
  };
  FitQuestion question;
  End end = End::kMemory;
  std::optional<FitPoint> best, next;  // next: the first that does not fit, where it can be captured
  std::string problem;                 // of the first value that the model does not take
  std::int64_t problem_at = 0;
  std::string model, source, inputs;  // inputs: at the best value
  std::size_t captures = 0;
};

// The graph at a value; nullptr and why not.
using FitCapture = std::function<void(std::int64_t value,
                                      const std::function<void(const Graph*, const std::string&)>& give)>;
FitAnswer find_fit(const FitQuestion& question, const ProfileOptions& options, const FitCapture& capture);

}  // namespace opscope
