// The numbers side by side, amounts sorted into causes; why they differ is found by op or by module, as the
// tool counts.
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

PeerComparison compare(const Profile& profile, const PeerAnswer& answer) {
  PeerComparison peer;
  peer.answer = answer;
  peer.answer.counts.clear();
  if (!peer.ran()) return peer;
  Ledger ledger(*profile.graph);
  peer.flops = counts_ops(answer) ? explain_by_op(profile, answer, ledger)
                                  : explain_by_module(profile, answer, ledger);
  peer.difference = signed_count(profile.totals.flops) - peer.flops;
  peer.causes = ledger.causes();
  peer.params_cause = explain_params(profile, answer);
  std::int64_t units = 0, rest = 0;
  for (const Cause& cause : peer.causes) (cause.is_unit() ? units : rest) += cause.flops;
  OPSCOPE_CHECK(rest == peer.difference);
  OPSCOPE_CHECK(signed_count(answer.total) + units == peer.flops);
  return peer;
}

}  // namespace

std::string_view name(CauseKind kind) { return kKinds[kind]; }

bool counts_ops(const PeerAnswer& answer) { return answer.tool == "torch" || answer.tool == "fvcore"; }

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
