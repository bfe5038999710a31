// Samples and offsets -> slices. Clocks read one after the other may disagree by nanoseconds at the ends of
// slices; what sticks out is cut off at the end of the slice around it.
#include "analyse/times/run_timeline.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "base/error.h"
#include "graph/alignment.h"
#include "graph/scopes.h"

namespace opscope {
namespace {

struct Interval {
  Nanoseconds begin = kUnmeasured, end = 0;
  bool known() const { return begin != kUnmeasured; }
  bool contains(Nanoseconds at) const { return known() && begin <= at && at <= end; }
};

class Layout {
 public:
  explicit Layout(const Graph& graph) : graph_(graph), measured_(graph.measurement) {
    if (measured_.empty())
      throw Error("the model was not measured", "", "make the file with `opscope measure MODEL --save FILE`");
    if (measured_.host.empty() || measured_.host_begin.size() != graph.ops.size())
      throw Error("the measurement does not tell when its ops began", "", "measure the model again");
  }

  RunTimeline run() {
    for (ScopeId s = 0; s < graph_.scopes.size(); ++s) measured_call(s);
    for (OpId op = 0; op < graph_.ops.size(); ++op) place(op);
    close_down_to(0);
    device();
    phases();
    nest();
    for (const auto* lane : {&made_.phases, &made_.host, &made_.device})
      for (const TimelineSlice& slice : *lane) made_.end = std::max(made_.end, slice.end);
    return std::move(made_);
  }

 private:
  struct Open {
    ScopeId scope;
    std::size_t slice;  // in made_.host
  };

  static Interval interval(const std::vector<Nanoseconds>& begins, const std::vector<Nanoseconds>& lengths,
                           std::size_t id, std::size_t runs, std::size_t run) {
    if (begins.size() <= id || lengths.size() <= id * runs + run) return {};
    const Nanoseconds begin = begins[id], length = lengths[id * runs + run];
    if (begin == kUnmeasured || length == kUnmeasured) return {};
    return {begin, begin + std::min(length, kUnmeasured - 1 - begin)};
  }
  Interval of_op(OpId op) const {
    return interval(measured_.host_begin, measured_.host, op, measured_.runs, measured_.typical);
  }

  void measured_call(ScopeId scope) {
    calls_.push_back(
        interval(measured_.scope_begin, measured_.scopes, scope, measured_.runs, measured_.typical));
    if (calls_.back().known())
      made_.host.push_back({.begin = calls_.back().begin, .end = calls_.back().end, .id = scope});
  }

  // An op, and where its module is not running, a slice for each module in whose name it runs.
  void place(OpId op) {
    const Interval at = of_op(op);
    if (!at.known()) return;
    const ScopeId scope = graph_.ops[op].scope;
    const std::uint32_t phase = phase_of(graph_, op);
    if (calls_[scope].contains(at.begin))
      close_down_to(0);
    else
      open_for(scope, phase, at);
    made_.host.push_back({.begin = at.begin, .end = at.end, .id = op, .phase = phase, .is_op = true});
  }

  void open_for(ScopeId scope, std::uint32_t phase, const Interval& at) {
    path_.clear();  // from the root down
    for (ScopeId s = scope; s != kNone; s = graph_.scopes[s].parent)
      if (!calls_[s].contains(at.begin)) path_.push_back(s);
    std::ranges::reverse(path_);
    std::size_t common = 0;
    if (phase != open_phase_) close_down_to(0);
    while (common < open_.size() && common < path_.size() && open_[common].scope == path_[common]) ++common;
    close_down_to(common);
    open_phase_ = phase;
    for (std::size_t i = common; i < path_.size(); ++i) {
      open_.push_back({path_[i], made_.host.size()});
      made_.host.push_back({.begin = at.begin, .end = at.end, .id = path_[i], .phase = phase});
    }
    for (const Open& open : open_) {
      Nanoseconds& end = made_.host[open.slice].end;
      end = std::max(end, at.end);
    }
  }
  void close_down_to(std::size_t depth) { open_.resize(std::min(open_.size(), depth)); }

  // Lengths are the samples. Where the clocks of host and device do not agree on when an op began, it begins
  // with its call, and after the op ahead of it.
  void device() {
    if (!measured_.on_device) return;
    std::vector<TimelineSlice>& lane = made_.device;
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const Interval at =
          interval(measured_.device_begin, measured_.device, op, measured_.runs, measured_.typical);
      if (!at.known() || at.end <= at.begin) continue;
      lane.push_back(
          {.begin = at.begin, .end = at.end, .id = op, .phase = phase_of(graph_, op), .is_op = true});
      if (const Interval call = of_op(op); call.known()) begin_at(lane.back(), call.begin);
    }
    std::ranges::stable_sort(lane, {}, &TimelineSlice::begin);
    for (std::size_t i = 1; i < lane.size(); ++i) begin_at(lane[i], lane[i - 1].end);
  }
  // Not sooner than that, and as long as it is.
  static void begin_at(TimelineSlice& slice, Nanoseconds earliest) {
    if (slice.begin >= earliest) return;
    slice.end += std::min(earliest - slice.begin, kUnmeasured - 1 - slice.end);
    slice.begin = earliest;
  }

  // A phase lasts until the next one's first op, the first from the call of the model on.
  void phases() {
    for (std::uint32_t p = 0; p < graph_.phases.size(); ++p) {
      Interval whole;
      for (OpId op = graph_.phases[p].begin; op < phase_end(graph_, p); ++op) {
        const Interval at = of_op(op);
        if (!at.known()) continue;
        whole.begin = std::min(whole.begin, at.begin);
        whole.end = std::max(whole.end, at.end);
      }
      if (!whole.known()) continue;
      if (p == 0 && !calls_.empty() && calls_[0].known())
        whole = {std::min(whole.begin, calls_[0].begin), std::max(whole.end, calls_[0].end)};
      std::vector<TimelineSlice>& lane = made_.phases;
      if (!lane.empty()) {
        whole.begin = std::max(whole.begin, lane.back().begin);
        lane.back().end = whole.begin;
      }
      lane.push_back({.begin = whole.begin, .end = std::max(whole.end, whole.begin), .id = p, .phase = p});
    }
  }

  // Outer before inner where they begin together: modules before ops, the longer first, then as they were
  // made.
  void nest() {
    std::ranges::stable_sort(made_.host, [](const TimelineSlice& a, const TimelineSlice& b) {
      return std::tuple(a.begin, a.is_op, b.end) < std::tuple(b.begin, b.is_op, a.end);
    });
    std::vector<TimelineSlice*> around;
    for (TimelineSlice& slice : made_.host) {
      while (!around.empty() && is_over(*around.back(), slice)) around.pop_back();
      if (!around.empty()) slice.end = std::min(slice.end, around.back()->end);
      slice.depth = static_cast<std::uint32_t>(around.size());
      around.push_back(&slice);
    }
  }
  // Ops hold nothing: one that has not ended ends where the next slice begins. A slice of no length at the
  // very end of another is still inside it, where both begin there.
  static bool is_over(TimelineSlice& outer, const TimelineSlice& next) {
    if (outer.is_op) {
      outer.end = std::min(outer.end, next.begin);
      return true;
    }
    return outer.end < next.begin ||
           (outer.end == next.begin && (outer.begin != next.begin || next.end != next.begin));
  }

  const Graph& graph_;
  const Measurement& measured_;
  RunTimeline made_;
  std::vector<Interval> calls_;  // by scope: as measured
  std::vector<Open> open_;       // of modules whose ops run outside their calls
  std::uint32_t open_phase_ = 0;
  std::vector<ScopeId> path_;
};

}  // namespace

RunTimeline run_timeline(const Graph& graph) { return Layout(graph).run(); }

namespace {

class ModuleTimer {
 public:
  ModuleTimer(const Graph& graph, const RecordedTrace& trace, std::span<const TraceTime> begins,
              const Measurement& measured)
      : graph_(graph), trace_(trace), begins_(begins), measured_(measured), runs_(measured.runs) {}

  std::vector<TraceSpan> run() {
    const std::size_t scopes = graph_.scopes.size();
    std::vector<TraceSpan> made(scopes * runs_);
    sort_modules();
    for (std::size_t run = 0; run < runs_; ++run) {
      calls_.assign(scopes, {});
      around_ops(run);
      if (!modules_.empty()) as_recorded();
      for (ScopeId s = 0; s < scopes; ++s) made[s * runs_ + run] = calls_[s];
    }
    return made;
  }

 private:
  // What a backward pass does in a module's name is no part of its call.
  OpId forward_end() const {
    return graph_.phases.size() < 2 ? static_cast<OpId>(graph_.ops.size()) : graph_.phases[1].begin;
  }
  void around_ops(std::size_t run) {
    for (OpId op = 0; op < forward_end(); ++op) {
      const std::size_t sample = op * runs_ + run;
      if (begins_[sample] == kNever) continue;
      const auto end = begins_[sample] + static_cast<TraceTime>(measured_.host[sample]);
      for (ScopeId s = graph_.ops[op].scope; s != kNone; s = graph_.scopes[s].parent)
        calls_[s].add(begins_[sample], end);
    }
  }

  void sort_modules() {
    modules_ = trace_.modules;
    std::ranges::stable_sort(modules_, {}, &RecordedSpan::begin);
    for (const Scope& scope : graph_.scopes)
      classes_.push_back(symbol(graph_.text(graph_.modules[scope.module].type)));
  }
  Id symbol(std::string_view name) {
    return symbols_.try_emplace(std::string(name), static_cast<Id>(symbols_.size())).first->second;
  }
  // Scopes are in the order in which the modules were called, and so are the trace's. A call that is not
  // around its ops is another one.
  void as_recorded() {
    const TraceSpan ops = calls_[0];
    std::vector<Id> seen;
    std::vector<const RecordedSpan*> spans;
    for (const RecordedSpan& span : modules_) {
      if (span.end < ops.begin || span.begin > ops.end) continue;
      seen.push_back(symbol(trace_.text(span.name)));
      spans.push_back(&span);
    }
    const auto found = align(classes_, seen);
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (found[i] == kNone) continue;
      TraceSpan& call = calls_[found[i]];
      if (!call.known() || (spans[i]->begin <= call.begin && call.end <= spans[i]->end))
        call = {spans[i]->begin, spans[i]->end};
    }
  }

  const Graph& graph_;
  const RecordedTrace& trace_;
  std::span<const TraceTime> begins_;
  const Measurement& measured_;
  const std::size_t runs_;
  std::vector<RecordedSpan> modules_;  // by begin
  std::vector<Id> classes_;            // by scope
  std::unordered_map<std::string, Id> symbols_;
  std::vector<TraceSpan> calls_;  // by scope, of the run at hand
};

}  // namespace

std::vector<TraceSpan> module_calls(const Graph& graph, const RecordedTrace& trace,
                                    std::span<const TraceTime> begins, const Measurement& measured) {
  return ModuleTimer(graph, trace, begins, measured).run();
}

}  // namespace opscope
