// One pass over the graph: the row of each distinct op is looked up once, and one OpCall is filled and priced
// after the other, without allocating.
#include "cost/cost.h"

#include <algorithm>

#include "base/choices.h"
#include "base/large_pages.h"

namespace opscope {
namespace {

constexpr auto kConventions = choices<Convention, Convention::kFvcore>("opscope", "macs", "torch", "fvcore");

Count by_convention(const Work& work, const OpRule* rule, const OpCall& call, Convention convention) {
  switch (convention) {
    case Convention::kOpscope:
      return work.macs * 2 + work.other_flops + work.specials;
    case Convention::kMacs:
      return work.macs;
    case Convention::kTorch:
      if (rule == nullptr || !rule->in_torch_counter) return 0;
      return rule->torch != nullptr ? rule->torch(call) : work.macs * 2;
    case Convention::kFvcore:
      return rule != nullptr && rule->fvcore != nullptr ? rule->fvcore(call) : Count{};
  }
  return 0;
}

OpCost price(const OpCall& call, const OpRule* rule, Convention convention) {
  const auto work = rule != nullptr ? rule->work(call) : std::nullopt;
  if (!work) return {.traffic = default_traffic(call)};
  const auto traffic = rule->traffic != nullptr ? rule->traffic(call) : std::nullopt;
  return {.work = *work,
          .traffic = traffic ? *traffic : default_traffic(call),
          .flops = by_convention(*work, rule, call, convention),
          .confidence = rule->confidence,
          .rule = rule};
}

// `bytes` in all: weights and outputs as they are, as far as it goes, and the rest read.
Traffic split(const Traffic& usual, Count bytes) {
  Traffic traffic;
  traffic.weight_bytes = std::min(usual.weight_bytes, bytes);
  traffic.output_bytes = std::min(usual.output_bytes, bytes - traffic.weight_bytes);
  traffic.input_bytes = bytes - traffic.weight_bytes - traffic.output_bytes;
  return traffic;
}

// The user's word wins. Declared flops include the declared MACs, two each; what is not declared stays as the
// table has it.
void apply_declared(OpCost& cost, const DeclaredCost& declared, const OpCall& call, Convention convention) {
  if (declared.bytes) cost.traffic = split(cost.traffic, Count{*declared.bytes});
  if (!declared.macs && !declared.flops) return;
  cost.work = {.macs = Count{declared.macs.value_or(0)}};
  if (declared.flops) cost.work.other_flops = Count{*declared.flops} - cost.work.macs * 2;
  cost.rule = nullptr;
  cost.confidence = Confidence::kExact;
  cost.flops = by_convention(cost.work, nullptr, call, convention);
}

// Sizes that are the largest possible make a number an upper bound, whoever gave its formula.
void apply_bound(OpCost& cost, const Op& op) {
  if (op.bounded) cost.confidence = std::max(cost.confidence, Confidence::kUpperBound);
}

}  // namespace

std::vector<OpCost> estimate(const Graph& graph, Convention convention) {
  std::vector<const OpRule*> rules;
  for (const Target& target : graph.targets) rules.push_back(find_rule(graph.text(target.name)));
  std::vector<OpCost> costs;
  reserve_large(costs, graph.ops.size());
  OpCall call(graph);
  for (const Op& op : graph.ops) {
    call.reset(op);
    apply_bound(costs.emplace_back(price(call, rules[op.target], convention)), op);
  }
  for (const DeclaredCost& declared : graph.declared) {
    const Op& op = graph.ops[declared.op];
    call.reset(op);
    apply_declared(costs[declared.op], declared, call, convention);
    apply_bound(costs[declared.op], op);
  }
  return costs;
}

OpCost estimate_one(const Graph& graph, OpId op, Convention convention) {
  OpCall call(graph);
  call.reset(graph.ops[op]);
  OpCost cost = price(call, find_rule(call.name()), convention);
  for (const DeclaredCost& declared : graph.declared)
    if (declared.op == op) apply_declared(cost, declared, call, convention);
  apply_bound(cost, graph.ops[op]);
  return cost;
}

std::string_view name(Convention convention) { return kConventions[convention]; }
Convention convention_from_name(std::string_view text) {
  return kConventions.parse(text, "no convention called");
}

}  // namespace opscope
