#include "ops/replay_plan.h"

#include <algorithm>
#include <unordered_map>

#include "graph/graph.h"
#include "graph/signature.h"
#include "ops/op_facts.h"

namespace opscope {
namespace {

constexpr std::string_view kDataSize = "its size depends on data";
constexpr std::string_view kDataWork = "how much it does depends on data";
constexpr std::string_view kNumber = "it hands a number to Python, which waits for it";
constexpr std::string_view kLengths = "it takes the lengths of its rows from data";

std::string_view data_reason(const Graph& graph, const Op& op) {
  const auto name = graph.op_name(op);
  const auto overload = graph.text(graph.targets[op.target].overload);
  const auto& facts = facts_of(name);
  if (facts.is(Fact::kSizedByData)) return kDataSize;
  if (facts.is(Fact::kGivesNumber)) return kNumber;
  if (facts.is(Fact::kWorkByData)) return kDataWork;
  // Repeats given as a tensor, sequences of different lengths.
  if (facts.limit == "repeat_interleave" && overload.ends_with("Tensor")) return kDataSize;
  const auto* rule = find_rule(name);
  const bool packed = rule && rule->category == Category::kRecurrent && overload == "data";
  return packed || facts.is(Fact::kRowsByData) || facts.is(Fact::kOffsets) ? kLengths : "";
}

// What index ops do with a mask: as many rows as it has ones.
bool indexes_with_mask(const Graph& graph, const Op& op) {
  if (graph.op_name(op).find("index") == std::string_view::npos) return false;
  for (const auto& argument : graph.arguments_of(op)) {
    if (graph.text(argument.name) != "indices" || argument.kind != ArgumentKind::kTensorList) continue;
    for (const auto id : graph.values_in(argument))
      if (id != kNone && (graph.values[id].dtype == DType::kBool || graph.values[id].dtype == DType::kUInt8))
        return true;
  }
  return false;
}

std::string_view tensor_reason(const Graph& graph, const Op& op) {
  std::string_view reason;
  each_read(graph, op, [&](ValueId id) {
    const auto& value = graph.values[id];
    if (graph.strides(value).size() != graph.shape(value).size())
      reason = "a tensor of it is sparse, or of rows of different lengths";
    if (value.dtype >= DType::kQInt8 || value.dtype == DType::kUndefined)
      reason = "it works on quantised tensors, whose scales a capture does not keep";
    if (graph.text(value.device) == "meta") reason = "it runs on the meta device, which computes nothing";
  });
  return reason;
}

bool is_library_op(std::string_view name) {
  return name.starts_with("aten::") || name.starts_with("torchvision::") || name.starts_with("prims::");
}

}  // namespace

bool does_no_work(const Graph& graph, const Op& op) {
  const auto* rule = find_rule(graph.op_name(op));
  if (rule == nullptr || rule->work == nullptr) return false;
  OpCall call(graph);
  call.reset(op);
  const auto work = rule->work(call);
  const auto traffic = rule->traffic ? rule->traffic(call) : default_traffic(call);
  return work && traffic && *work == Work{} && traffic->total() == Count{0};
}

std::string_view why_not_replayed(const Graph& graph, const Op& op) {
  if (const auto reason = data_reason(graph, op); !reason.empty()) return reason;
  if (const auto* rule = find_rule(graph.op_name(op)); rule && rule->category == Category::kMetadata)
    return "it changes or checks a tensor, and computes nothing";
  if (op.bounded) return "its sizes, or whether it runs, depend on data";
  if (indexes_with_mask(graph, op)) return kDataSize;
  if (!is_library_op(graph.op_name(op))) return "a custom op: which inputs it takes is not known";
  return tensor_reason(graph, op);
}

void add_not_replayed(std::vector<NotReplayed>& rows, const Graph& graph, const Op& op,
                      std::string_view reason) {
  const auto name = graph.op_name(op);
  const auto row =
      std::ranges::find_if(rows, [&](const auto& each) { return each.op == name && each.reason == reason; });
  if (row != rows.end()) {
    ++row->calls;
    return;
  }
  const auto& module = graph.modules[graph.scopes[op.scope].module];
  rows.push_back({std::string(name), std::string(reason), std::string(graph.path(module)), 1});
}

ReplayPlan make_replay_plan(const Graph& graph) {
  ReplayPlan plan;
  std::unordered_map<std::string, std::size_t> known;
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    const auto& op = graph.ops[id];
    // Asked first: an item() counts nothing, and still it is not free.
    const auto reason = why_not_replayed(graph, op);
    if (data_reason(graph, op).empty() && does_no_work(graph, op)) {
      ++plan.idle;
    } else if (!reason.empty()) {
      add_not_replayed(plan.skipped, graph, op, reason);
    } else {
      auto signature = signature_of(graph, op);
      const auto [slot, fresh] = known.try_emplace(signature, plan.groups.size());
      if (fresh) plan.groups.push_back({std::move(signature), {}});
      plan.groups[slot->second].ops.push_back(id);
    }
  }
  return plan;
}

}  // namespace opscope
