#include "analyse/trace/calls.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace opscope {

TraceCalls::TraceCalls(RecordedTrace& trace) : trace_(trace) {
  std::ranges::stable_sort(trace.calls, [](const RecordedCall& a, const RecordedCall& b) {
    return std::tuple(a.thread, a.begin, b.end) < std::tuple(b.thread, b.begin, a.end);
  });
  const std::size_t count = trace.calls.size();
  parent_.assign(count, kNone);
  end_.assign(count, 0);
  std::vector<Id> running;
  const auto close = [&](Id next) {
    end_[running.back()] = next;
    running.pop_back();
  };
  for (Id i = 0; i < count; ++i) {
    const RecordedCall& call = trace.calls[i];
    while (!running.empty()) {
      const RecordedCall& outer = trace.calls[running.back()];
      const bool inside = outer.thread == call.thread && call.begin < outer.end;
      const bool at_once = outer.thread == call.thread && call.begin == outer.begin && call.end == outer.end;
      if (inside || at_once) break;
      close(i);
    }
    if (!running.empty()) parent_[i] = running.back();
    running.push_back(i);
  }
  while (!running.empty()) close(static_cast<Id>(count));
}

Id TraceCalls::around(std::uint32_t thread, TraceTime at) const {
  const auto after =
      std::ranges::upper_bound(trace_.calls, std::pair(thread, at), {},
                               [](const RecordedCall& call) { return std::pair(call.thread, call.begin); });
  if (after == trace_.calls.begin()) return kNone;
  auto call = static_cast<Id>(after - trace_.calls.begin() - 1);
  if (trace_.calls[call].thread != thread) return kNone;
  while (call != kNone && trace_.calls[call].end < at) call = parent_[call];
  return call;
}

Id TraceCalls::numbered(std::uint32_t external) const {
  const auto number = [&](Id call) { return trace_.calls[call].external; };
  if (by_number_.empty()) {
    by_number_.resize(size());
    std::iota(by_number_.begin(), by_number_.end(), Id{0});
    std::ranges::stable_sort(by_number_, {}, number);
  }
  const auto found = std::ranges::lower_bound(by_number_, external, {}, number);
  return external != 0 && found != by_number_.end() && number(*found) == external ? *found : kNone;
}

}  // namespace opscope
