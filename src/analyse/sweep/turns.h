// Where a model's behaviour turns within a sweep: its intensity passes the ridge, attention overtakes the
// linear layers, its memory passes a limit, squares dominate, the device has more to do than to wait for, one
// device becomes faster than another. And the largest size that fits into a memory and a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/memory/need.h"
#include "analyse/sweep/sweep.h"

namespace opscope {

enum class TurnKind : std::uint8_t { kRidge, kAttention, kMemory, kQuadratic, kHost, kDevice };
std::string_view name(TurnKind kind);  // "ridge", "attention", "memory", "quadratic", "host", "device"

// One line through the sweep, along its axis, with all others held.
struct TurnLine {
  enum class Course : std::uint8_t { kCrosses, kAbove, kBelow };
  SweepPlace held;  // the axis' own entry aside
  Course course = Course::kBelow;
  std::int64_t before = 0, after = 0;  // crosses: the last value on the one side, the first on the other
  bool upward = true;
  double nearest = 0;  // value over threshold where it comes closest, for lines that do not cross
  std::int64_t nearest_at = 0;

  bool is_exact(std::int64_t step) const { return after - before == step; }
};

struct Turn {
  TurnKind kind = TurnKind::kRidge;
  std::size_t axis = 0;
  std::size_t device = 0;  // whose time it is about; of kDevice: that beside the first's
  std::int64_t step = 1;   // of the axis: sides of images go in steps of 32
  std::vector<TurnLine> lines;
};

// Figures at a place that is no point of the sweep; nullopt where nobody can tell.
using FiguresAt = std::function<std::optional<SweepFigures>(const SweepPlace&)>;

// `memory`: the limit, where there is one. Crossings are narrowed down by `at`.
std::vector<Turn> find_turns(const SweepResult& result, std::optional<Count> memory, const FiguresAt& at);

// By how much a point is past what the turn is about: above 1, it is.
double turn_ratio(TurnKind kind, const SweepFigures& figures, std::optional<Count> memory,
                  std::size_t device = 0);

// The largest batch, length or image that fits into a memory and whose predicted time stays within a limit:
// found by what few captures say, and certain because the answer and the next value above it are captured
// themselves.
struct FitQuestion {
  std::string variable = "batch";
  std::int64_t first = 1, step = 1;  // the smallest value, and how far apart values are
  std::int64_t most = std::int64_t{1} << 20;
  Count memory{};                        // 0: no limit
  Count max_time{};                      // of the predicted time, picoseconds; 0: no limit
  Reserve reserve{.by_default = false};  // what allocator and driver take beside the tensors
};

// As they were written; "" for what was not.
struct FitLimits {
  std::string memory, max_time, reserve;
};

// What is asked, from its words. Without a memory ("24GiB") it is the device's. A reserve ("2GiB", "10%") is
// in place of what allocator and driver need by default. A time ("20ms") is one on the device.
FitQuestion fit_question(std::string variable, const FitLimits& limits, std::optional<std::int64_t> step,
                         const Device* device, bool flags = true);

struct FitPoint {
  std::int64_t value = 0;
  SweepFigures figures;
  MemoryNeed need{};    // of the peak, with what is kept beside the tensors
  TimeRange time{};     // p10 and p90 of the predicted time
  std::string peak_at;  // the layer that runs then
};

// What would come next, were the first limit lifted.
struct FitSecond {
  enum class Kind : std::uint8_t {
    kUnknown,
    kPositions,  // the model's positions end at `at`
    kMemory,     // the memory would end at about `at`
    kTime        // so would the time
  };
  Kind kind = Kind::kUnknown;
  std::int64_t at = 0;  // the last value that is possible
};
std::string_view name(FitSecond::Kind kind);  // "unknown", "positions", "memory", "time"

struct FitAnswer {
  enum class End : std::uint8_t {
    kMemory,    // one more does not fit
    kTime,      // one more takes too long
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
  std::string model, source, inputs;        // inputs: at the best value
  std::string hardware, device_name, mode;  // of the predicted times; "": there are none
  std::vector<std::string> notes{};         // what they rest on
  std::size_t captures = 0;
  // What one step more adds to the peak where memory is the limit: the kind that grows most, and its bytes.
  std::optional<MemoryKind> grows{};
  Count growth{};  // of that kind, per step
  FitSecond second{};
};

// The graph at a value; nullptr and why not.
using FitCapture = std::function<void(std::int64_t value,
                                      const std::function<void(const Graph*, const std::string&)>& give)>;
FitAnswer find_fit(const FitQuestion& question, const ProfileOptions& options, const FitCapture& capture);

}  // namespace opscope
