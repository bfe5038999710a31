// What a measurement says: statistics over runs of every group of ops, what the whole run took beside its
// ops, and how far the two agree. A profile's `time` is one number per op, so that groups add up; the spread
// of a group comes from its sum in each run.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"
#include "base/groups.h"
#include "base/statistics.h"
#include "graph/graph.h"

namespace opscope {

Statistics statistics(std::span<const Nanoseconds> samples);  // those that are measured

// An op's sample without what the clock itself takes, never below 0.
constexpr Nanoseconds net(const Measurement& measurement, Nanoseconds sample) {
  return sample > measurement.empty_interval ? sample - measurement.empty_interval : 0;
}

// OpCost::time of every op: the median of its runs.
void add_times(const Graph& graph, std::vector<OpCost>& costs);

// Statistics of any group of a measured profile's ops, made where they are asked for.
class OpTimes {
 public:
  explicit OpTimes(const Profile& profile);

  Statistics of_ops(std::span<const OpId> ops) const;  // of their sums in each run
  Statistics of_op(OpId op) const { return of_ops({&op, 1}); }
  Statistics of_layer(std::size_t layer) const { return of_ops(by_layer_.of(layer)); }
  // With those below it; by row of Profile::modules.
  Statistics of_module(std::size_t row) const { return of_ops(ops_of_module(row)); }
  Statistics of_module_alone(std::size_t row) const { return of_ops(by_row_.of(row)); }
  // Of several rows together: equal blocks that a report shows as one.
  Statistics of_modules(std::span<const std::uint32_t> rows) const;
  // Host time of the calls of a row's module, with all that Python did in them.
  Statistics of_calls(std::size_t row) const;
  Statistics of_host(std::span<const OpId> ops) const;  // from calls to their returns, whatever the clock

  std::span<const OpId> ops_of_module(std::size_t row) const {  // with those below it
    return std::span(by_row_.ids)
        .subspan(by_row_.begins[row], by_row_.begins[ends_[row]] - by_row_.begins[row]);
  }
  std::span<const OpId> all() const { return by_row_.ids; }

 private:
  const Profile& profile_;
  const Measurement& measured_;
  IdGroups by_row_, by_layer_, scopes_by_row_;
  std::vector<std::uint32_t> ends_;  // by row: one past its subtree
};

// One phase of a training step, or the whole of a forward run.
struct PhaseTimes {
  std::string_view name;  // text of the graph
  Metrics metrics;
  Statistics time;
};

// Whole runs beside the sum of their ops.
struct RunTimes {
  Statistics plain, timed;                // until all work was done, without the clock and with it
  Statistics plain_device, timed_device;  // on the device, from the first thing that it was given to the last
  Statistics ops;                         // the sum of op times, run by run
  Statistics host_ops;                    // on a device: the sum of what their calls took on the host
  Statistics outside;                     // of the host, while no op ran; none where that is not known
  std::vector<PhaseTimes> phases;         // of a training step
  std::uint64_t unmeasured_ops = 0;       // without any sample
  // As the tables have them: sums of medians, which add up.
  double op_seconds = 0, outside_seconds = 0, wall_seconds = 0;
  bool has_wall = false;

  // Seconds of a typical run without the clock, on the clock that ops are timed by.
  double whole() const { return on_device ? plain_device.median : plain.median; }
  double overhead() const { return plain.median > 0 ? timed.median / plain.median : 0; }  // 1.03; 0: unknown
  // What the ops are a part of: on the host all that passed in timed runs, where that is known.
  double reference() const { return has_wall && !on_device ? wall_seconds : whole(); }
  double accounted() const {
    return reference() > 0 ? op_seconds / reference() : 0;
  }  // by the ops; 0: unknown
  double whole_timed() const { return on_device ? timed_device.median : timed.median; }
  // A clock only adds: runs that were clearly quicker with it met a busier machine without it.
  bool is_reversed() const { return whole_timed() > 0 && whole_timed() < 0.95 * whole(); }
  // Of a run, outside of ops.
  double idle() const {
    if (has_wall && !on_device) return outside_seconds;
    return std::max((is_reversed() ? whole_timed() : whole()) - op_seconds, 0.0);
  }
  bool on_device = false;
};
RunTimes run_times(const Profile& profile, const OpTimes& times);

// By row of Profile::types.
std::vector<std::vector<OpId>> ops_by_type(const Profile& profile);

// FLOPs and bytes a second at a profile's own times; 0 where nothing was measured.
double flops_per_second(const Metrics& metrics);
double bytes_per_second(const Metrics& metrics);

// One measured run laid out in time: phases, module calls with their ops inside, and what the device did. For
// viewers that draw slices, so every slice lies exactly inside the one around it.
struct TimelineSlice {
  Nanoseconds begin = 0, end = 0;  // from the start of the run
  Id id = 0;                       // of the phase, scope or op
  std::uint32_t depth = 0;         // slices around it in its lane
  std::uint32_t phase = 0;         // in which it ran
  bool is_op = false;              // else a module's call, or a phase
  bool is_outside = false;         // or a long stretch without an op, in the call of the scope `id`
  Id line = kNone;                 // of that, in Measurement::lines; kNone: not known
  bool is_leaf() const { return is_op || is_outside; }
};

struct RunTimeline {
  std::vector<TimelineSlice> phases;  // empty for a forward run alone
  std::vector<TimelineSlice> host;    // by begin, the outer one first
  std::vector<TimelineSlice> device;  // one after the other; ops that give the device nothing to do have none
  Nanoseconds end = 0;                // of all of them
};

// Of the run that is typical for the measurement. A module's call is where it was measured; where ops ran in
// a module's name but not in its call, as in a backward pass, around each row of such ops. Throws Error where
// there is no measurement, or none that tells when ops began.
RunTimeline run_timeline(const Graph& graph);

}  // namespace opscope
