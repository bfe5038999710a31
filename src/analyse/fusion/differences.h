// What two groupings of the same ops differ in, gathered by sort and put into words. Inside the comparison
// only.
#pragma once

#include <map>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyse/fusion/comparison.h"
#include "partition/dataflow.h"

namespace opscope {

// Which kernels of another compiler do the work of each op. Inside the comparison only.

// What became of an op there.
enum class Fate : std::uint8_t { kNoWork, kInKernel, kFolded, kConstant, kRemoved, kOutside };

// A kernel in one run of its graph: what a layer's graph does for each of twelve layers are twelve kernels.
using KernelRun = std::uint64_t;

class FusionMembers {
 public:
  FusionMembers(const Graph& graph, const Dataflow& flow, const OtherFusion& other);

  Fate fate(OpId op) const { return fate_[op]; }
  std::span<const Id> kernels(OpId op) const {
    return {refs_.data() + kernels_[op].begin, kernels_[op].size};
  }
  KernelRun run(OpId op, Id kernel) const { return KernelRun{run_[op]} << 32 | kernel; }
  bool together(OpId a, OpId b) const;
  // One node of the tracer's that several kernels work on: which of its ops is where, nobody says.
  bool indistinct(OpId a, OpId b) const;

 private:
  void find_runs();
  void place();
  void place_apart();
  bool place_calls(std::span<const OpId> ops, std::span<const Id> rest);
  void give(OpId op, std::span<const Id> kernels);
  void find_constants();
  void fold();
  bool is_constant(OpId op, const std::vector<char>& constant) const;
  bool fold_into_convolution(OpId op);
  void fold_into_readers(OpId op);
  bool is_library(OpId op) const;

  const Graph& graph_;
  const Dataflow& flow_;
  const OtherFusion& other_;
  std::vector<Fate> fate_;          // by op
  std::vector<Range> kernels_;      // by op, in refs_
  std::vector<Id> refs_;            // ascending within an op
  std::vector<std::uint32_t> run_;  // by op: which run of its part
  std::vector<Id> found_;           // while folding
};

class FusionDifferences {
 public:
  FusionDifferences(const Graph& graph, const Partition& partition, const FusionMembers& members,
                    const OtherFusion& other);

  void add_pair(OpId from, OpId to, Count bytes, bool is_ours);
  // Ops of one group in execution order, each with the piece of the other side that it is in.
  struct Member {
    OpId op = 0;
    std::uint64_t piece = 0;
  };
  void add_group(bool is_ours, const std::vector<Member>& members);

  std::vector<PairDifference> pairs() const;
  std::vector<GroupDifference> groups() const;

 private:
  std::string_view why_there(OpId from, OpId to) const;
  std::string_view why_here(OpId from, OpId to) const;
  std::string_view cut(Id from, Id to) const;
  std::string type_of(bool is_ours, const std::vector<Member>& members) const;
  std::string pieces_of(bool is_ours, const std::vector<Member>& members) const;
  std::string reasons_of(bool is_ours, const std::vector<Member>& members) const;

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

}  // namespace opscope
