// One pass in execution order, with what each piece of memory holds at that point.
#include "partition/dataflow.h"

#include <algorithm>
#include <utility>

#include "ops/op_call.h"

namespace opscope {

struct Dataflow::Piece {
  WriteId last = kNone;           // what it holds
  std::uint32_t waiting = kNone;  // ops that read it since then: a list in waiting_
};

namespace {

Count read_bytes(const Graph& graph, const Value& value) {
  if (value.sparse != kNone || value.stored != kNone) return bytes_of(graph, value);
  const auto shape = graph.shape(value);
  return TensorView{
      .shape = shape, .strides = graph.strides(value), .numel = numel(shape), .dtype = value.dtype}
      .distinct_bytes();
}

// Bytes of its storage from its first element to its last, and whether all of them are its own.
struct Extent {
  Count begin{}, end{};
  bool is_dense = false;
};

Extent extent(const Graph& graph, const Value& value) {
  const auto shape = graph.shape(value);
  const auto strides = graph.strides(value);
  Count last{}, distinct = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (strides[i] == 0) continue;
    last += Count{shape[i] - 1} * Count{strides[i]};
    distinct *= Count{shape[i]};
  }
  const Count begin = bytes_of(value.dtype, Count{value.offset});
  return {begin, begin + bytes_of(value.dtype, last + Count{1}), distinct == last + Count{1}};
}

// Every element of `part` is one of `whole`, as far as their places tell.
bool covers(const Graph& graph, ValueId whole, ValueId part) {
  const Value &a = graph.values[whole], &b = graph.values[part];
  const auto is_strided = [&](const Value& v) { return graph.strides(v).size() == graph.shape(v).size(); };
  if (whole == part || !is_strided(a) || !is_strided(b)) return true;
  const Extent outer = extent(graph, a), inner = extent(graph, b);
  if (outer.is_dense) return outer.begin <= inner.begin && inner.end <= outer.end;
  return outer.begin == inner.begin && a.dtype == b.dtype &&
         std::ranges::equal(graph.shape(a), graph.shape(b)) &&
         std::ranges::equal(graph.strides(a), graph.strides(b));
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
  shown_.assign(count, kNone);
  followed_at_.assign(count, kNone);
  std::vector<Piece> pieces(graph.storages.size() + graph.values.size());
  const auto begin_op = [&] {
    reads_begin_.push_back(static_cast<std::uint32_t>(reads.size()));
    writes_begin_.push_back(static_cast<std::uint32_t>(writes.size()));
    before_begin_.push_back(static_cast<std::uint32_t>(before_.size()));
  };
  for (OpId op = 0; op < count; ++op) {
    begin_op();
    take(graph, costs, op, pieces);
    give(graph, op, pieces);
    settle(graph, costs[op].traffic, op, pieces);
  }
  begin_op();
  keep_what_lasts(graph, pieces);
  gather_readers();
  after_ = IdGroups(count, [&](auto add) {
    for (OpId op = 0; op < count; ++op)
      for (const OpId earlier : before(op)) add(earlier, op);
  });
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
    if (works[op] == 0) return show(op, maker_[id], piece.last);
    const Value& value = graph.values[id];
    // An argument may be there for its shape or dtype only.
    const Traffic& traffic = costs[op].traffic;
    const Count most = is_weight(value.kind) ? traffic.weight_bytes : traffic.input_bytes;
    const bool is_whole = piece.last == kNone || covers(graph, writes[piece.last].value, id);
    reads.push_back(
        {id, piece.last, std::min(read_bytes(graph, value), most), is_weight(value.kind), is_whole});
    waiting_.push_back(op);
    waiting_next_.push_back(piece.waiting);
    piece.waiting = static_cast<std::uint32_t>(waiting_.size() - 1);
  });
}

// By its first argument.
void Dataflow::show(OpId op, OpId maker, WriteId last) {
  if (shown_[op] != kNone) return;
  const OpId changed = last == kNone ? kNone : writes[last].op;
  shown_[op] = maker == kNone || (changed != kNone && changed > maker) ? changed : maker;
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
      writes[piece.last].is_replaced = covers(graph, id, writes[piece.last].value);
    }
    piece.last = static_cast<WriteId>(writes.size());
    writes.push_back({.op = op, .value = id, .bytes = bytes_of(graph, graph.values[id])});
  }
}

// Not all that an op takes is read, or not all of it: copy_ replaces its first argument, an index picks from
// it. What is more than the op's traffic comes off those that it replaces, then off the largest, then off the
// last.
void Dataflow::settle(const Graph& graph, const Traffic& traffic, OpId op, const std::vector<Piece>& pieces) {
  const std::span<Read> all(reads.data() + reads_begin_[op], reads.size() - reads_begin_[op]);
  for (const bool is_weight : {false, true}) {
    Count taken{};
    Read* largest = nullptr;
    for (Read& read : all) {
      if (read.is_weight != is_weight) continue;
      taken += read.bytes;
      if (largest == nullptr || read.bytes >= largest->bytes) largest = &read;
    }
    Count over = taken - (is_weight ? traffic.weight_bytes : traffic.input_bytes);
    if (!over || taken.saturated()) continue;
    const auto take_off = [&](Read& read) {
      const Count bytes = read.is_weight == is_weight ? std::min(read.bytes, over) : Count{};
      read.bytes = read.bytes - bytes;
      over = over - bytes;
    };
    for (Read& read : all) {
      const WriteId last = pieces[piece_of(graph, read.value)].last;
      if (last != kNone && writes[last].op == op) take_off(read);
    }
    take_off(*largest);
    for (std::size_t i = all.size(); i-- > 0;) take_off(all[i]);
  }
  for (Read& read : all) {
    read.is_whole |= !read.bytes;
    if (!read.is_whole) writes[read.write].is_partial = true;
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
  IdGroups by_write(writes.size(), [&](auto add) {
    std::vector<OpId> last_reader(writes.size(), kNone);
    for (OpId op = 0; op < works.size(); ++op)
      for (const Read& read : reads_of(op))
        if (read.write != kNone && std::exchange(last_reader[read.write], op) != op) add(read.write, op);
  });
  for (WriteId id = 0; id < writes.size(); ++id)
    writes[id].readers = {by_write.begins[id], by_write.size(id)};
  readers = std::move(by_write.ids);
}

}  // namespace opscope
