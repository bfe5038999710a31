#include "graph/outside.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace opscope {
namespace {

constexpr std::size_t kMostLines = 1000;
constexpr Nanoseconds kLeastLine = 1'000;  // shorter ones are noise

struct Event {
  Nanoseconds at;
  Id index;
  bool of_op, begins;
};

std::vector<Event> events_of(const HostRun& run) {
  std::vector<Event> events;
  events.reserve(2 * (run.calls.size() + run.ops.size()));
  const auto add = [&](const auto& spans, bool of_op) {
    for (Id i = 0; i < spans.size(); ++i) {
      if (spans[i].end < spans[i].begin) continue;  // one that never came back
      events.push_back({spans[i].begin, i, of_op, true});
      events.push_back({spans[i].end, i, of_op, false});
    }
  };
  add(run.calls, false), add(run.ops, true);
  std::ranges::stable_sort(events, {}, &Event::at);
  return events;
}

class Walk {
 public:
  Walk(const HostRun& run, const std::function<void(const OutsidePiece&)>& visit)
      : run_(run), visit_(visit) {}

  void go() {
    since_ = run_.began;
    for (const Event& event : events_of(run_)) {
      const Nanoseconds at = std::clamp(event.at, since_, std::max(since_, run_.ended));
      if (running_ == 0 && at > since_) add(at);
      since_ = at;
      event.of_op ? op(event) : call(event);
    }
    if (running_ == 0 && run_.ended > since_) add(run_.ended);
    deliver(kNone);
  }

 private:
  // The op that follows is not known yet.
  void add(Nanoseconds until) {
    pieces_.push_back({.scope = scope(), .after = last_, .begin = since_, .end = until});
  }
  void deliver(OpId before) {
    for (OutsidePiece& piece : pieces_) {
      piece.before = before;
      visit_(piece);
    }
    pieces_.clear();
  }
  ScopeId scope() const {
    for (auto call = open_.rbegin(); call != open_.rend(); ++call)
      if (run_.calls[*call].scope != kNone) return run_.calls[*call].scope;
    return 0;
  }
  void op(const Event& event) {
    running_ += event.begins ? 1 : -1;
    if (event.begins) return deliver(run_.ops[event.index].op);
    last_ = run_.ops[event.index].op;
  }
  // Threads of the model call modules too: what is over need not be what began last.
  void call(const Event& event) {
    if (event.begins) return open_.push_back(event.index);
    const auto found = std::find(open_.rbegin(), open_.rend(), event.index);
    if (found != open_.rend()) open_.erase(std::next(found).base());
  }

  const HostRun& run_;
  const std::function<void(const OutsidePiece&)>& visit_;
  std::vector<OutsidePiece> pieces_;
  std::vector<Id> open_;  // calls
  Nanoseconds since_ = 0;
  OpId last_ = kNone;
  int running_ = 0;  // ops
};

}  // namespace

void each_outside(const HostRun& run, const std::function<void(const OutsidePiece&)>& visit) {
  Walk(run, visit).go();
}

std::vector<OutsideLine> outside_lines(const HostRun& run, const LineSteps& steps) {
  struct Sum {
    Nanoseconds time = 0, longest = 0;
    std::uint64_t count = 0, piece = 0;
    OpId after = kNone, before = kNone;
  };
  std::uint64_t piece_count = 0;
  std::map<std::tuple<ScopeId, Id, bool>, Sum> sums;
  auto next = steps.steps.begin();  // the first step that lies behind
  LineSteps::Step now;
  each_outside(run, [&](const OutsidePiece& piece) {
    ++piece_count;
    const auto add = [&](Nanoseconds begin, Nanoseconds end) {
      if (end <= begin) return;
      Sum& sum = sums[{piece.scope, now.line, now.waits}];
      const Nanoseconds time = end - begin;
      if (std::exchange(sum.piece, piece_count) != piece_count) ++sum.count;
      sum.time += time;
      if (time > sum.longest) sum.longest = time, sum.after = piece.after, sum.before = piece.before;
    };
    Nanoseconds at = piece.begin;
    for (; next != steps.steps.end() && next->at < piece.end; ++next) {
      if (next->at > at) add(at, next->at), at = next->at;
      now = *next;
    }
    add(at, piece.end);
  });
  std::vector<OutsideLine> lines;
  if (steps.steps.empty()) return lines;
  for (const auto& [key, sum] : sums) {
    const auto& [scope, line, waits] = key;
    if (sum.time < kLeastLine) continue;
    lines.push_back({.scope = scope,
                     .after = sum.after,
                     .before = sum.before,
                     .source = line == kNone ? "" : steps.lines[line],
                     .waits = waits,
                     .count = sum.count,
                     .time = sum.time});
  }
  std::ranges::stable_sort(lines, std::ranges::greater{}, &OutsideLine::time);
  if (lines.size() > kMostLines) lines.resize(kMostLines);
  return lines;
}

}  // namespace opscope
