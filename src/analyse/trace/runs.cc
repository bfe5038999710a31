// A graph's ops are in execution order, and so are a trace's calls: the two are aligned as sequences of
// names. Of nested calls the outermost that the graph has by name stands for its op, as the capture sees it.
// Where shapes were recorded, calls with the same ones are put together first and the rest between them by
// name alone.
#include "analyse/trace/runs.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_set>

#include "graph/alignment.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

class RunFinder {
 public:
  RunFinder(const Graph& graph, const RecordedTrace& trace, const TraceCalls& tree, const OpSymbols& symbols)
      : graph_(graph), trace_(trace), tree_(tree), symbols_(symbols) {
    found_.op_of.assign(tree.size(), kNone);
    found_.run_of.assign(tree.size(), 0);
  }

  TraceRuns run() {
    collect_candidates();
    decide_on_shapes();
    if (trace_.steps.empty()) match(candidates_);
    for (const RecordedSpan& step : steps()) match(calls_in(step));
    drop_partial_runs();
    return std::move(found_);
  }

 private:
  // The calls that may be ops of the graph, in the order of time over all threads.
  void collect_candidates() {
    std::vector<Id> symbol_of(trace_.names.size());
    for (StringId id = 0; id < symbol_of.size(); ++id) symbol_of[id] = symbols_.of_name(trace_.text(id));
    symbol_.assign(tree_.size(), kNone);
    for (Id call = 0; call < tree_.size();) {
      const Id symbol = symbol_of[tree_[call].name];
      const bool is_candidate = symbol != kNone && !calls_itself(call);
      if (is_candidate) symbol_[call] = symbol, candidates_.push_back(call);
      call = is_candidate ? tree_.end(call) : call + 1;
    }
    std::ranges::stable_sort(candidates_, {}, [&](Id call) { return tree_[call].begin; });
  }
  // Autocast casts the inputs and then calls the same op with them: the inner call is the one with the work.
  bool calls_itself(Id call) const {
    for (Id inner = call + 1; inner < tree_.end(call); inner = tree_.end(inner))
      if (tree_[inner].name == tree_[call].name) return true;
    return false;
  }

  // Shapes help where the trace is of the same inputs; of others, they would only keep equal ops apart.
  void decide_on_shapes() {
    std::unordered_set<std::uint64_t> recorded;
    for (const Id call : candidates_)
      if (tree_[call].shapes != 0) recorded.insert(pair_key(symbol_[call], tree_[call].shapes));
    if (recorded.empty()) return;
    std::size_t alike = 0;
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      ShapeHash hash;
      each_read(graph_, graph_.ops[op], [&](ValueId id) { hash.add(graph_.shape(graph_.values[id])); });
      shapes_.push_back(hash.value());
      alike += recorded.contains(pair_key(symbols_.of_op[op], shapes_.back()));
    }
    use_shapes_ = static_cast<double>(alike) >= 0.7 * static_cast<double>(graph_.ops.size());
    found_.other_shapes = !use_shapes_;
  }

  // In order, each once: a step's mark may be there for several threads.
  std::vector<RecordedSpan> steps() {
    std::vector<RecordedSpan> steps = trace_.steps;
    std::ranges::stable_sort(steps, {}, &RecordedSpan::begin);
    const auto repeated = std::unique(
        steps.begin(), steps.end(),
        [](const RecordedSpan& a, const RecordedSpan& b) { return a.name == b.name && b.begin < a.end; });
    steps.erase(repeated, steps.end());
    found_.steps = steps.size();
    return steps;
  }
  std::span<const Id> calls_in(const RecordedSpan& step) const {
    const auto begin_of = [&](Id call) { return tree_[call].begin; };
    const auto first = std::ranges::lower_bound(candidates_, step.begin, {}, begin_of);
    const auto last = std::ranges::lower_bound(candidates_, step.end, {}, begin_of);
    return {first, std::max(first, last)};
  }

  // How often the model ran, told by what most of its ops say.
  std::uint32_t passes(std::span<const Id> calls) const {
    std::unordered_map<std::uint64_t, std::pair<std::size_t, std::size_t>>
        counts;  // in the graph, in the trace
    for (OpId op = 0; op < graph_.ops.size(); ++op)
      ++counts[pair_key(symbols_.of_op[op], use_shapes_ ? shapes_[op] : 0)].first;
    for (const Id call : calls) {
      const auto found = counts.find(pair_key(symbol_[call], use_shapes_ ? tree_[call].shapes : 0));
      if (found != counts.end()) ++found->second.second;
    }
    std::vector<std::pair<double, std::size_t>> ratios;
    for (const auto& [symbol, count] : counts)
      ratios.emplace_back(static_cast<double>(count.second) / static_cast<double>(count.first), count.first);
    std::ranges::sort(ratios);
    std::size_t so_far = 0;
    for (const auto& [ratio, ops] : ratios) {
      so_far += ops;
      if (2 * so_far >= graph_.ops.size())
        return std::max(1u, static_cast<std::uint32_t>(std::lround(ratio)));
    }
    return 1;
  }

  void match(std::span<const Id> calls) {
    if (calls.empty() || graph_.ops.empty()) return;
    const std::uint32_t times = passes(calls);
    const std::size_t ops = graph_.ops.size(), expected = ops * times;
    std::vector<Id> partner(calls.size(), kNone);
    if (use_shapes_) match_between(calls, expected, true, partner);
    match_between(calls, expected, false, partner);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (partner[i] == kNone) continue;
      found_.op_of[calls[i]] = static_cast<OpId>(partner[i] % ops);
      found_.run_of[calls[i]] = found_.runs + static_cast<std::uint32_t>(partner[i] / ops);
    }
    found_.runs += times;
  }

  // Partners for the calls that have none yet, between those that have.
  void match_between(std::span<const Id> calls, std::size_t expected, bool by_shapes,
                     std::vector<Id>& partner) {
    std::size_t from = 0, next = 0;  // first call and first expected op of the stretch
    for (std::size_t i = 0; i <= calls.size(); ++i) {
      if (i < calls.size() && partner[i] == kNone) continue;
      const std::size_t until = i < calls.size() ? partner[i] : expected;
      match_stretch(calls.subspan(from, i - from), next, until, by_shapes,
                    std::span(partner).subspan(from, i - from));
      from = i + 1, next = until + 1;
    }
  }
  void match_stretch(std::span<const Id> calls, std::size_t next, std::size_t until, bool by_shapes,
                     std::span<Id> partner) {
    if (calls.empty() || next >= until) return;
    std::vector<Id> wanted, seen;
    for (std::size_t i = next; i < until; ++i) {
      const auto op = static_cast<OpId>(i % graph_.ops.size());
      wanted.push_back(by_shapes ? symbol(symbols_.of_op[op], shapes_[op]) : symbols_.of_op[op]);
    }
    for (const Id call : calls)
      seen.push_back(by_shapes ? symbol(symbol_[call], tree_[call].shapes) : symbol_[call]);
    const auto found = align(wanted, seen);
    for (std::size_t i = 0; i < found.size(); ++i)
      if (found[i] != kNone) partner[i] = static_cast<Id>(next + found[i]);
  }
  Id symbol(Id name, std::uint32_t shapes) {
    return with_shapes_.try_emplace(pair_key(name, shapes), static_cast<Id>(with_shapes_.size()))
        .first->second;
  }

  // A trace may begin or end in the middle of a run; such a run says nothing about the whole.
  void drop_partial_runs() {
    std::vector<std::size_t> counts(found_.runs, 0);
    for (const Id call : candidates_)
      if (found_.op_of[call] != kNone) ++counts[found_.run_of[call]];
    const std::size_t most = counts.empty() ? 0 : std::ranges::max(counts);
    std::vector<std::uint32_t> number(found_.runs, kNone);
    std::uint32_t kept = 0;
    for (std::uint32_t run = 0; run < found_.runs; ++run)
      if (counts[run] > 0 && 2 * counts[run] >= most) number[run] = kept++;
    found_.partial = kept < found_.runs && kept > 0;
    for (const Id call : candidates_) {
      if (found_.op_of[call] == kNone) continue;
      const std::uint32_t run = number[found_.run_of[call]];
      if (run == kNone) found_.op_of[call] = kNone;
      found_.run_of[call] = run == kNone ? 0 : run;
    }
    found_.runs = kept;
  }

  const Graph& graph_;
  const RecordedTrace& trace_;
  const TraceCalls& tree_;
  const OpSymbols& symbols_;
  TraceRuns found_;
  std::vector<Id> candidates_;
  std::vector<Id> symbol_;             // by call
  std::vector<std::uint32_t> shapes_;  // by op
  bool use_shapes_ = false;
  std::unordered_map<std::uint64_t, Id> with_shapes_;
};

}  // namespace

OpSymbols::OpSymbols(const Graph& graph) {
  for (const Op& op : graph.ops)
    of_op.push_back(
        ids.try_emplace(functional_name(graph.op_name(op)), static_cast<Id>(ids.size())).first->second);
}

Id OpSymbols::of_name(std::string_view name) const {
  const auto found = ids.find(functional_name(name));
  return found == ids.end() ? kNone : found->second;
}

TraceRuns find_runs(const Graph& graph, const RecordedTrace& trace, const TraceCalls& tree,
                    const OpSymbols& symbols) {
  return RunFinder(graph, trace, tree, symbols).run();
}

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
      const bool at_once = call.begin == outer.begin && call.end == outer.end;
      if (outer.thread == call.thread && (call.begin < outer.end || at_once)) break;
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
