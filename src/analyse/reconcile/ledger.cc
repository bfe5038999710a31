// Amounts sorted into causes.
#include "analyse/reconcile/ledger.h"

#include <algorithm>
#include <cstdlib>

namespace opscope {
namespace {

// Where each module comes in the model; what is not in it comes last.
std::unordered_map<std::string_view, std::size_t> module_order(const Graph& graph) {
  std::unordered_map<std::string_view, std::size_t> order;
  for (std::size_t i = 0; i < graph.modules.size(); ++i) order.emplace(graph.path(graph.modules[i]), i);
  return order;
}

}  // namespace

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
  const auto order = module_order(graph_);
  const auto place = [&](const CauseRow& row) {
    const auto found = order.find(row.module);
    return found == order.end() ? order.size() : found->second;
  };
  for (Cause& cause : causes)
    std::ranges::stable_sort(cause.rows, {},
                             [&](const CauseRow& row) { return std::pair(row.op, place(row)); });
  std::ranges::stable_sort(
      causes, {}, [](const Cause& cause) { return std::pair(!cause.is_unit(), -std::llabs(cause.flops)); });
  return causes;
}

WorkWord work_word(Category category) {
  switch (category) {
    case Category::kActivation:
      return {CauseKind::kActivation, "activations"};
    case Category::kNorm:
      return {CauseKind::kNorm, "normalisation"};
    case Category::kSoftmax:
      return {CauseKind::kSoftmax, "softmax"};
    case Category::kPool:
      return {CauseKind::kPooling, "pooling"};
    case Category::kReduction:
      return {CauseKind::kReduction, "reductions"};
    case Category::kAttention:
      return {CauseKind::kAttentionNotSeen, "attention"};
    case Category::kPointwise:
      return {CauseKind::kElementwise, "element-wise"};
    default:
      return {CauseKind::kUnsupportedOp, name(category)};
  }
}

}  // namespace opscope
