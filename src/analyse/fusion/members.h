// Which kernels of another compiler do the work of each op. Inside the comparison only.
#pragma once

#include <span>
#include <vector>

#include "analyse/fusion/comparison.h"
#include "partition/dataflow.h"

namespace opscope {

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

}  // namespace opscope
