// Counts what two groupings of the same ops have in common.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analyse/fusion/comparison.h"
#include "analyse/fusion/members.h"
#include "base/choices.h"

namespace opscope {
namespace {

constexpr std::size_t kNamesShown = 8;

// "relu" of "aten::relu_"
std::string op_text(const Graph& graph, OpId op) {
  const std::string_view text = short_op_name(graph.op_name(graph.ops[op]));
  return std::string(text.starts_with('_') ? text : op_type(text));
}

std::string joined(const std::vector<std::string>& names) { return join_runs(names, " + ", kNamesShown); }

template <class Row, class Map>
std::vector<Row> most_first(const Map& map) {
  std::vector<Row> rows;
  for (const auto& [_, row] : map) rows.push_back(row);
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
    return a.is_ours != b.is_ours ? a.is_ours : a.count > b.count;
  });
  return rows;
}

// What two groupings of the same ops differ in, gathered by sort and put into words. The reason for a border
// comes from the side that has one: theirs from the kind of kernel and from what their scheduler says, ours
// from the partition.
class FusionDifferences {
 public:
  FusionDifferences(const Graph& graph, const Partition& partition, const FusionMembers& members,
                    const OtherFusion& other)
      : graph_(graph), partition_(partition), members_(members), other_(other) {
    for (const OtherCut& each : other.cuts)
      cuts_.emplace(pair_key(each.from, each.to), other.compiler + " says: " + each.reason);
    for (const MissedFusion& each : partition.missed)
      borders_.emplace(pair_key(each.from, each.to), each.why);
  }

  void add_pair(OpId from, OpId to, Count bytes, bool is_ours) {
    const std::string_view why = is_ours ? why_there(from, to) : why_here(from, to);
    std::string first = op_text(graph_, from), second = op_text(graph_, to);
    PairDifference& row = pairs_[{is_ours, first, second, std::string(why)}];
    if (row.count++ == 0)
      row = {is_ours, std::move(first), std::move(second), std::string(why), 1, Count{}, from, to};
    row.bytes += bytes;
    auto& whys = whys_[is_ours][to];
    if (std::ranges::find(whys, why) == whys.end()) whys.push_back(why);
  }
  // Ops of one group in execution order, each with the piece of the other side that it is in.
  struct Member {
    OpId op = 0;
    std::uint64_t piece = 0;
  };
  void add_group(bool is_ours, const std::vector<Member>& members) {
    std::vector<std::string> names;
    for (const Member& each : members) names.push_back(op_text(graph_, each.op));
    std::string type = is_ours ? std::string(partition_.subgraphs[partition_.of_op[members.front().op]].type)
                               : joined(names);
    std::string pieces = pieces_of(is_ours, members);
    std::string why = reasons_of(is_ours, members);
    GroupDifference& row = groups_[{is_ours, type, pieces, why}];
    if (row.count++ == 0)
      row = {is_ours, std::move(type), std::move(pieces), std::move(why), 1, members.front().op};
  }

  std::vector<PairDifference> pairs() const { return most_first<PairDifference>(pairs_); }
  std::vector<GroupDifference> groups() const { return most_first<GroupDifference>(groups_); }

 private:
  std::string_view why_there(OpId from, OpId to) const {
    const Id first = members_.kernels(from).front(), second = members_.kernels(to).front();
    const KernelKind a = other_.kernels[first].kind, b = other_.kernels[second].kind;
    const bool is_norm = op_text(graph_, to) == "batch_norm";
    if (a == KernelKind::kExtern && is_norm && !other_.frozen)
      return "a library call; a batch norm is folded into it only where weights are frozen";
    if (a == KernelKind::kExtern && b == KernelKind::kExtern) return "two library calls";
    if (a == KernelKind::kExtern) return "a library call: its result goes through memory";
    if (b == KernelKind::kExtern) return "a library call: its inputs come from memory";
    if (const std::string_view said = cut(first, second); !said.empty()) return said;
    if (a == KernelKind::kTemplate || b == KernelKind::kTemplate)
      return "the matmul template does not fuse it";
    return "the result is written to memory before it is read";
  }
  std::string_view why_here(OpId from, OpId to) const {
    const SubgraphId first = partition_.of_op[from], second = partition_.of_op[to];
    if (first == kNone || second == kNone) return "in no subgraph";
    if (const auto found = borders_.find(pair_key(first, second)); found != borders_.end())
      return explanation(found->second);
    const Subgraph &before = partition_.subgraphs[first], &after = partition_.subgraphs[second];
    if (before.ends_at != kNone && partition_.of_op[before.ends_at] == second)
      return explanation(before.ends);
    if (after.begins_at != kNone && partition_.of_op[after.begins_at] == first)
      return explanation(after.begins);
    return explanation(before.ends);
  }
  std::string_view cut(Id from, Id to) const {
    for (const std::uint64_t pair : {pair_key(from, to), pair_key(to, from)})
      if (const auto found = cuts_.find(pair); found != cuts_.end()) return found->second;
    return "";
  }
  // Pieces in the order of their first ops.
  std::string pieces_of(bool is_ours, const std::vector<Member>& members) const {
    std::vector<std::pair<std::uint64_t, std::vector<std::string>>> pieces;
    for (const Member& each : members) {
      auto found = std::ranges::find(pieces, each.piece, [](const auto& piece) { return piece.first; });
      if (found == pieces.end()) found = pieces.insert(found, {each.piece, {}});
      found->second.push_back(op_text(graph_, each.op));
    }
    std::string text;
    for (const auto& [id, names] : pieces) {
      text += (text.empty() ? "" : " | ") + joined(names);
      if (is_ours && other_.kernels[static_cast<Id>(id)].kind != KernelKind::kFused)
        text += " (" + std::string(name(other_.kernels[static_cast<Id>(id)].kind)) + ")";
    }
    return text;
  }
  std::string reasons_of(bool is_ours, const std::vector<Member>& members) const {
    std::vector<std::string_view> seen;
    for (const Member& each : members) {
      const auto found = whys_[is_ours].find(each.op);
      if (found == whys_[is_ours].end()) continue;
      for (const std::string_view why : found->second)
        if (std::ranges::find(seen, why) == seen.end()) seen.push_back(why);
    }
    if (seen.empty()) return is_ours ? "no tensor connects them there" : "no tensor connects them here";
    return join(seen, "; ");
  }

  const Graph& graph_;
  const Partition& partition_;
  const FusionMembers& members_;
  const OtherFusion& other_;
  std::unordered_map<std::uint64_t, std::string> cuts_;
  std::unordered_map<std::uint64_t, Border> borders_;
  std::map<std::tuple<bool, std::string, std::string, std::string>, PairDifference> pairs_;
  std::map<std::tuple<bool, std::string, std::string, std::string>, GroupDifference> groups_;
  std::unordered_map<OpId, std::vector<std::string_view>> whys_[2];  // by side and the second op of a pair
};

constexpr auto kKernelKinds = choices<KernelKind, KernelKind::kTemplate>("fused", "extern", "template");

class Comparing {
 public:
  Comparing(const Graph& graph, std::span<const OpCost> costs, const Partition& partition,
            const OtherFusion& other)
      : graph_(graph),
        partition_(partition),
        other_(other),
        flow_(graph, costs),
        members_(graph, flow_, other),
        differences_(graph, partition, members_, other) {}

  FusionComparison run() {
    result_.graph = &graph_;
    result_.other = &other_;
    count_ops();
    count_kernels();
    count_pairs();
    compare_groups();
    compare_kernels();
    result_.differences = differences_.pairs();
    result_.group_differences = differences_.groups();
    return std::move(result_);
  }

 private:
  void count_ops() {
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const Fate fate = members_.fate(op);
      result_.ops += fate != Fate::kNoWork;
      result_.folded += fate == Fate::kFolded;
      result_.constant += fate == Fate::kConstant;
      result_.removed += fate == Fate::kRemoved;
      result_.outside += fate == Fate::kOutside;
      result_.split += members_.kernels(op).size() > 1;
      for (const Id kernel : members_.kernels(op)) in_kernel_.push_back({members_.run(op, kernel), op});
    }
    std::ranges::sort(in_kernel_);
  }

  void count_kernels() {
    std::vector<char> works(other_.kernels.size(), 0);
    for (std::size_t i = 0; i < in_kernel_.size(); ++i) {
      ++ops_in_[in_kernel_[i].first];
      if (i > 0 && in_kernel_[i].first == in_kernel_[i - 1].first) continue;
      const Id kernel = static_cast<Id>(in_kernel_[i].first);
      works[kernel] = 1;
      ++result_.kernels;
      const KernelKind kind = other_.kernels[kernel].kind;
      result_.fused += kind == KernelKind::kFused;
      result_.library_calls += kind == KernelKind::kExtern;
      result_.templates += kind == KernelKind::kTemplate;
    }
    result_.layout_kernels = static_cast<std::uint64_t>(std::ranges::count(works, 0));
  }

  void count_pairs() {
    std::vector<OpId> met(graph_.ops.size(), kNone);  // by reader: the last that it was paired with
    for (const Write& write : flow_.writes)
      for (const OpId reader : flow_.readers_of(write)) {
        if (reader == write.op || met[reader] == write.op) continue;
        met[reader] = write.op;
        count_pair(write.op, reader, write.bytes);
      }
  }

  void count_pair(OpId from, OpId to, Count bytes) {
    PairCounts& pairs = result_.pairs;
    if (members_.kernels(from).empty() || members_.kernels(to).empty() || members_.indistinct(from, to)) {
      ++pairs.unjudged;
      return;
    }
    const bool ours = partition_.of_op[from] != kNone && partition_.of_op[from] == partition_.of_op[to];
    const bool theirs = members_.together(from, to);
    ++(ours ? theirs ? pairs.both : pairs.ours_only : theirs ? pairs.theirs_only : pairs.neither);
    if (ours || theirs)
      (ours ? theirs ? pairs.both_bytes : pairs.ours_only_bytes : pairs.theirs_only_bytes) += bytes;
    if (ours != theirs) differences_.add_pair(from, to, bytes, ours);
  }

  // Ours that are kernels there, and ours that are not.
  void compare_groups() {
    std::vector<FusionDifferences::Member> inside;
    for (const Subgraph& group : partition_.subgraphs) {
      inside.clear();
      for (const OpId op : partition_.ops_of(group))
        if (!members_.kernels(op).empty()) inside.push_back({op, members_.kernels(op).front()});
      if (inside.empty()) continue;
      ++result_.groups;
      const KernelRun first = members_.run(inside.front().op, static_cast<Id>(inside.front().piece));
      const bool is_one = std::ranges::all_of(
          inside, [&](const auto& each) { return members_.together(inside.front().op, each.op); });
      result_.equal_groups += is_one && ops_in_[first] == inside.size();
      if (!is_one) differences_.add_group(true, inside);
    }
  }

  // Theirs that we have in several groups.
  void compare_kernels() {
    std::vector<FusionDifferences::Member> inside;
    for (std::size_t i = 0; i < in_kernel_.size();) {
      inside.clear();
      const KernelRun kernel = in_kernel_[i].first;
      for (; i < in_kernel_.size() && in_kernel_[i].first == kernel; ++i)
        inside.push_back({in_kernel_[i].second, partition_.of_op[in_kernel_[i].second]});
      const bool is_one =
          std::ranges::all_of(inside, [&](const auto& each) { return each.piece == inside.front().piece; });
      if (!is_one) differences_.add_group(false, inside);
    }
  }

  const Graph& graph_;
  const Partition& partition_;
  const OtherFusion& other_;
  Dataflow flow_;
  FusionMembers members_;
  FusionDifferences differences_;
  std::vector<std::pair<KernelRun, OpId>> in_kernel_;  // sorted
  std::unordered_map<KernelRun, std::size_t> ops_in_;
  FusionComparison result_;
};

void check(const Graph& graph, const Partition& partition, const OtherFusion& other) {
  OPSCOPE_CHECK(partition.of_op.size() == graph.ops.size());
  for (const OtherKernel& kernel : other.kernels)
    for (const NodeId node : kernel.nodes)
      if (node >= graph.nodes.size())
        throw Error("kernel '" + kernel.name + "' has node " + std::to_string(node) + " of " +
                        std::to_string(graph.nodes.size()),
                    other.setting, "kernels and capture are not of one run");
  for (const OtherCut& cut : other.cuts)
    if (cut.from >= other.kernels.size() || cut.to >= other.kernels.size())
      throw Error("a cut between kernels that are not there", other.setting);
}

}  // namespace

std::string_view name(KernelKind kind) { return kKernelKinds[kind]; }
KernelKind kernel_kind_from_name(std::string_view text) {
  return kKernelKinds.parse(text, "no kind of kernel called", "", "fused, extern or template");
}

FusionComparison compare_fusion(const Graph& graph, std::span<const OpCost> costs, const Partition& partition,
                                const OtherFusion& other) {
  check(graph, partition, other);
  return Comparing(graph, costs, partition, other).run();
}

}  // namespace opscope
