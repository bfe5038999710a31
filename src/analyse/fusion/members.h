// Which kernels of another compiler do the work of each op. Inside the comparison only.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "analyse/fusion/comparison.h"
#include "base/groups.h"
#include "partition/dataflow.h"

namespace opscope {

// What became of an op there.
enum class Fate : std::uint8_t { kNoWork, kInKernel, kFolded, kConstant, kRemoved, kOutside };

// A kernel in one run of its graph: what a layer's graph does for each of twelve layers are twelve kernels.
using KernelRun = std::uint64_t;

class FusionMembers {
 public:
  FusionMembers(const Graph& graph, const Dataflow& flow, const OtherFusion& other)
      : graph_(graph),
        flow_(flow),
        other_(other),
        fate_(graph.ops.size(), Fate::kNoWork),
        kernels_(graph.ops.size()) {
    find_runs();
    place();
    place_apart();
    find_constants();
    fold();
  }

  Fate fate(OpId op) const { return fate_[op]; }
  std::span<const Id> kernels(OpId op) const {
    return {refs_.data() + kernels_[op].begin, kernels_[op].size};
  }
  KernelRun run(OpId op, Id kernel) const { return KernelRun{run_[op]} << 32 | kernel; }
  bool together(OpId a, OpId b) const {
    return run_[a] == run_[b] && std::ranges::any_of(kernels(a), [&](Id kernel) {
             return std::ranges::binary_search(kernels(b), kernel);
           });
  }
  // One node of the tracer's that several kernels work on: which of its ops is where, nobody says.
  bool indistinct(OpId a, OpId b) const {
    return graph_.ops[a].node == graph_.ops[b].node && run_[a] == run_[b] && kernels_[a].size > 1 &&
           kernels_[a] == kernels_[b];
  }

 private:
  // Within one run of a part its nodes go up.
  void find_runs() {
    run_.assign(graph_.ops.size(), 0);
    std::vector<std::uint32_t> runs(graph_.parts.size(), 0);
    std::vector<NodeId> last(graph_.parts.size(), 0);
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      const NodeId node = graph_.ops[op].node;
      if (node == kNone) continue;
      const PartId part = graph_.nodes[node].part;
      if (node < last[part]) ++runs[part];
      last[part] = node;
      run_[op] = runs[part];
    }
  }
  // By node of the tracer's graph: the kernels that have it in such a list.
  IdGroups kernels_by_node(std::vector<NodeId> OtherKernel::*nodes) const {
    return {graph_.nodes.size(), [&](auto add) {
              for (Id id = 0; id < other_.kernels.size(); ++id)
                for (const NodeId node : other_.kernels[id].*nodes) add(node, id);
            }};
  }
  // Ops of one node share its list.
  void place() {
    IdGroups by_node = kernels_by_node(&OtherKernel::nodes);
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      if (!flow_.works[op]) continue;
      const NodeId node = graph_.ops[op].node;
      fate_[op] = node == kNone ? Fate::kOutside : Fate::kRemoved;
      if (node == kNone || by_node.size(node) == 0) continue;
      fate_[op] = Fate::kInKernel;
      kernels_[op] = {by_node.begins[node], by_node.size(node)};
    }
    refs_ = std::move(by_node.ids);
  }
  // A node of several ops, such as attention with its projections: library calls are for its anchors, in
  // their order.
  void place_apart() {
    const IdGroups rest = kernels_by_node(&OtherKernel::rest);
    std::vector<OpId> ops;
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      if (fate_[op] != Fate::kInKernel) continue;
      const bool goes_on =
          !ops.empty() && graph_.ops[ops.back()].node == graph_.ops[op].node && run_[ops.back()] == run_[op];
      if (!goes_on && !ops.empty()) place_calls(ops, rest.of(graph_.ops[ops.back()].node)), ops.clear();
      ops.push_back(op);
    }
    if (!ops.empty()) place_calls(ops, rest.of(graph_.ops[ops.back()].node));
  }
  void place_calls(std::span<const OpId> ops, std::span<const Id> rest) {
    if (ops.size() < 2 || kernels_[ops.front()].size < 2) return;
    std::vector<Id> calls, loops(rest.begin(), rest.end());
    for (const Id id : kernels(ops.front()))
      (other_.kernels[id].kind == KernelKind::kFused ? loops : calls).push_back(id);
    const auto is_anchor = [&](OpId op) {
      const OpRule* rule = find_rule(graph_.op_name(graph_.ops[op]));
      return rule && rule->fusion == Fusion::kAnchor;
    };
    if (static_cast<std::size_t>(std::ranges::count_if(ops, is_anchor)) != calls.size()) return;
    std::ranges::sort(loops);
    auto call = calls.begin();
    for (const OpId op : ops) is_anchor(op) ? give(op, std::span(&*call++, 1)) : give(op, loops);
    for (const OpId op : ops)
      if (kernels_[op].size == 0) fate_[op] = Fate::kRemoved;
  }
  void give(OpId op, std::span<const Id> kernels) {
    const std::vector<Id> kept(kernels.begin(), kernels.end());  // they may be in refs_
    kernels_[op] = {static_cast<std::uint32_t>(refs_.size()), static_cast<std::uint32_t>(kept.size())};
    refs_.insert(refs_.end(), kept.begin(), kept.end());
  }
  // Of what no kernel does: all that depends on nothing but constants.
  void find_constants() {
    std::vector<char> constant(graph_.ops.size(), 0);
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      if (fate_[op] != Fate::kRemoved || !is_constant(op, constant)) continue;
      constant[op] = 1;
      fate_[op] = Fate::kConstant;
    }
  }
  // Backwards, so that a chain that became one call is folded link by link.
  void fold() {
    for (OpId op = static_cast<OpId>(graph_.ops.size()); op-- > 0;)
      if (fate_[op] == Fate::kRemoved && !fold_into_convolution(op)) fold_into_readers(op);
  }
  bool is_constant(OpId op, const std::vector<char>& constant) const {
    return std::ranges::all_of(flow_.reads_of(op), [&](const Read& read) {
      if (read.write != kNone) return constant[flow_.writes[read.write].op] != 0;
      const ValueKind kind = graph_.values[read.value].kind;
      return kind == ValueKind::kConstant || (other_.frozen && kind != ValueKind::kInput);
    });
  }
  // A batch norm with frozen weights goes into the convolution before it, which has a kernel under its own
  // name where nothing else was folded.
  bool fold_into_convolution(OpId op) {
    if (!other_.frozen || short_op_name(graph_.op_name(graph_.ops[op])) != "batch_norm") return false;
    const auto reads = flow_.reads_of(op);
    if (reads.empty() || reads.front().write == kNone) return false;
    const OpId before = flow_.writes[reads.front().write].op;
    if (fate_[before] != Fate::kInKernel || !is_library(before)) return false;
    fate_[op] = Fate::kFolded;
    kernels_[op] = kernels_[before];
    return true;
  }
  void fold_into_readers(OpId op) {
    std::vector<Id> found;
    for (const Write& write : flow_.writes_of(op))
      for (const OpId reader : flow_.readers_of(write))
        if (reader > op && is_library(reader))
          found.insert(found.end(), kernels(reader).begin(), kernels(reader).end());
    if (found.empty()) return;
    sort_unique(found);
    fate_[op] = Fate::kFolded;
    give(op, found);
  }
  bool is_library(OpId op) const {
    const auto ids = kernels(op);
    return !ids.empty() && other_.kernels[ids.front()].kind != KernelKind::kFused;
  }

  const Graph& graph_;
  const Dataflow& flow_;
  const OtherFusion& other_;
  std::vector<Fate> fate_;          // by op
  std::vector<Range> kernels_;      // by op, in refs_
  std::vector<Id> refs_;            // ascending within an op
  std::vector<std::uint32_t> run_;  // by op: which run of its part
};

}  // namespace opscope
