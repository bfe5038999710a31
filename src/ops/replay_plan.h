// Which ops of a graph can be run again on their own, each signature once, and why the others cannot. An op
// is replayed on inputs that are made up: its work must depend on shapes alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace opscope {

// Ops that are one and the same work.
struct ReplayGroup {
  std::string signature;
  std::vector<OpId> ops;  // in order
};

// Calls of one op that are not replayed, for one reason.
struct NotReplayed {
  std::string op;      // "aten::nonzero"
  std::string reason;  // "its size depends on data"
  std::string module;  // path of the first
  std::uint64_t calls = 0;
};

struct ReplayPlan {
  std::vector<ReplayGroup> groups;   // in the order of their first ops
  std::vector<NotReplayed> skipped;  // in the order of their first calls
  std::uint64_t idle = 0;            // ops that do no work: views, empty tensors, questions about shapes
};

ReplayPlan make_replay_plan(const Graph& graph);

// One more call to those that are listed.
void add_not_replayed(std::vector<NotReplayed>& rows, const Graph& graph, const Op& op,
                      std::string_view reason);

// Nothing is computed and nothing moves.
bool does_no_work(const Graph& graph, const Op& op);
// Why it cannot be run on its own; "" where it can.
std::string_view why_not_replayed(const Graph& graph, const Op& op);

}  // namespace opscope
