// One pass in execution order, with what each piece of memory holds at that point.
#include "partition/dataflow.h"

#include <algorithm>

#include "graph/reads.h"
#include "ops/op_call.h"

namespace opscope {

struct Dataflow::Piece {
  WriteId last = kNone;           // what it holds
  std::uint32_t waiting = kNone;  // ops that read it since then: a list in waiting_
};

namespace {

Count read_bytes(const Graph& graph, const Value& value) {
  const auto shape = graph.shape(value);
  return TensorView{
      .shape = shape, .strides = graph.strides(value), .numel = numel(shape), .dtype = value.dtype}
      .distinct_bytes();
}

bool is_weight(const Value& value) {
  return value.kind == ValueKind::kParameter || value.kind == ValueKind::kBuffer;
}

}  // namespace

// The storages, then the values that have none.
std::uint32_t Dataflow::piece_of(const Graph& graph, ValueId value) const {
  const Id storage = graph.values[value].storage;
  return storage != kNone ? storage : static_cast<std::uint32_t>(graph.storages.size()) + value;
}

Dataflow::Dataflow(const Graph& graph, std::span<const OpCost> costs) {
  const auto count = static_cast<OpId>(graph.ops.size());
  works.reserve(count);
  for (const OpCost& cost : costs) works.push_back(does_work(cost) ? 1 : 0);
  maker_.assign(graph.values.size(), kNone);
  taken_at_.assign(graph.values.size(), kNone);
  followed_at_.assign(count, kNone);
  std::vector<Piece> pieces(graph.storages.size() + graph.values.size());
  for (OpId op = 0; op < count; ++op) {
    reads_begin_.push_back(static_cast<std::uint32_t>(reads.size()));
    writes_begin_.push_back(static_cast<std::uint32_t>(writes.size()));
    before_begin_.push_back(static_cast<std::uint32_t>(before_.size()));
    take(graph, costs, op, pieces);
    give(graph, op, pieces);
  }
  reads_begin_.push_back(static_cast<std::uint32_t>(reads.size()));
  writes_begin_.push_back(static_cast<std::uint32_t>(writes.size()));
  before_begin_.push_back(static_cast<std::uint32_t>(before_.size()));
  keep_what_lasts(graph, pieces);
  gather_readers();
  gather_after();
}

void Dataflow::must_follow(OpId op, OpId earlier) {
  if (earlier == kNone || earlier == op || followed_at_[earlier] == op) return;
  followed_at_[earlier] = op;
  before_.push_back(earlier);
}

void Dataflow::take(const Graph& graph, std::span<const OpCost> costs, OpId op, std::vector<Piece>& pieces) {
  each_read(graph, graph.ops[op], [&](ValueId id) {
    if (taken_at_[id] == op) return;
    taken_at_[id] = op;
    auto& piece = pieces[piece_of(graph, id)];
    must_follow(op, maker_[id]);
    if (piece.last != kNone) must_follow(op, writes[piece.last].op);
    if (works[op] == 0) return;
    const Value& value = graph.values[id];
    // An argument may be there for its shape or dtype only.
    const Traffic& traffic = costs[op].traffic;
    const Count most = is_weight(value) ? traffic.weight_bytes : traffic.input_bytes;
    reads.push_back({id, piece.last, std::min(read_bytes(graph, value), most), is_weight(value)});
    waiting_.push_back(op);
    waiting_next_.push_back(piece.waiting);
    piece.waiting = static_cast<std::uint32_t>(waiting_.size() - 1);
  });
}

void Dataflow::give(const Graph& graph, OpId op, std::vector<Piece>& pieces) {
  for (const ValueId id : graph.outputs_of(graph.ops[op])) {
    if (id == kNone) continue;
    if (maker_[id] == kNone) maker_[id] = op;
    if (works[op] == 0) continue;
    auto& piece = pieces[piece_of(graph, id)];
    // Two outputs of one op in the same memory are one write.
    if (piece.last != kNone && writes[piece.last].op == op) continue;
    for (auto at = piece.waiting; at != kNone; at = waiting_next_[at]) must_follow(op, waiting_[at]);
    piece.waiting = kNone;
    if (piece.last != kNone) {
      must_follow(op, writes[piece.last].op);
      writes[piece.last].next = static_cast<WriteId>(writes.size());
    }
    piece.last = static_cast<WriteId>(writes.size());
    writes.push_back({.op = op, .value = id, .bytes = bytes_of(graph, graph.values[id])});
  }
}

// What the model returns, and changes of inputs, weights and constants, are there after the run.
void Dataflow::keep_what_lasts(const Graph& graph, const std::vector<Piece>& pieces) {
  const auto keep = [&](ValueId id) {
    if (const auto last = pieces[piece_of(graph, id)].last; last != kNone) writes[last].is_kept = true;
  };
  for (const ValueId id : graph.outputs) keep(id);
  for (ValueId id = 0; id < graph.values.size(); ++id)
    if (graph.values[id].kind != ValueKind::kActivation) keep(id);
}

void Dataflow::gather_readers() {
  std::vector<OpId> last_reader(writes.size(), kNone);
  const auto each = [&](auto visit) {
    std::ranges::fill(last_reader, kNone);
    for (OpId op = 0; op < works.size(); ++op)
      for (const Read& read : reads_of(op))
        if (read.write != kNone && last_reader[read.write] != op)
          last_reader[read.write] = op, visit(read, op);
  };
  each([&](const Read& read, OpId) { ++writes[read.write].readers.size; });
  std::uint32_t begin = 0;
  for (Write& write : writes) {
    write.readers.begin = begin;
    begin += write.readers.size;
    write.readers.size = 0;
  }
  readers.resize(begin);
  each([&](const Read& read, OpId op) {
    Range& range = writes[read.write].readers;
    readers[range.begin + range.size++] = op;
  });
}

void Dataflow::gather_after() {
  after_begin_.assign(works.size() + 1, 0);
  for (const OpId earlier : before_) ++after_begin_[earlier + 1];
  for (std::size_t i = 1; i < after_begin_.size(); ++i) after_begin_[i] += after_begin_[i - 1];
  after_.resize(before_.size());
  auto next = after_begin_;
  for (OpId op = 0; op < works.size(); ++op)
    for (const OpId earlier : before(op)) after_[next[earlier]++] = op;
}

}  // namespace opscope
