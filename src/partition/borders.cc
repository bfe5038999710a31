// What runs between subgraphs: who depends on whom, why they are apart, and what that costs.
#include <algorithm>
#include <tuple>

#include "partition/assemble.h"

namespace opscope {
namespace {

// A read across a border.
struct Crossing {
  SubgraphId from = 0, to = 0;
  OpId writer = 0, reader = 0;
  WriteId write = 0;
  Count bytes{};
  Border why = Border::kStrategy;
};

std::vector<Crossing> crossings(const Groups& groups, const Partition& partition) {
  std::vector<Crossing> found;
  for (SubgraphId to = 0; to < partition.subgraphs.size(); ++to)
    for (const OpId reader : partition.ops_of(partition.subgraphs[to]))
      for (const Read& read : groups.flow.reads_of(reader)) {
        if (read.write == kNone) continue;
        const OpId writer = groups.writer(read);
        const SubgraphId from = partition.of_op[writer];
        if (from == to) continue;
        const Border why = groups.why[static_cast<std::size_t>(&read - groups.flow.reads.data())];
        found.push_back({from, to, writer, reader, read.write, read.bytes, why});
      }
  return found;
}

// Why it begins: what it takes most of. Why it ends: the one reason, or a fork where there are several.
void tell_borders(const std::vector<Crossing>& all, Partition& partition) {
  std::vector<Count> most_in(partition.subgraphs.size()), most_out(partition.subgraphs.size());
  std::vector<char> has_out(partition.subgraphs.size(), 0);
  for (const Crossing& each : all) {
    Subgraph& to = partition.subgraphs[each.to];
    if (to.begins_at == kNone || each.bytes > most_in[each.to]) {
      most_in[each.to] = each.bytes;
      to.begins = each.why, to.begins_at = each.writer;
    }
    Subgraph& from = partition.subgraphs[each.from];
    const bool is_first = has_out[each.from] == 0;
    has_out[each.from] = 1;
    if (is_first || each.bytes > most_out[each.from]) {
      most_out[each.from] = each.bytes;
      from.ends_at = each.reader;
    }
    from.ends = is_first || from.ends == each.why ? each.why : Border::kFork;
  }
}

// Without a reader outside: the model's result, or nobody's.
void tell_ends(const Groups& groups, Partition& partition) {
  for (Subgraph& subgraph : partition.subgraphs) {
    if (subgraph.ends_at != kNone) continue;
    bool is_kept = false;
    for (const OpId op : partition.ops_of(subgraph))
      for (const Write& write : groups.flow.writes_of(op)) is_kept |= write.is_kept;
    subgraph.ends = is_kept ? Border::kOutput : Border::kUnread;
  }
}

void tell_dependencies(std::vector<Crossing>& all, Partition& partition) {
  std::ranges::sort(all, {}, [](const Crossing& c) { return std::tuple(c.to, c.from, c.write, c.reader); });
  for (std::size_t i = 0; i < all.size(); ++i) {
    Range& range = partition.subgraphs[all[i].to].depends_on;
    if (range.size == 0) range.begin = static_cast<std::uint32_t>(partition.refs.size());
    if (range.size != 0 && partition.refs.back() == all[i].from) continue;
    partition.refs.push_back(all[i].from);
    ++range.size;
  }
}

// By write: read by one subgraph outside only, and by nobody after the run.
std::vector<char> has_one_taker(const Groups& groups, const std::vector<Crossing>& all) {
  std::vector<SubgraphId> taker(groups.flow.writes.size(), kNone);
  std::vector<char> is_one(groups.flow.writes.size(), 1);
  for (const Crossing& each : all) {
    if (taker[each.write] != kNone && taker[each.write] != each.to) is_one[each.write] = 0;
    taker[each.write] = each.to;
  }
  for (std::size_t i = 0; i < is_one.size(); ++i)
    if (groups.flow.writes[i].is_kept || groups.flow.writes[i].next != kNone) is_one[i] = 0;
  return is_one;
}

// Needs the crossings sorted by pair, the reads of one write side by side.
void tell_missed(const Groups& groups, const std::vector<Crossing>& all, Partition& partition) {
  const auto is_one = has_one_taker(groups, all);
  Count most{};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Crossing& each = all[i];
    const bool is_same_pair = i > 0 && all[i - 1].from == each.from && all[i - 1].to == each.to;
    if (!is_same_pair) partition.missed.push_back({each.from, each.to, each.why, {}}), most = {};
    MissedFusion& missed = partition.missed.back();
    missed.bytes += each.bytes;
    if (is_one[each.write] != 0 && !(is_same_pair && all[i - 1].write == each.write))
      missed.bytes += groups.flow.writes[each.write].bytes;
    if (each.bytes > most) most = each.bytes, missed.why = each.why;
  }
  std::ranges::stable_sort(partition.missed, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
}

}  // namespace

void find_borders(const Groups& groups, Partition& partition) {
  auto all = crossings(groups, partition);
  tell_borders(all, partition);
  tell_ends(groups, partition);
  tell_dependencies(all, partition);
  tell_missed(groups, all, partition);
}

}  // namespace opscope
