// Kernels name the tracer's nodes, and ops belong to nodes. What no kernel names was folded into a neighbour,
// worked out beforehand, or dropped.
#include "analyse/fusion/members.h"

#include <algorithm>
#include <unordered_map>

namespace opscope {

FusionMembers::FusionMembers(const Graph& graph, const Dataflow& flow, const OtherFusion& other)
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

// Within one run of a part its nodes go up.
void FusionMembers::find_runs() {
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

// Ops of one node share its list.
void FusionMembers::place() {
  std::vector<std::uint32_t> begin(graph_.nodes.size() + 1, 0);
  for (const OtherKernel& kernel : other_.kernels)
    for (const NodeId node : kernel.nodes) ++begin[node + 1];
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  refs_.resize(begin.back());
  std::vector<std::uint32_t> next(begin.begin(), begin.end() - 1);
  for (Id id = 0; id < other_.kernels.size(); ++id)
    for (const NodeId node : other_.kernels[id].nodes) refs_[next[node]++] = id;
  for (OpId op = 0; op < graph_.ops.size(); ++op) {
    if (!flow_.works[op]) continue;
    const NodeId node = graph_.ops[op].node;
    fate_[op] = node == kNone ? Fate::kOutside : Fate::kRemoved;
    if (node == kNone || begin[node] == begin[node + 1]) continue;
    fate_[op] = Fate::kInKernel;
    kernels_[op] = {begin[node], begin[node + 1] - begin[node]};
  }
}

void FusionMembers::give(OpId op, std::span<const Id> kernels) {
  const std::vector<Id> kept(kernels.begin(), kernels.end());  // they may be in refs_
  kernels_[op] = {static_cast<std::uint32_t>(refs_.size()), static_cast<std::uint32_t>(kept.size())};
  refs_.insert(refs_.end(), kept.begin(), kept.end());
}

// A node of several ops, such as attention with its projections: library calls are for its anchors, in their
// order.
void FusionMembers::place_apart() {
  std::unordered_map<NodeId, std::vector<Id>> rest;
  for (Id id = 0; id < other_.kernels.size(); ++id)
    for (const NodeId node : other_.kernels[id].rest) rest[node].push_back(id);
  std::vector<OpId> ops;
  for (OpId op = 0; op < graph_.ops.size(); ++op) {
    if (fate_[op] != Fate::kInKernel) continue;
    const bool goes_on =
        !ops.empty() && graph_.ops[ops.back()].node == graph_.ops[op].node && run_[ops.back()] == run_[op];
    if (!goes_on && !ops.empty()) place_calls(ops, rest[graph_.ops[ops.back()].node]), ops.clear();
    ops.push_back(op);
  }
  if (!ops.empty()) place_calls(ops, rest[graph_.ops[ops.back()].node]);
}

bool FusionMembers::place_calls(std::span<const OpId> ops, std::span<const Id> rest) {
  if (ops.size() < 2 || kernels_[ops.front()].size < 2) return false;
  std::vector<Id> calls, loops(rest.begin(), rest.end());
  for (const Id id : kernels(ops.front()))
    (other_.kernels[id].kind == KernelKind::kFused ? loops : calls).push_back(id);
  const auto is_anchor = [&](OpId op) {
    const OpRule* rule = find_rule(graph_.op_name(graph_.ops[op]));
    return rule && rule->fusion == Fusion::kAnchor;
  };
  if (static_cast<std::size_t>(std::ranges::count_if(ops, is_anchor)) != calls.size()) return false;
  std::ranges::sort(loops);
  auto call = calls.begin();
  for (const OpId op : ops) is_anchor(op) ? give(op, std::span(&*call++, 1)) : give(op, loops);
  for (const OpId op : ops)
    if (kernels_[op].size == 0) fate_[op] = Fate::kRemoved;
  return true;
}

bool FusionMembers::is_constant(OpId op, const std::vector<char>& constant) const {
  return std::ranges::all_of(flow_.reads_of(op), [&](const Read& read) {
    if (read.write != kNone) return constant[flow_.writes[read.write].op] != 0;
    const ValueKind kind = graph_.values[read.value].kind;
    return kind == ValueKind::kConstant || (other_.frozen && kind != ValueKind::kInput);
  });
}

// Of what no kernel does: all that depends on nothing but constants.
void FusionMembers::find_constants() {
  std::vector<char> constant(graph_.ops.size(), 0);
  for (OpId op = 0; op < graph_.ops.size(); ++op) {
    if (fate_[op] != Fate::kRemoved || !is_constant(op, constant)) continue;
    constant[op] = 1;
    fate_[op] = Fate::kConstant;
  }
}

bool FusionMembers::is_library(OpId op) const {
  const auto ids = kernels(op);
  return !ids.empty() && other_.kernels[ids.front()].kind != KernelKind::kFused;
}

// Backwards, so that a chain that became one call is folded link by link.
void FusionMembers::fold() {
  for (OpId op = static_cast<OpId>(graph_.ops.size()); op-- > 0;)
    if (fate_[op] == Fate::kRemoved && !fold_into_convolution(op)) fold_into_readers(op);
}

// A batch norm with frozen weights goes into the convolution before it, which has a kernel under its own name
// where nothing else was folded.
bool FusionMembers::fold_into_convolution(OpId op) {
  if (!other_.frozen || short_op_name(graph_.op_name(graph_.ops[op])) != "batch_norm") return false;
  const auto reads = flow_.reads_of(op);
  if (reads.empty() || reads.front().write == kNone) return false;
  const OpId before = flow_.writes[reads.front().write].op;
  if (fate_[before] != Fate::kInKernel || !is_library(before)) return false;
  fate_[op] = Fate::kFolded;
  kernels_[op] = kernels_[before];
  return true;
}

void FusionMembers::fold_into_readers(OpId op) {
  found_.clear();
  for (const Write& write : flow_.writes_of(op))
    for (const OpId reader : flow_.readers_of(write))
      if (reader > op && is_library(reader))
        found_.insert(found_.end(), kernels(reader).begin(), kernels(reader).end());
  if (found_.empty()) return;
  std::ranges::sort(found_);
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  fate_[op] = Fate::kFolded;
  kernels_[op] = {static_cast<std::uint32_t>(refs_.size()), static_cast<std::uint32_t>(found_.size())};
  refs_.insert(refs_.end(), found_.begin(), found_.end());
}

bool FusionMembers::together(OpId a, OpId b) const {
  if (run_[a] != run_[b]) return false;
  const auto first = kernels(a), second = kernels(b);
  auto i = first.begin(), j = second.begin();
  while (i != first.end() && j != second.end()) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

bool FusionMembers::indistinct(OpId a, OpId b) const {
  return graph_.ops[a].node == graph_.ops[b].node && run_[a] == run_[b] && kernels_[a].size > 1 &&
         kernels_[a] == kernels_[b];
}

}  // namespace opscope
