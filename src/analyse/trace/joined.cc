// Calls -> ops is runs.cc. Here: work on the device goes to the call around its launch and from there
// up to the op; samples are filled in; what is left over gets a reason.
#include "analyse/trace/joined.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <unordered_map>

#include "analyse/trace/runs.h"
#include "base/error.h"
#include "graph/alignment.h"

namespace opscope {
namespace {

// Around ops, no ops themselves.
bool is_op_name(std::string_view name) {
  return name.find("::") != std::string_view::npos && !name.starts_with("autograd::");
}

Nanoseconds length(const RecordedCall& call) {
  return call.end > call.begin ? static_cast<Nanoseconds>(call.end) - static_cast<Nanoseconds>(call.begin)
                               : 0;
}

constexpr TraceTime kNever = std::numeric_limits<TraceTime>::max();

struct TraceSpan {
  TraceTime begin = kNever, end = std::numeric_limits<TraceTime>::min();
  void add(TraceTime from, TraceTime to) { begin = std::min(begin, from), end = std::max(end, to); }
  bool known() const { return begin <= end; }
  Nanoseconds length() const {
    return known() ? static_cast<Nanoseconds>(end) - static_cast<Nanoseconds>(begin) : 0;
  }
};

// By scope: where in one run each module's call lies, from the first of the call's ops to the last. `begins`:
// of ops, by op and run.
std::vector<TraceSpan> around_ops(const Graph& graph, std::span<const TraceTime> begins,
                                  const Measurement& measured, std::size_t run) {
  std::vector<TraceSpan> calls(graph.scopes.size());
  // What a backward pass does in a module's name is no part of its call.
  for (OpId op = 0; op < phase_end(graph, 0); ++op) {
    const std::size_t sample = std::size_t{op} * measured.runs + run;
    if (begins[sample] == kNever) continue;
    for (ScopeId s = graph.ops[op].scope; s != kNone; s = graph.scopes[s].parent)
      calls[s].add(begins[sample], begins[sample] + static_cast<TraceTime>(measured.host[sample]));
  }
  return calls;
}

// The calls as the trace has them, where it was recorded with modules (with_stack). Scopes are in the order
// in which the modules were called, and so are the trace's, here by begin. A call that is not around its ops
// is another one.
void take_recorded(const Graph& graph, const RecordedTrace& trace, std::vector<TraceSpan>& calls) {
  std::unordered_map<std::string_view, Id> symbols;
  const auto symbol = [&](std::string_view name) {
    return symbols.try_emplace(name, static_cast<Id>(symbols.size())).first->second;
  };
  std::vector<Id> classes, seen;
  for (const Scope& scope : graph.scopes)
    classes.push_back(symbol(graph.text(graph.modules[scope.module].type)));
  std::vector<const RecordedSpan*> spans;
  for (const RecordedSpan& span : trace.modules) {
    if (span.end < calls[0].begin || span.begin > calls[0].end) continue;
    seen.push_back(symbol(trace.text(span.name)));
    spans.push_back(&span);
  }
  const auto found = align(classes, seen);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == kNone) continue;
    TraceSpan& call = calls[found[i]];
    if (!call.known() || (spans[i]->begin <= call.begin && call.end <= spans[i]->end))
      call = {spans[i]->begin, spans[i]->end};
  }
}

class Joiner {
 public:
  Joiner(const Graph& graph, RecordedTrace& trace) : graph_(graph), trace_(trace) {
    if (runs_.runs == 0)
      throw Error("none of the trace's ops are the model's", "",
                  fmt::format("the trace begins with {}: is it a trace of this model?", first_ops()));
    std::ranges::stable_sort(trace.launches, {}, &RecordedLaunch::correlation);
  }

  JoinedTrace run() {
    begin_measurement();
    add_calls();
    for (const RecordedWork& work : trace_.work) add_work(work);
    if (!measured_.on_device) add_host_work();
    find_module_calls();
    finish_runs();
    finish_lists();
    notes();
    return std::move(made_);
  }

 private:
  std::string first_ops() const {
    std::string names;
    int count = 0;
    for (Id call = 0; call < tree_.size() && count < 3; call = tree_.end(call), ++count)
      names += (count > 0 ? ", " : "") + std::string(tree_.name(call));
    return names;
  }

  void begin_measurement() {
    made_.events = trace_.events, made_.calls = trace_.calls.size(), made_.steps = runs_.steps;
    measured_.runs = runs_.runs;
    measured_.on_device = !trace_.work.empty();
    Environment& environment = measured_.environment;
    environment.device = measured_.on_device ? "cuda:0" : "cpu";
    environment.device_name = trace_.device_name, environment.memory_bytes = trace_.memory_bytes;
    environment.runtime = trace_.runtime, environment.driver = trace_.driver;
    const std::size_t samples = graph_.ops.size() * runs_.runs;
    measured_.host.assign(samples, kUnmeasured);
    begins_.assign(samples, kNever);
    if (measured_.on_device)
      measured_.device.assign(samples, kUnmeasured), device_begins_.assign(samples, kNever);
    spans_.assign(runs_.runs, {}), device_spans_.assign(runs_.runs, {});
  }

  std::size_t sample(Id call) const {
    return runs_.op_of[call] * std::size_t{runs_.runs} + runs_.run_of[call];
  }

  void add_calls() {
    std::vector<bool> seen(graph_.ops.size(), false);
    for (Id call = 0; call < tree_.size(); ++call) {
      const OpId op = runs_.op_of[call];
      if (op == kNone) continue;
      seen[op] = true;
      add_to(measured_.host[sample(call)], length(tree_[call]));
      if (measured_.on_device) add_to(measured_.device[sample(call)], 0);
      begins_[sample(call)] = std::min(begins_[sample(call)], tree_[call].begin);
      spans_[runs_.run_of[call]].add(tree_[call].begin, tree_[call].end);
    }
    for (OpId op = 0; op < seen.size(); ++op)
      if (!seen[op]) made_.missing.push_back(op);
    made_.joined_ops = seen.size() - made_.missing.size();
  }

  static void add_to(Nanoseconds& sum, Nanoseconds duration) {
    sum = (sum == kUnmeasured ? 0 : sum) + duration;
  }

  const RecordedLaunch* launch_of(const RecordedWork& work) const {
    if (work.correlation == 0) return nullptr;
    const auto found =
        std::ranges::lower_bound(trace_.launches, work.correlation, {}, &RecordedLaunch::correlation);
    return found != trace_.launches.end() && found->correlation == work.correlation ? &*found : nullptr;
  }

  void add_work(const RecordedWork& work) {
    made_.total += work.duration;
    const RecordedLaunch* const launch = launch_of(work);
    Id call = launch != nullptr ? tree_.around(launch->thread, launch->at) : kNone;
    if (call == kNone) call = tree_.numbered(work.external);
    Id op_call = call;
    while (op_call != kNone && runs_.op_of[op_call] == kNone) op_call = tree_.parent(op_call);
    if (op_call == kNone) return leave_out(work, launch, call);
    made_.joined += work.duration;
    const std::size_t at = sample(op_call);
    add_to(measured_.device[at], work.duration);
    device_begins_[at] = std::min(device_begins_[at], work.begin);
    const TraceTime end = work.begin + static_cast<TraceTime>(work.duration);
    spans_[runs_.run_of[op_call]].add(work.begin, end);
    device_spans_[runs_.run_of[op_call]].add(work.begin, end);
    auto& kernel = kernels_[{runs_.op_of[op_call], work.name}];
    ++kernel.count, kernel.total += work.duration;
  }

  void leave_out(const RecordedWork& work, const RecordedLaunch* launch, Id call) {
    std::string reason = call != kNone ? reason_for(op_around(call))
                         : launch == nullptr
                             ? "nothing in the trace launches it"
                             : fmt::format("launched outside of any op, by {}", trace_.text(launch->name));
    leave_out(trace_.text(work.name), std::move(reason), work.duration);
  }
  void leave_out(std::string_view name, std::string reason, Nanoseconds duration) {
    auto& row = left_out_[{std::string(name), reason}];
    row.name = name, row.reason = std::move(reason);
    ++row.count, row.total += duration;
  }

  // The outermost op that a call is or is in; else the call.
  Id op_around(Id call) const {
    Id op = call;
    for (Id c = call; c != kNone; c = tree_.parent(c))
      if (is_op_name(tree_.name(c))) op = c;
    return op;
  }
  std::string reason_for(Id call) const {
    const std::string_view name = tree_.name(call);
    const auto is_around = [at = tree_[call].begin](const RecordedSpan& step) {
      return step.begin <= at && at < step.end;
    };
    if (!trace_.steps.empty() && std::ranges::none_of(trace_.steps, is_around))
      return fmt::format("{}, outside the profiler's steps", name);
    if (symbols_.of_name(name) == kNone) return fmt::format("{} is not in the graph", name);
    return fmt::format("{}: more calls of it than the graph has", name);
  }

  // On a CPU the calls are the work: the outermost ones that are ops, or those of the graph inside them.
  void add_host_work() {
    std::vector<std::uint32_t> joined_before(tree_.size() + 1, 0);
    for (Id call = 0; call < tree_.size(); ++call)
      joined_before[call + 1] = joined_before[call] + (runs_.op_of[call] != kNone);
    for (Id call = 0; call < tree_.size();) {
      const bool is_joined = runs_.op_of[call] != kNone;
      const bool holds_joined = joined_before[tree_.end(call)] > joined_before[call];
      if (!is_joined && (holds_joined || !is_op_name(tree_.name(call)))) {
        ++call;
        continue;
      }
      made_.total += length(tree_[call]);
      if (is_joined)
        made_.joined += length(tree_[call]);
      else
        leave_out(tree_.name(call), reason_for(call), length(tree_[call]));
      call = tree_.end(call);
    }
  }

  // A run is from the call of the model to the end of the last thing that it did.
  void find_module_calls() {
    std::ranges::stable_sort(trace_.modules, {}, &RecordedSpan::begin);
    module_calls_.resize(graph_.scopes.size() * runs_.runs);
    for (std::uint32_t run = 0; run < runs_.runs; ++run) {
      std::vector<TraceSpan> calls = around_ops(graph_, begins_, measured_, run);
      if (!trace_.modules.empty()) take_recorded(graph_, trace_, calls);
      for (ScopeId s = 0; s < calls.size(); ++s) module_calls_[s * runs_.runs + run] = calls[s];
      if (calls[0].known()) spans_[run].add(calls[0].begin, calls[0].end);
    }
  }

  void finish_runs() {
    for (std::uint32_t run = 0; run < runs_.runs; ++run) {
      measured_.timed.push_back(spans_[run].length());
      if (measured_.on_device) measured_.timed_device.push_back(device_spans_[run].length());
    }
    std::vector<std::uint32_t> order(runs_.runs);
    std::iota(order.begin(), order.end(), 0u);
    std::ranges::stable_sort(order, {}, [&](std::uint32_t run) { return measured_.timed[run]; });
    measured_.typical = order[(order.size() - 1) / 2];
    const auto typical = [&](std::size_t id) { return id * runs_.runs + measured_.typical; };
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      measured_.host_begin.push_back(offset(begins_[typical(op)]));
      if (measured_.on_device) measured_.device_begin.push_back(offset(device_begins_[typical(op)]));
    }
    for (const TraceSpan& call : module_calls_)
      measured_.scopes.push_back(call.known() ? call.length() : kUnmeasured);
    for (ScopeId s = 0; s < graph_.scopes.size(); ++s)
      measured_.scope_begin.push_back(offset(module_calls_[typical(s)].begin));
  }
  Nanoseconds offset(TraceTime at) const {
    const TraceTime start = spans_[measured_.typical].begin;
    return at == kNever ? kUnmeasured : static_cast<Nanoseconds>(std::max<TraceTime>(at - start, 0));
  }

  void finish_lists() {
    for (const auto& [key, kernel] : kernels_)
      made_.kernels.push_back({key.first, std::string(trace_.text(key.second)), kernel.count, kernel.total});
    std::ranges::stable_sort(made_.kernels, [](const JoinedKernel& a, const JoinedKernel& b) {
      return std::tuple(a.op, b.total, a.name) < std::tuple(b.op, a.total, b.name);
    });
    for (auto& [key, row] : left_out_) made_.not_joined.push_back(std::move(row));
    std::ranges::stable_sort(made_.not_joined, std::ranges::greater{}, &NotJoined::total);
    for (const NotJoined& row : made_.not_joined)
      measured_.unmatched.push_back({fmt::format("{} ({})", row.name, row.reason), row.count, row.total});
    std::map<std::string_view, std::uint64_t> absent;
    for (const OpId op : made_.missing) ++absent[graph_.op_name(graph_.ops[op])];
    for (const auto& [name, count] : absent) measured_.unmatched.push_back({std::string(name), count, 0});
  }

  void notes() {
    const auto note = [&](std::string text) { made_.notes.push_back(std::move(text)); };
    if (runs_.other_shapes)
      note(
          "the trace's inputs have other shapes than the graph's: was it recorded with this batch size and "
          "model?");
    if (2 * made_.joined_ops < graph_.ops.size())
      note(fmt::format("the trace has {} of the graph's {} ops: is it of this model, and of a run like this?",
                       made_.joined_ops, graph_.ops.size()));
    if (runs_.partial) note("runs of which the trace has less than half were left out");
    if (trace_.left_out > 0)
      note(fmt::format("the trace is longer than what is kept in memory: {} records at its end were left out",
                       trace_.left_out));
  }

  const Graph& graph_;
  RecordedTrace& trace_;
  const TraceCalls tree_{trace_};
  const OpSymbols symbols_{graph_};
  const TraceRuns runs_ = find_runs(graph_, trace_, tree_, symbols_);
  JoinedTrace made_;
  Measurement& measured_ = made_.measurement;
  std::vector<TraceTime> begins_, device_begins_;  // by op and run; kNever where it was not called
  std::vector<TraceSpan> spans_, device_spans_;    // by run
  std::vector<TraceSpan> module_calls_;            // by scope and run
  std::map<std::pair<OpId, StringId>, JoinedKernel> kernels_;
  std::map<std::pair<std::string, std::string>, NotJoined> left_out_;
};

}  // namespace

JoinedTrace join_trace(const Graph& graph, RecordedTrace trace) { return Joiner(graph, trace).run(); }

}  // namespace opscope
