// How much of the model the cost table knows, and what the user can do about the rest.
#include <algorithm>
#include <tuple>

#include "analyse/rollup.h"

namespace opscope {
namespace {

struct UnknownTarget {
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

// Overloads of one op are one kind; targets of the same name share the string.
std::vector<UnknownTarget> unknown_by_name(const Graph& graph, Profile& profile) {
  std::vector<UnknownTarget> unknown(graph.string_count());
  for (std::size_t i = 0; i < profile.costs.size(); ++i) {
    const Confidence confidence = profile.costs[i].confidence;
    ++counter(profile.coverage, confidence);
    if (confidence != Confidence::kUnknown) continue;
    UnknownTarget& entry = unknown[graph.targets[graph.ops[i].target].name];
    if (entry.count++ == 0) entry.first = static_cast<OpId>(i);
  }
  return unknown;
}

}  // namespace

void assess_coverage(const Graph& graph, Profile& profile) {
  profile.coverage.ops = profile.costs.size();
  auto unknown = unknown_by_name(graph, profile);
  std::erase_if(unknown, [](const UnknownTarget& entry) { return entry.count == 0; });
  std::ranges::sort(unknown, {}, &UnknownTarget::first);
  for (const UnknownTarget& entry : unknown) {
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
