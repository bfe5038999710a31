// Who makes what others read, by storage: views are seen through, an in-place op comes after all that read
// what it replaces. One pass over the graph. Inside src/partition only.
#pragma once

#include <span>
#include <vector>

#include "base/groups.h"
#include "cost/cost.h"
#include "graph/graph.h"

namespace opscope {

// Does arithmetic, moves bytes, or nobody knows: what a subgraph has to account for.
inline bool does_work(const OpCost& cost) {
  return cost.confidence == Confidence::kUnknown || cost.work != Work{} || cost.traffic.total();
}

using WriteId = Id;

// One op's result in memory, until the next one of the same memory.
struct Write {
  OpId op = 0;
  ValueId value = 0;
  Count bytes{};
  WriteId next = kNone;      // of the same memory
  Range readers{};           // in Dataflow::readers: ops that do work, each once
  bool is_kept = false;      // the model returns it, or it is a change of something that was there before
  bool is_replaced = false;  // the next covers all of it
  bool is_partial = false;   // some reader takes more than it, or another part of the same memory
};

// One value that an op that does work takes.
struct Read {
  ValueId value = 0;
  WriteId write = kNone;  // that it sees; kNone: there before the run
  Count bytes{};          // that reading it touches
  bool is_weight = false;
  bool is_whole = true;  // the write gave all of it: none is left of earlier ones
};

class Dataflow {
 public:
  Dataflow(const Graph& graph, std::span<const OpCost> costs);

  std::vector<char> works;  // by op
  std::vector<Write> writes;
  std::vector<Read> reads;
  std::vector<OpId> readers;

  // Of one op; both empty where it does no work.
  std::span<const Read> reads_of(OpId op) const { return slice(reads, reads_begin_, op); }
  std::span<const Write> writes_of(OpId op) const { return slice(writes, writes_begin_, op); }
  // Ops that must run before it, and after it: for data, and so that nothing is overwritten too early.
  std::span<const OpId> before(OpId op) const { return slice(before_, before_begin_, op); }
  std::span<const OpId> after(OpId op) const { return after_.of(op); }
  std::span<const OpId> readers_of(const Write& w) const {
    return {readers.data() + w.readers.begin, w.readers.size};
  }
  // The op whose output a value is; kNone for what was there before the run.
  OpId maker(ValueId value) const { return maker_[value]; }
  // For an op that does no work: what made or last changed what it shows.
  OpId shown(OpId op) const { return shown_[op]; }

 private:
  struct Piece;  // of memory: what is in it, as the pass goes on

  template <class T>
  static std::span<const T> slice(const std::vector<T>& items, const std::vector<std::uint32_t>& begin,
                                  OpId op) {
    return {items.data() + begin[op], begin[op + 1] - begin[op]};
  }
  void take(const Graph& graph, std::span<const OpCost> costs, OpId op, std::vector<Piece>& pieces);
  void show(OpId op, OpId maker, WriteId last);
  void give(const Graph& graph, OpId op, std::vector<Piece>& pieces);
  void settle(const Graph& graph, const Traffic& traffic, OpId op, const std::vector<Piece>& pieces);
  void must_follow(OpId op, OpId earlier);
  void keep_what_lasts(const Graph& graph, const std::vector<Piece>& pieces);
  void gather_readers();
  std::uint32_t piece_of(const Graph& graph, ValueId value) const;

  std::vector<OpId> maker_, shown_;
  std::vector<OpId> before_;
  IdGroups after_;
  std::vector<std::uint32_t> reads_begin_, writes_begin_, before_begin_;
  std::vector<OpId> taken_at_;                // by value: the op that took it last
  std::vector<OpId> followed_at_;             // by op: the one that was last told to wait for it
  std::vector<OpId> waiting_, waiting_next_;  // readers of each piece since it was written, as linked lists
};

}  // namespace opscope
