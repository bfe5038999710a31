// A clock on the ops of real runs. On the host a steady clock; on a device its own events, which are put into
// the stream around each op and read once the run is over, so that nothing waits. Events are made once and
// used again.
#pragma once

#include <c10/core/Event.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/outside.h"
#include "torch/engine/torch_headers.h"

namespace opscope::engine {

// Nanoseconds of a clock that never goes back.
Nanoseconds now();

// A device's own clock, where it has one.
class DeviceClock {
 public:
  explicit DeviceClock(c10::Device device);

  // Puts a mark into the stream that this thread uses; its number.
  std::uint32_t mark();
  // Makes marks until there are so many, before the clock is needed.
  void prepare(std::size_t marks);
  void wait() const;  // until the device has done all it was given
  Nanoseconds between(std::uint32_t from, std::uint32_t to) const;
  void reset() { used_ = 0; }
  // What it shows beside a kernel's own time, while the device is busy.
  Nanoseconds empty_interval();
  // Gives the device something else to do for about so long, so that what follows waits for it in the queue.
  void delay(Nanoseconds time);

 private:
  Nanoseconds around_smallest();
  c10::Device device_;
  c10::impl::VirtualGuardImpl backend_;
  std::vector<c10::Event> events_;
  std::size_t used_ = 0;
  at::Tensor square_, product_;  // what a delay multiplies
  Nanoseconds product_time_ = 0;
};

// How a run is timed. An op that waits for its own launch would count the wait as its own: in a paced run the
// device is kept behind the host, so that each op finds the next already there, and its time is its kernels'.
enum class Pace : std::uint8_t {
  kFree,  // as the model runs: the host's clock on each op; in some, a mark on the device behind one in eight
  kPaced,   // marks around each op, and delays between them
  kByLine,  // as free, without marks: beside it someone follows the lines of the user's code, which is slower
};

// Free runs with marks are these, the first among them: marks cost the host as much as many an op.
inline constexpr std::size_t kMarkedRuns = 4;

// The runs of one graph's model. The first may be the one that is being recorded.
class Timing {
 public:
  explicit Timing(c10::Device device);

  // The runs that follow are expected to do what this graph says; without it, one run that is being recorded.
  void expect(const Graph& graph);
  bool expects() const { return expects_; }

  bool on_device() const { return clock_.has_value(); }

  void begin_run(Pace pace = Pace::kFree);
  void end_run();      // waits for the device
  void abandon_run();  // it failed
  // The lines of the run by line, which is over.
  void take_lines(LineSteps lines) { lines_ = std::move(lines); }
  // A run without the clock on its ops; what it took is kept beside.
  void begin_plain_run() { begin_whole(); }
  void end_plain_run() { end_whole(plain_, plain_device_); }

  std::size_t begin_op(TargetId target);
  void end_op(std::size_t entry);
  std::size_t enter(ModuleId module);
  void leave(std::size_t entry);

  // All samples, by op and scope of the graph.
  Measurement take(const Graph& graph);

  void forget_runs();  // what warmed things up

 private:
  struct OpEntry {
    TargetId target;
    Nanoseconds begin = 0, end = 0;
    std::uint32_t first_mark = kNone, last_mark = kNone;
    Nanoseconds device_begin = 0, device = 0;
  };
  struct ScopeEntry {
    ModuleId module;
    Nanoseconds begin = 0, end = 0;
  };
  struct Run {
    Nanoseconds began = 0, returned = 0;  // on the host, before it waits for the device
    Pace pace = Pace::kFree;
    std::vector<OpEntry> ops;
    std::vector<ScopeEntry> scopes;
  };
  void begin_whole();
  void end_whole(std::vector<Nanoseconds>& host, std::vector<Nanoseconds>& device);
  void read_marks(Run& run) const;
  bool launches(TargetId target);
  void mark_before(OpEntry& op);
  void keep_behind();
  void fill_host(const Graph& graph, Measurement& made) const;
  void fill_device(const Graph& graph, Measurement& made) const;
  void place_on_device(const Graph& graph, Measurement& made) const;
  void fill_scopes(const Graph& graph, Measurement& made) const;
  void fill_outside(const Graph& graph, Measurement& made) const;
  static HostRun host_run(const Graph& graph, const Run& run);

  const std::string device_name_;
  std::optional<DeviceClock> clock_;
  std::mutex mutex_;  // autograd's threads time their ops too
  std::vector<Run> runs_, paced_;
  std::optional<Run> by_line_;
  LineSteps lines_;
  Run current_;
  bool running_ = false, expects_ = false;
  Nanoseconds began_ = 0;
  std::uint32_t first_mark_ = 0;
  std::size_t behind_ = 0;           // ops for which the device is kept busy still
  Nanoseconds host_per_launch_ = 0;  // by the last free run
  std::vector<TargetId> expected_;   // by op
  std::vector<char> launches_;       // by op: gives the device something to do
  std::size_t launch_count_ = 0;
  std::size_t next_ = 0;  // op that is expected now
  std::vector<Nanoseconds> plain_, timed_, plain_device_, timed_device_;
  Nanoseconds empty_interval_ = 0;
};

// An op under the clock, from construction to destruction.
class TimedOp {
 public:
  TimedOp(Timing* timing, TargetId target) : timing_(timing), entry_(timing ? timing->begin_op(target) : 0) {}
  ~TimedOp() {
    if (timing_) timing_->end_op(entry_);
  }
  TimedOp(const TimedOp&) = delete;
  TimedOp& operator=(const TimedOp&) = delete;

 private:
  Timing* timing_;
  std::size_t entry_;
};

}  // namespace opscope::engine
