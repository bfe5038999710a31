// The numbers side by side, amounts sorted into causes; why they differ is found by op (by_op.cc) or by
// module, as the tool counts.
#include "analyse/reconcile/reconcile.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <unordered_map>

#include "analyse/profile/figures.h"
#include "base/choices.h"

namespace opscope {

std::vector<Cause> Ledger::causes() const {
  std::vector<Cause> causes;
  for (const auto& [key, row] : rows_) {
    const auto& [kind, what, op, module] = key;
    if (row.flops == 0) continue;
    if (causes.empty() || causes.back().kind != kind || causes.back().what != what)
      causes.push_back({kind, what, 0, {}});
    causes.back().flops += row.flops;
    causes.back().rows.push_back({op, module, row.ops, row.flops});
  }
  std::unordered_map<std::string_view, std::size_t> order;  // of modules; what is none of them comes last
  for (const Module& module : graph_.modules) order.emplace(graph_.path(module), order.size());
  const auto place = [&](const CauseRow& row) {
    const auto found = order.find(row.module);
    return std::pair(row.op, found == order.end() ? graph_.modules.size() : found->second);
  };
  for (Cause& cause : causes) std::ranges::stable_sort(cause.rows, {}, place);
  std::ranges::stable_sort(
      causes, {}, [](const Cause& cause) { return std::pair(!cause.is_unit(), -std::llabs(cause.flops)); });
  return causes;
}

WorkWord work_word(Category category) {
  static constexpr std::pair<Category, WorkWord> kWords[] = {
      {Category::kActivation, {CauseKind::kActivation, "activations"}},
      {Category::kNorm, {CauseKind::kNorm, "normalisation"}},
      {Category::kSoftmax, {CauseKind::kSoftmax, "softmax"}},
      {Category::kPool, {CauseKind::kPooling, "pooling"}},
      {Category::kReduction, {CauseKind::kReduction, "reductions"}},
      {Category::kAttention, {CauseKind::kAttentionNotSeen, "attention"}},
      {Category::kPointwise, {CauseKind::kElementwise, "element-wise"}},
  };
  for (const auto& [of, word] : kWords)
    if (of == category) return word;
  return {CauseKind::kUnsupportedOp, name(category)};
}

namespace {

constexpr auto kKinds = choices<CauseKind, CauseKind::kDeclared>(
    "mac_counted_as_flop", "reported_per_sample", "attention_not_seen", "unsupported_op", "not_seen",
    "outside_modules", "module_without_rule", "rule_of_its_own", "functions_counted", "module_counted_twice",
    "op_only_there", "counted_otherwise", "bias_not_counted", "softmax_in_attention",
    "elementwise_not_counted", "activation_not_counted", "norm_counted_otherwise", "softmax_not_counted",
    "pooling_counted_otherwise", "reduction_not_counted", "declared_cost");

// A tied one under each of its names.
Count under_every_name(const Graph& graph) {
  Count sum;
  for (const Owned& owned : graph.owned)
    if (graph.values[owned.value].kind == ValueKind::kParameter)
      sum += numel(graph.shape(graph.values[owned.value]));
  return sum;
}

// Of the modules that the tool has a number for, and of those below them.
Count of_counted_modules(const Graph& graph, const PeerAnswer& answer) {
  std::set<std::string_view> paths;
  for (const PeerCount& count : answer.counts)
    if (count.count) paths.insert(count.module);
  std::set<ValueId> seen;
  Count sum;
  for (const Owned& owned : graph.owned) {
    bool counted = false;
    for (ModuleId id = owned.module; id != kNone && !counted; id = graph.modules[id].parent)
      counted = paths.contains(graph.path(graph.modules[id]));
    if (counted && graph.values[owned.value].kind == ValueKind::kParameter && seen.insert(owned.value).second)
      sum += numel(graph.shape(graph.values[owned.value]));
  }
  return sum;
}

// Why another tool has another number of parameters: each candidate is worked out, and said where it is the
// difference to the last one. "" where they agree, or the tool does not count parameters.
std::string explain_params(const Profile& profile, const PeerAnswer& answer) {
  const Count ours = profile.parameters.total;
  if (!answer.params || Count{*answer.params} == ours) return "";
  const Count theirs{*answer.params};
  const Graph& graph = *profile.graph;
  if (theirs == profile.parameters.trainable) return "frozen parameters are left out";
  if (theirs == under_every_name(graph)) return "tied parameters are counted under each of their names";
  if (theirs == of_counted_modules(graph, answer))
    return fmt::format("{} parameters of modules that it has no rule for are left out",
                       format_exact(ours - theirs));
  if (theirs < ours)
    return fmt::format("{} parameters are left out: those that it meets in no module it looks at",
                       format_exact(ours - theirs));
  const bool called_again =
      std::ranges::any_of(profile.modules(), [](const ModuleRow& row) { return row.calls > 1; });
  return fmt::format("{} parameters are counted again: {}", format_exact(theirs - ours),
                     called_again ? "of modules that are called more than once"
                                  : "tied ones, or those of modules inside a counted one");
}

// Tools that count modules by their class: each module that the tool has a number for against all that runs
// in it here, and then all that runs outside of these.
struct CountedModule {
  std::string type;
  std::int64_t own = 0;  // in the tool's unit
  std::uint64_t calls = 0;
  ModuleId module = kNone;           // kNone: a second name of a module that has another
  std::int64_t macs = 0, flops = 0;  // ours
};

class ByModule : public Ledger {
 public:
  using Ledger::Ledger;

  std::int64_t run() {
    read_counts();
    const std::int64_t left = read_total();
    for (OpId id = 0; id < graph_.ops.size(); ++id) place(id, left > 0);
    std::int64_t total = 0;
    for (const auto& [path, counted] : counted_) total += compare(path, counted);
    return total + compare_rest(left);
  }

 private:
  void read_counts() {
    std::unordered_map<std::string_view, ModuleId> ids;
    for (ModuleId id = 0; id < graph_.modules.size(); ++id) ids.emplace(graph_.path(graph_.modules[id]), id);
    for (const PeerCount& count : answer_.counts) {
      if (!count.count) continue;
      CountedModule& counted = counted_[count.module];
      counted.type = count.op;
      counted.own += static_cast<std::int64_t>(*count.count);
      counted.calls += count.calls;
      if (const auto found = ids.find(count.module); found != ids.end()) counted.module = found->second;
    }
    for (auto& [path, counted] : counted_)
      if (counted.module != kNone) by_id_[counted.module] = &counted;
  }

  // What the tool's total has beside its modules.
  std::int64_t read_total() {
    std::int64_t sum = 0;
    for (const auto& [path, counted] : counted_) sum += counted.own;
    const std::int64_t each = sum / static_cast<std::int64_t>(answer_.divided_by);
    add(CauseKind::kPerSample, "its number is for one sample of the batch", "", "", 1, sum - each);
    return signed_count(answer_.total) - each;
  }

  CountedModule* counted_around(ModuleId module) const {
    for (; module != kNone; module = graph_.modules[module].parent)
      if (const auto found = by_id_.find(module); found != by_id_.end()) return found->second;
    return nullptr;
  }

  void place(OpId id, bool counts_functions) {
    const Op& op = graph_.ops[id];
    const OpCost& cost = profile_.costs[id];
    const ModuleId module = graph_.scopes[op.scope].module;
    if (CountedModule* const counted = counted_around(module)) {
      counted->macs += signed_count(cost.work.macs);
      counted->flops += signed_count(cost.flops);
      return;
    }
    const auto flops = signed_count(cost.flops);
    if (flops == 0) return;
    const auto op_name = short_op_name(graph_.op_name(op));
    const auto path = graph_.path(graph_.module_of(op));
    if (cost.work.macs && counts_functions) {
      functions_ += flops;
      return add(CauseKind::kFunctionsOfTheModel, functions_text_, op_name, path, 1, flops);
    }
    const auto [kind, what] = why_outside(cost, module);
    add(kind, what, op_name, path, 1, flops);
  }

  std::pair<CauseKind, std::string> why_outside(const OpCost& cost, ModuleId module) const {
    if (!cost.work.macs && cost.rule != nullptr) {
      const WorkWord work = work_word(cost.rule->category);
      return {work.kind, std::string(work.word) + ": not counted by " + answer_.tool};
    }
    const bool is_leaf = std::ranges::find(graph_.modules, module, &Module::parent) == graph_.modules.end();
    if (module != 0 && is_leaf)
      return {CauseKind::kNoRule,
              "no rule in " + answer_.tool + " for " + std::string(graph_.text(graph_.modules[module].type))};
    return {CauseKind::kOutsideModules, "called as functions: not seen by " + answer_.tool};
  }

  // Returns what the tool counts for it in FLOPs.
  std::int64_t compare(const std::string& path, const CountedModule& counted) {
    const bool product = counted.module == kNone
                             ? has_any(counted.type, {"Conv", "Linear", "Attention", "LSTM", "GRU", "RNN"})
                             : counted.macs > 0;
    const std::int64_t flops = add_unit(counted.own, product, counted.type, path, counted.calls);
    const auto [kind, what] = why(counted, product);
    add(kind, what, counted.type, path, counted.calls, counted.flops - flops);
    return flops;
  }

  std::pair<CauseKind, std::string> why(const CountedModule& counted, bool product) const {
    const std::int64_t beside = counted.flops - counted.macs * 2;
    const bool in_macs = answer_.unit == PeerUnit::kMacs;
    if (counted.module == kNone)
      return {CauseKind::kModuleTwice, "a module that has two names is counted under both"};
    if (product && counted.own == counted.macs * (in_macs ? 1 : 2))
      return {CauseKind::kBias, "adding the bias, and all beside products"};
    if (product && in_macs && counted.own == counted.macs + beside)
      return {CauseKind::kBias, "adding the bias counted as multiply-accumulates"};
    return {CauseKind::kRuleOfItsOwn, answer_.tool + "'s own rule for " + counted.type};
  }

  std::int64_t compare_rest(std::int64_t left) {
    if (left == 0) return 0;
    const std::int64_t flops = add_unit(left, functions_ > 0, "functions", "", 1);
    if (left < 0)
      add(CauseKind::kModuleTwice, "modules inside a counted one, left out of its total", "modules", "", 1,
          -flops);
    else
      add(CauseKind::kFunctionsOfTheModel, functions_text_, "functions", "", 1, -flops);
    return flops;
  }

  std::map<std::string, CountedModule> counted_;
  std::unordered_map<ModuleId, CountedModule*> by_id_;
  std::int64_t functions_ = 0;
  const std::string functions_text_ = "functions, which " + answer_.tool + " counts beside modules";
};

PeerComparison compare(const Profile& profile, const PeerAnswer& answer) {
  PeerComparison peer;
  peer.answer = answer;
  peer.answer.counts.clear();
  if (!peer.ran()) return peer;
  if (answer.tool == "torch" || answer.tool == "fvcore") {
    explain_by_op(profile, answer, peer);
  } else {
    ByModule by_module(profile, answer);
    peer.flops = by_module.run();
    peer.causes = by_module.causes();
  }
  peer.difference = signed_count(profile.totals.flops) - peer.flops;
  peer.params_cause = explain_params(profile, answer);
  std::int64_t units = 0, rest = 0;
  for (const Cause& cause : peer.causes) (cause.is_unit() ? units : rest) += cause.flops;
  OPSCOPE_CHECK(rest == peer.difference);
  OPSCOPE_CHECK(signed_count(answer.total) + units == peer.flops);
  return peer;
}

}  // namespace

std::string_view name(CauseKind kind) { return kKinds[kind]; }

double PeerComparison::off(Count ours) const {
  if (flops <= 0) return ours ? std::numeric_limits<double>::infinity() : 0;
  return std::abs(static_cast<double>(ours) - static_cast<double>(flops)) / static_cast<double>(flops);
}

double PeerComparison::accuracy(Count ours) const { return 100 * (1 - off(ours)); }

Reconciliation reconcile(const Profile& profile, std::span<const PeerAnswer> answers) {
  OPSCOPE_CHECK(profile.options.convention == Convention::kOpscope);
  const Figures figures = figures_of(profile);
  Reconciliation result;
  result.model = figures.model;
  result.source = figures.source;
  result.inputs = figures.inputs;
  result.flops = profile.totals.flops;
  result.macs = profile.totals.work.macs;
  result.params = profile.parameters.total;
  result.is_exact = profile.totals.confidence == Confidence::kExact;
  for (const PeerAnswer& answer : answers) result.peers.push_back(compare(profile, answer));
  return result;
}

}  // namespace opscope
