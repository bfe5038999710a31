// The numbers side by side; why they differ is found by op or by module, as the tool counts.
#include "analyse/reconcile/reconcile.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "analyse/profile/figures.h"
#include "analyse/reconcile/ledger.h"
#include "base/error.h"

namespace opscope {
namespace {

constexpr std::array<std::string_view, 21> kKinds{"mac_counted_as_flop",
                                                  "reported_per_sample",
                                                  "attention_not_seen",
                                                  "unsupported_op",
                                                  "not_seen",
                                                  "outside_modules",
                                                  "module_without_rule",
                                                  "rule_of_its_own",
                                                  "functions_counted",
                                                  "module_counted_twice",
                                                  "op_only_there",
                                                  "counted_otherwise",
                                                  "bias_not_counted",
                                                  "softmax_in_attention",
                                                  "elementwise_not_counted",
                                                  "activation_not_counted",
                                                  "norm_counted_otherwise",
                                                  "softmax_not_counted",
                                                  "pooling_counted_otherwise",
                                                  "reduction_not_counted",
                                                  "declared_cost"};
static_assert(kKinds.size() == static_cast<std::size_t>(CauseKind::kDeclared) + 1);

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

std::string_view name(CauseKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

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
