// What a measured run does on the host beside its ops: whose modules that time is, on which lines of the
// user's code it passes, where the host waits for the device, what goes from one device to another, and of a
// device's idle time, why it was idle.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"

namespace opscope {

// Whether it was measured what passes outside of ops.
inline bool has_wall(const Profile& profile) { return !profile.graph->measurement.outside.empty(); }

// What an op's call takes on the host; where that is what ops are timed by, the very time.
Count host_time_of(const Graph& graph, std::span<const OpCost> costs, OpId op);

// Outside of ops in a module's call and in none below it: the median.
Count outside_of(const Graph& graph, ScopeId scope);

// Metrics::outside_time and wall_time of each module's own calls, without those below; nothing where they
// were not measured. Medians over runs, as all times, so that they add up.
void add_own_walls(const Graph& graph, std::span<const OpCost> costs, std::vector<Metrics>& by_module);
// Of the whole model.
void add_wall(const Graph& graph, std::span<const OpCost> costs, Metrics& totals);

// Time outside of ops on one line of code, in all modules that run it; where the line is not known, in one
// module.
struct OutsideRow {
  std::string_view source{};           // "/home/me/model.py:42"; empty: not known, or none of the user's
  ModuleId module = 0;                 // where it is longest
  std::uint32_t modules = 1;           // that run it
  OpId after = kNone, before = kNone;  // the ops around the longest
  std::uint64_t count = 0;             // times that ops are that far apart
  double seconds = 0;
  bool waits = false;  // for the device: torch.cuda.synchronize()

  double each() const { return count ? seconds / static_cast<double>(count) : seconds; }
};

// Ops of one type and line.
struct HostOps {
  std::string_view op{}, source{};
  ModuleId module = 0;
  std::vector<OpId> ops{};
  double seconds = 0;             // of their calls on the host
  std::string_view from{}, to{};  // devices, where it is a transfer
  Count bytes{};                  // of the tensors that go over
};

// One run on a device, op by op.
struct DeviceStep {
  double called = 0, returned = 0;  // on the host
  double begin = 0, end = 0;        // on the device; as long as nothing where it has no work there
  bool waits = false;               // its call returns when the device is done
};
// In seconds of a run.
struct DeviceGaps {
  double busy = 0;
  double host_late = 0;   // idle: the next op had not come, or was just being launched
  double after_wait = 0;  // a part of that: the host had waited for the device, and had then to catch up
  double waiting = 0;     // of the host, in ops that wait for the device
  double at_end = 0;      // of the host, once it has called all ops
};
DeviceGaps device_gaps(std::span<const DeviceStep> steps);

struct HostTime {
  double outside = 0, wall = 0;     // seconds; 0 where they are not known
  std::vector<OutsideRow> lines{};  // the longest first
  double usual_gap = 0;             // between two ops: the median
  std::vector<HostOps> waits{};     // ops whose results Python or the next size waits for, the longest first
  std::vector<HostOps> transfers{};
  std::optional<DeviceGaps> device{};  // of the typical run
};
HostTime host_time(const Profile& profile);

// Whether a row is more than a gap as there is between any two ops, and worth a person's time.
bool is_long_gap(const HostTime& host, const OutsideRow& row);

}  // namespace opscope
