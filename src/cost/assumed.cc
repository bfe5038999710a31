// Follows what was picked to where it gives a size or a number, and marks all that has this size. After a
// number was handed to Python, all may depend on it.
#include "cost/assumed.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "ops/op_facts.h"

namespace opscope {
namespace {

// Op names of which a capture says that it assumed what they pick.
std::set<std::string_view> assumed_picks(const Graph& graph) {
  std::set<std::string_view> names;
  for (const Diagnostic& note : graph.diagnostics)
    if (note.kind == "assumption" && is(note.op, Fact::kSpreads)) names.insert(note.op);
  return names;
}

class Follower {
 public:
  explicit Follower(const Graph& graph)
      : graph_(graph), picked_(graph.values.size()), sized_(graph.values.size()) {}

  std::vector<bool> run(const std::set<std::string_view>& picks, const std::vector<OpId>& settled) {
    std::vector<bool> marked(graph_.ops.size());
    for (OpId id = 0; id < graph_.ops.size(); ++id) {
      const Op& op = graph_.ops[id];
      const std::string_view name = graph_.op_name(op);
      bool reads_picked = false, reads_sized = false;
      each_read(graph_, op, [&](ValueId value) {
        reads_picked = reads_picked || picked_[value];
        reads_sized = reads_sized || sized_[value];
      });
      const bool is_settled = std::ranges::binary_search(settled, id);
      if (reads_picked && !is_settled && is(name, Fact::kGivesNumber)) all_from_here_ = true;
      marked[id] = reads_sized || all_from_here_ || (reads_picked && is_sized(op, name));
      const bool picks_here = picks.contains(name) || reads_picked;
      for (const ValueId value : graph_.outputs_of(op)) {
        if (value == kNone) continue;
        if (marked[id]) sized_[value] = true;
        if (picks_here && !is_settled) picked_[value] = true;
      }
    }
    return marked;
  }

 private:
  // By the elements of a mask, or the numbers of a tensor.
  bool is_sized(const Op& op, std::string_view name) const {
    if (is(name, Fact::kSizedByData) || name == "aten::repeat_interleave") return true;
    if (name == "aten::where") return graph_.arguments_of(op).size() == 1;
    if (name != "aten::index") return false;
    bool has_mask = false;
    each_read(graph_, op, [&](ValueId value) {
      has_mask = has_mask || (picked_[value] && graph_.values[value].dtype == DType::kBool);
    });
    return has_mask;
  }

  const Graph& graph_;
  std::vector<bool> picked_, sized_;  // by value
  bool all_from_here_ = false;
};

}  // namespace

std::vector<bool> sized_by_assumption(const Graph& graph, const std::vector<OpId>& settled) {
  const auto picks = assumed_picks(graph);
  if (picks.empty()) return {};
  return Follower(graph).run(picks, settled);
}

}  // namespace opscope
