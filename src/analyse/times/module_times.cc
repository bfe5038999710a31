#include "analyse/times/module_times.h"

#include <unordered_map>

#include "graph/alignment.h"

namespace opscope {
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
