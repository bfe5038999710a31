// What a kernel holds at once is a tile of each value that it is working on, whatever the size of the whole.
// Where it folds rows the tile is a row, since the next step needs all of it.
#include <algorithm>
#include <unordered_map>

#include "partition/groups.h"

namespace opscope {
namespace {

constexpr std::uint64_t kBlock = 1024;    // elements that a block of threads works on at a time
constexpr std::uint64_t kTile = 64 * 64;  // of a product's result, and of what it is made from

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
  return std::min(numel(graph.shape(value)), tile) * Count{element_bytes(value.dtype)};
}

}  // namespace

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
