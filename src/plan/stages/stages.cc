// Ops of parts, put in the order of the model, with what crosses between them.
#include "plan/stages/stages.h"

#include <algorithm>

#include "base/groups.h"

namespace opscope {
namespace {

constexpr std::uint32_t kSeveral = kNone - 1;

std::vector<std::uint32_t> stage_of_ops(const Graph& graph, const Plan& plan,
                                        const std::vector<std::vector<OpId>>& ops) {
  std::vector<std::uint32_t> stage_of(graph.ops.size(), kNone);
  for (std::uint32_t s = 0; s < plan.parts.size(); ++s)
    for (const std::uint32_t node : plan.parts[s].nodes)
      for (const OpId op : ops[node]) stage_of[op] = s;
  return stage_of;
}

// Ops that show a weight in another form are repeated where they are read.
void repeat_views(const OpFlow& flow, std::vector<std::vector<OpId>>& stages) {
  std::vector<std::vector<OpId>> views(flow.held_by.size());
  for (const OpFlow::Edge& edge : flow.weight_views) views[edge.to].push_back(edge.from);
  for (auto& ops : stages) {
    for (std::size_t i = 0; i < ops.size(); ++i)  // grows as it goes
      for (const OpId view : views[ops[i]])
        if (std::ranges::find(ops, view) == ops.end()) ops.push_back(view);
    sort_unique(ops);
  }
}

// The stage of a module's ops, and of those below it: kNone without any, kSeveral of more than one.
std::vector<std::uint32_t> stage_of_modules(const Graph& graph, const ModelStages& stages) {
  std::vector<std::uint32_t> stage_of(graph.modules.size(), kNone);
  for (std::uint32_t s = 0; s < stages.ops.size(); ++s)
    for (const OpId op : stages.ops[s])
      for (ModuleId module = graph.scopes[graph.ops[op].scope].module; module != kNone;
           module = graph.modules[module].parent) {
        std::uint32_t& stage = stage_of[module];
        stage = stage == kNone || stage == s ? s : kSeveral;
      }
  return stage_of;
}

}  // namespace

ModelStages stages_of(const Graph& graph, const OpFlow& flow, const Plan& plan,
                      const std::vector<std::vector<OpId>>& ops) {
  const std::vector<std::uint32_t> stage_of = stage_of_ops(graph, plan, ops);
  ModelStages stages{.ops = std::vector<std::vector<OpId>>(plan.parts.size()),
                     .transfers = {},
                     .output_makers = flow.output_makers};
  for (OpId op = 0; op < stage_of.size(); ++op) stages.ops[stage_of[op]].push_back(op);
  std::map<std::pair<OpId, ValueId>, std::vector<std::uint32_t>> readers;
  const auto last = static_cast<std::uint32_t>(plan.parts.size() - 1);
  const auto read = [&](OpId maker, ValueId value, std::uint32_t stage) {
    if (maker != kNone && stage_of[maker] != stage) readers[{maker, value}].push_back(stage);
  };
  for (const OpFlow::Edge& edge : flow.edges) read(edge.from, edge.value, stage_of[edge.to]);
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) read(flow.output_makers[i], graph.outputs[i], last);
  for (auto& [key, to] : readers) {
    sort_unique(to);
    stages.transfers.push_back({key.first, key.second, stage_of[key.first], std::move(to)});
  }
  repeat_views(flow, stages.ops);
  return stages;
}

std::map<std::string, std::uint32_t> device_map(const Graph& graph, const ModelStages& stages) {
  const std::vector<std::uint32_t> stage_of = stage_of_modules(graph, stages);
  std::map<std::string, std::uint32_t> map;
  for (ModuleId m = 0; m < graph.modules.size(); ++m) {
    const ModuleId parent = graph.modules[m].parent;
    if (stage_of[m] == kSeveral || (parent != kNone && stage_of[parent] != kSeveral)) continue;
    map[std::string(graph.path(graph.modules[m]))] = stage_of[m] == kNone ? 0 : stage_of[m];
  }
  std::vector<std::uint32_t> first_reader(graph.values.size(), kNone);
  for (std::uint32_t s = 0; s < stages.ops.size(); ++s)
    for (const OpId op : stages.ops[s])
      each_read(graph, graph.ops[op], [&](ValueId id) { first_reader[id] = std::min(first_reader[id], s); });
  for (const Owned& owned : graph.owned) {
    if (stage_of[owned.module] != kSeveral) continue;
    const std::string path(graph.path(graph.modules[owned.module]));
    const std::uint32_t stage = first_reader[owned.value];
    map[(path.empty() ? "" : path + ".") + std::string(graph.text(owned.name))] = stage == kNone ? 0 : stage;
  }
  return map;
}

}  // namespace opscope
