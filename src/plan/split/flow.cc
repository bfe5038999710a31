// One pass in execution order, with who made and who last wrote each piece of memory.
#include "plan/split/flow.h"

#include <algorithm>

#include "base/groups.h"

namespace opscope {
namespace {

class FlowBuilder {
 public:
  FlowBuilder(const Graph& graph, std::span<const OpCost> costs, std::span<const MemoryPiece> pieces)
      : graph_(graph),
        costs_(costs),
        pieces_(pieces),
        maker_(graph.values.size(), kNone),
        writer_(pieces.size(), kNone),
        was_there_(pieces.size(), false),
        is_changed_(pieces.size(), false),
        seen_by_(pieces.size()) {
    flow_.held_by.resize(graph.ops.size()), flow_.freed_caches.resize(graph.ops.size());
    flow_.made_by.assign(pieces.size(), kNone);
    for (ValueId id = 0; id < graph.values.size(); ++id) {
      const ValueKind kind = graph.values[id].kind;
      if (kind != ValueKind::kActivation && kind != ValueKind::kOutput) was_there_[piece_of(id)] = true;
    }
    for (const ValueId id : graph.inputs) was_there_[piece_of(id)] = true;
    for (std::uint32_t p = 0; p < pieces.size(); ++p) flow_.held.push_back(outlives_the_run(p));
  }

  OpFlow build() {
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      each_read(graph_, graph_.ops[op], [&](ValueId id) { take(op, id); });
      for (const ValueId id : graph_.outputs_of(graph_.ops[op]))
        if (id != kNone) give(op, id);
    }
    for (const ValueId id : graph_.outputs) {
      const OpId maker = last_of(id);
      flow_.output_makers.push_back(maker);
      if (maker != kNone) flow_.gives_outputs.push_back(maker);
    }
    for (std::uint32_t p = 0; p < pieces_.size(); ++p)
      if (is_changed_[p] && seen_by_[p].size() > 1) flow_.together.push_back(seen_by_[p]);
    keep_beside();
    for (auto* list : {&flow_.reads_inputs, &flow_.gives_outputs}) sort_unique(*list);
    return std::move(flow_);
  }

 private:
  // The storages, then the values that have none.
  std::uint32_t piece_of(ValueId id) const {
    const Id storage = graph_.values[id].storage;
    return storage != kNone ? storage : static_cast<std::uint32_t>(graph_.storages.size()) + id;
  }
  bool outlives_the_run(std::uint32_t p) const {
    if (!was_there_[p]) return false;
    return pieces_[p].kind == MemoryKind::kWeights ||
           (pieces_[p].kind == MemoryKind::kKvCache && pieces_[p].held.freed == kNone);
  }
  // The op that made the value as it is now; kNone: it was there before the run.
  OpId last_of(ValueId id) const {
    const OpId writer = writer_[piece_of(id)], maker = maker_[id];
    return maker == kNone || (writer != kNone && writer > maker) ? writer : maker;
  }
  void see(OpId op, std::uint32_t p) {
    if (seen_by_[p].empty() || seen_by_[p].back() != op) seen_by_[p].push_back(op);
    if (!flow_.held[p]) return;
    auto& held = flow_.held_by[op];
    if (std::ranges::find(held, p) == held.end()) held.push_back(p);
  }

  void take(OpId op, ValueId id) {
    const std::uint32_t p = piece_of(id);
    see(op, p);
    if (flow_.held[p]) {
      if (maker_[id] != kNone && maker_[id] != op) flow_.weight_views.push_back({maker_[id], op, id});
      return;
    }
    if (const OpId maker = last_of(id); maker != kNone && maker != op) flow_.edges.push_back({maker, op, id});
    if (!was_there_[p]) return;
    if (pieces_[p].kind == MemoryKind::kKvCache)
      flow_.freed_caches[op].push_back(p);
    else if (maker_[id] == kNone)
      flow_.reads_inputs.push_back(op);
  }

  void give(OpId op, ValueId id) {
    const std::uint32_t p = piece_of(id);
    see(op, p);
    if (maker_[id] == kNone) maker_[id] = op;
    if (!was_there_[p] && flow_.made_by[p] == kNone) {
      flow_.made_by[p] = op;
      return;
    }
    const bool writes = costs_[op].traffic.output_bytes || costs_[op].confidence == Confidence::kUnknown;
    if (!writes || flow_.made_by[p] == op) return;
    writer_[p] = op;
    // A part of it: whoever reads another part needs what was there before too.
    if (was_there_[p] || bytes_of(graph_, graph_.values[id]) < pieces_[p].bytes) is_changed_[p] = true;
  }

  // Does nothing but show memory in another form.
  bool is_view(OpId op) const {
    const OpCost& cost = costs_[op];
    return cost.confidence != Confidence::kUnknown && cost.work == Work{} && !cost.traffic.total();
  }

  // By op: some input or cache is behind it.
  std::vector<bool> depend_on_inputs() const {
    std::vector<bool> depends(graph_.ops.size(), flow_.reads_inputs.empty());
    for (const OpId op : flow_.reads_inputs) depends[op] = true;
    for (OpId op = 0; op < depends.size(); ++op)
      if (!flow_.freed_caches[op].empty()) depends[op] = true;
    for (const OpFlow::Edge& edge : flow_.edges)  // in the order of their readers
      if (depends[edge.from]) depends[edge.to] = true;
    return depends;
  }
  // By op: the model returns it, or something that is made of it; or it changes memory.
  std::vector<bool> are_useful() const {
    std::vector<bool> useful(graph_.ops.size(), false);
    for (const OpId op : flow_.gives_outputs) useful[op] = true;
    for (const auto& ops : flow_.together)
      for (const OpId op : ops) useful[op] = true;
    for (auto edge = flow_.edges.rbegin(); edge != flow_.edges.rend(); ++edge)
      if (useful[edge->to]) useful[edge->from] = true;
    return useful;
  }

  void keep_beside() {
    const std::size_t ops = graph_.ops.size();
    std::vector<OpId> first_reader(ops, kNone), first_maker(ops, kNone), last_maker(ops, kNone);
    const std::vector<bool> depends = depend_on_inputs(), useful = are_useful();
    for (const auto* edges : {&flow_.edges, &flow_.weight_views})
      for (const OpFlow::Edge& edge : *edges)
        first_reader[edge.from] = std::min(first_reader[edge.from], edge.to);
    for (const OpFlow::Edge& edge : flow_.edges) {
      OpId &first = first_maker[edge.to], &last = last_maker[edge.to];
      if (first == kNone) first = edge.from;
      if (last == kNone || last < edge.from) last = edge.from;
    }
    for (OpId op = 0; op < ops; ++op) {
      if (!depends[op] && first_reader[op] != kNone)
        flow_.beside.emplace_back(op, first_reader[op]);
      else if (is_view(op) && first_maker[op] != kNone && depends[first_maker[op]])
        flow_.beside.emplace_back(op, first_maker[op]);
      else if (!useful[op] && last_maker[op] != kNone)
        flow_.beside.emplace_back(op, last_maker[op]);
      else if (!useful[op] && first_reader[op] == kNone && op > 0)
        flow_.beside.emplace_back(op, op - 1);
    }
  }

  const Graph& graph_;
  std::span<const OpCost> costs_;
  std::span<const MemoryPiece> pieces_;
  std::vector<OpId> maker_, writer_;  // by value, by piece
  std::vector<bool> was_there_, is_changed_;
  std::vector<std::vector<OpId>> seen_by_;
  OpFlow flow_;
};

}  // namespace

OpFlow op_flow(const Graph& graph, std::span<const OpCost> costs, std::span<const MemoryPiece> pieces) {
  return FlowBuilder(graph, costs, pieces).build();
}

}  // namespace opscope
