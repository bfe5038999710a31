// The bytes of each subgraph as one kernel: what its ops move, less what stays inside. Values that it makes
// and reads itself are not read from memory, and not written either where nobody else needs them.
#include <algorithm>
#include <unordered_map>

#include "partition/groups.h"

namespace opscope {
namespace {

void spare(Count& from, Count bytes) { from = from - std::min(from, bytes); }

// By write: it has to reach memory.
std::vector<char> writes_out(const Groups& groups, const Partition& partition) {
  const Dataflow& flow = groups.flow;
  std::vector<char> escapes(flow.writes.size(), 0);
  // From the end: a write that is changed in place later is needed in memory where the change does not cover
  // it.
  for (auto id = static_cast<WriteId>(flow.writes.size()); id-- > 0;) {
    const Write& write = flow.writes[id];
    const SubgraphId own = partition.of_op[write.op];
    bool is_out = write.is_partial || (write.next == kNone && (write.is_kept || write.readers.size == 0));
    for (const OpId reader : flow.readers_of(write)) is_out |= partition.of_op[reader] != own;
    if (write.next != kNone) {
      const Write& next = flow.writes[write.next];
      is_out |= partition.of_op[next.op] != own;
      is_out |= escapes[write.next] != 0 && !write.is_replaced;
    }
    escapes[id] = is_out ? 1 : 0;
  }
  return escapes;
}

class Spared {
 public:
  Spared(const Groups& groups, const Partition& partition)
      : g_(groups), partition_(partition), escapes_(writes_out(groups, partition)) {
    read_by_.assign(g_.graph.values.size(), kNone);
    read_of_.assign(g_.graph.values.size(), kNone);
  }

  Traffic of(OpId op, bool reads_once) {
    Traffic left = g_.costs[op].traffic;
    const SubgraphId own = partition_.of_op[op];
    for (const Read& read : g_.flow.reads_of(op)) {
      Count& from = read.is_weight ? left.weight_bytes : left.input_bytes;
      const bool is_inner = read.write != kNone && read.is_whole && partition_.of_op[g_.writer(read)] == own;
      const bool is_known = read_by_[read.value] == own && read_of_[read.value] == read.write;
      if (is_inner || (is_known && reads_once)) spare(from, read.bytes);
      if (reads_once) read_by_[read.value] = own, read_of_[read.value] = read.write;
    }
    for (const Write& write : g_.flow.writes_of(op))
      if (escapes_[static_cast<std::size_t>(&write - g_.flow.writes.data())] == 0)
        spare(left.output_bytes, write.bytes);
    return left;
  }

 private:
  const Groups& g_;
  const Partition& partition_;
  std::vector<char> escapes_;
  std::vector<SubgraphId> read_by_;  // by value: the last subgraph that took it, element by element,
  std::vector<WriteId> read_of_;     // and what it held
};

constexpr std::uint64_t kBlock = 1024;  // elements that a block of threads works on at a time
constexpr std::uint64_t kTile = 4096;   // of a product's result, and of what it is made from

Count tile_of(const Groups& groups, std::span<const OpId> members, const Loop& loop) {
  Count tile = kBlock;
  for (const OpId op : members) {
    const Trait& trait = groups.traits[op];
    if (trait.role == Role::kAnchor) tile = std::max(tile, Count{kTile});
    if (trait.role == Role::kRows && loop.form == Form::kPlain) tile = std::max(tile, trait.in / trait.rows);
  }
  // The gate waits for the mean of all channels: a whole sample.
  if (loop.form == Form::kSqueezeExcite) {
    const auto shape =
        groups.graph.shape(groups.graph.values[groups.flow.writes_of(members.back())[0].value]);
    tile = std::max(tile, loop.domain / (shape.empty() ? Count{1} : Count{shape[0]}));
  }
  return tile;
}

Count held(const Graph& graph, ValueId id, Count tile) {
  const Value& value = graph.values[id];
  return bytes_of(value.dtype, std::min(numel(graph.shape(value)), tile));
}

}  // namespace

void add_traffic(const Groups& groups, Partition& partition) {
  Spared spared(groups, partition);
  for (Subgraph& sum : partition.subgraphs) {
    const auto members = partition.ops_of(sum);
    // The mean of a squeeze-excite has to be done before its argument is read again.
    const bool holds = groups.loops[groups.order.group_of(members[0])].form != Form::kSqueezeExcite;
    for (const OpId op : members)
      if (const Role role = groups.traits[op].role; role != Role::kRide)
        sum.traffic += spared.of(op, holds && role != Role::kAnchor && role != Role::kBarrier);
    partition.fused_bytes += sum.memory_bytes();
  }
}

// What a kernel holds at once is a tile of each value that it is working on, whatever the size of the whole.
// Where it folds rows the tile is a row, since the next step needs all of it.
Count working_set(const Groups& groups, std::span<const OpId> members, const Loop& loop) {
  const Dataflow& flow = groups.flow;
  const Count tile = tile_of(groups, members, loop);
  // Results that are read inside stay until their last reader has run.
  std::unordered_map<WriteId, OpId> last_reader;
  for (const OpId op : members)
    for (const Read& read : flow.reads_of(op))
      if (read.write != kNone && std::ranges::binary_search(members, groups.writer(read)))
        last_reader[read.write] = op;
  std::unordered_map<OpId, Count> leaving;
  Count kept{}, peak{};
  for (const OpId op : members) {
    Count now = kept;
    for (const Read& read : flow.reads_of(op))
      if (read.write == kNone || !last_reader.contains(read.write))
        now += held(groups.graph, read.value, tile);
    for (const Write& write : flow.writes_of(op)) {
      const Count bytes = held(groups.graph, write.value, tile);
      now += bytes;
      const auto reader = last_reader.find(static_cast<WriteId>(&write - flow.writes.data()));
      if (reader == last_reader.end() || reader->second <= op) continue;
      kept += bytes;
      leaving[reader->second] += bytes;
    }
    peak = std::max(peak, now);
    if (const auto gone = leaving.find(op); gone != leaving.end()) kept = kept - gone->second;
  }
  return peak;
}

}  // namespace opscope
