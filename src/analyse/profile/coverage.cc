// How much of the model the cost table knows, and what the user can do about the rest.
#include <algorithm>
#include <tuple>
#include <unordered_map>

#include "analyse/profile/rollup.h"

namespace opscope {
namespace {

struct UnknownOp {
  StringId name = 0;
  std::uint64_t count = 0;
  OpId first = kNone;
};

std::uint64_t& counter(Coverage& coverage, Confidence confidence) {
  switch (confidence) {
    case Confidence::kExact:
      return coverage.exact;
    case Confidence::kEstimated:
      return coverage.estimated;
    case Confidence::kUpperBound:
      return coverage.upper_bound;
    case Confidence::kUnknown:
      break;
  }
  return coverage.unknown;
}

std::string how_to_declare(std::string_view op, std::uint64_t count) {
  std::string text = count == 1 ? "1 call" : std::to_string(count) + " calls";
  text += " not counted: the cost table has no formula for this op; declare one with opscope.register_op(\"";
  text += op;
  return text + "\", macs=..., flops=..., bytes=...)";
}

// By target, in the order of first sight.
std::vector<UnknownOp> unknown_targets(const Graph& graph, Profile& profile) {
  std::vector<UnknownOp> unknown(graph.targets.size());
  for (std::size_t i = 0; i < profile.costs.size(); ++i) {
    const Confidence confidence = profile.costs[i].confidence;
    ++counter(profile.coverage, confidence);
    if (confidence != Confidence::kUnknown) continue;
    UnknownOp& entry = unknown[graph.ops[i].target];
    if (entry.count++ == 0) entry.first = static_cast<OpId>(i);
  }
  for (std::size_t t = 0; t < unknown.size(); ++t) unknown[t].name = graph.targets[t].name;
  std::erase_if(unknown, [](const UnknownOp& entry) { return entry.count == 0; });
  std::ranges::sort(unknown, {}, &UnknownOp::first);
  return unknown;
}

// Overloads of one op are one kind; targets of the same name share the string.
std::vector<UnknownOp> unknown_ops(const Graph& graph, Profile& profile) {
  std::vector<UnknownOp> merged;
  std::unordered_map<StringId, std::size_t> index;
  for (const UnknownOp& entry : unknown_targets(graph, profile)) {
    const auto [found, is_new] = index.try_emplace(entry.name, merged.size());
    if (is_new)
      merged.push_back(entry);
    else
      merged[found->second].count += entry.count;
  }
  return merged;
}

}  // namespace

void assess_coverage(const Graph& graph, Profile& profile) {
  profile.coverage.ops = profile.costs.size();
  for (const UnknownOp& entry : unknown_ops(graph, profile)) {
    const Op& op = graph.ops[entry.first];
    const std::string name(graph.op_name(op));
    profile.coverage.unknown_ops.push_back({name, entry.count});
    const Module& module = graph.modules[graph.scopes[op.scope].module];
    profile.diagnostics.push_back(
        {"unknown_op", name, std::string(graph.path(module)), how_to_declare(name, entry.count)});
  }
  std::ranges::sort(profile.coverage.unknown_ops, [](const SlowOp& a, const SlowOp& b) {
    return std::tie(b.count, a.op) < std::tie(a.count, b.op);
  });
}

}  // namespace opscope
