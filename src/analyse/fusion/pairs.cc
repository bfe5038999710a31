// Counts what two groupings of the same ops have in common.
#include <algorithm>
#include <array>
#include <unordered_map>

#include "analyse/fusion/comparison.h"
#include "analyse/fusion/differences.h"
#include "base/choices.h"
#include "base/text.h"

namespace opscope {
namespace {

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
