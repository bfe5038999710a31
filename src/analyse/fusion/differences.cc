// The reason for a border comes from the side that has one: theirs from the kind of kernel and from what
// their scheduler says, ours from the partition.
#include "analyse/fusion/differences.h"

#include <algorithm>
#include <unordered_map>

namespace opscope {
namespace {

constexpr std::size_t kNamesShown = 8;

std::uint64_t key(Id from, Id to) { return std::uint64_t{from} << 32 | to; }

// "relu" of "aten::relu_"
std::string op_text(const Graph& graph, OpId op) {
  std::string text(short_op_name(graph.op_name(graph.ops[op])));
  if (text.size() > 1 && text.back() == '_' && text.front() != '_') text.pop_back();
  return text;
}

// "conv2d + cat x6 + relu": what comes several times in a row once, and the end of a long list as a number.
std::string joined(const std::vector<std::string>& names) {
  std::string text;
  std::size_t shown = 0;
  for (std::size_t i = 0; i < names.size();) {
    std::size_t end = i;
    while (end < names.size() && names[end] == names[i]) ++end;
    if (shown++ == kNamesShown) return text + " + " + std::to_string(names.size() - i) + " more";
    text += (text.empty() ? "" : " + ") + names[i];
    if (end - i > 1) text += " x" + std::to_string(end - i);
    i = end;
  }
  return text;
}

template <class Row, class Map>
std::vector<Row> most_first(const Map& map) {
  std::vector<Row> rows;
  for (const auto& [_, row] : map) rows.push_back(row);
  std::ranges::stable_sort(rows, [](const Row& a, const Row& b) {
    return a.is_ours != b.is_ours ? a.is_ours : a.count > b.count;
  });
  return rows;
}

}  // namespace

FusionDifferences::FusionDifferences(const Graph& graph, const Partition& partition,
                                     const FusionMembers& members, const OtherFusion& other)
    : graph_(graph), partition_(partition), members_(members), other_(other) {
  for (const OtherCut& each : other.cuts)
    cuts_.emplace(key(each.from, each.to), other.compiler + " says: " + each.reason);
  for (const MissedFusion& each : partition.missed) borders_.emplace(key(each.from, each.to), each.why);
}

void FusionDifferences::add_pair(OpId from, OpId to, Count bytes, bool is_ours) {
  const std::string_view why = is_ours ? why_there(from, to) : why_here(from, to);
  std::string first = op_text(graph_, from), second = op_text(graph_, to);
  PairDifference& row = pairs_[{is_ours, first, second, std::string(why)}];
  if (row.count++ == 0)
    row = {is_ours, std::move(first), std::move(second), std::string(why), 1, Count{}, from, to};
  row.bytes += bytes;
  auto& whys = whys_[is_ours][to];
  if (std::ranges::find(whys, why) == whys.end()) whys.push_back(why);
}

std::string_view FusionDifferences::cut(Id from, Id to) const {
  for (const std::uint64_t pair : {key(from, to), key(to, from)})
    if (const auto found = cuts_.find(pair); found != cuts_.end()) return found->second;
  return "";
}

std::string_view FusionDifferences::why_there(OpId from, OpId to) const {
  const Id first = members_.kernels(from).front(), second = members_.kernels(to).front();
  const KernelKind a = other_.kernels[first].kind, b = other_.kernels[second].kind;
  const bool is_norm = op_text(graph_, to) == "batch_norm";
  if (a == KernelKind::kExtern && is_norm && !other_.frozen)
    return "a library call; a batch norm is folded into it only where weights are frozen";
  if (a == KernelKind::kExtern && b == KernelKind::kExtern) return "two library calls";
  if (a == KernelKind::kExtern) return "a library call: its result goes through memory";
  if (b == KernelKind::kExtern) return "a library call: its inputs come from memory";
  if (const std::string_view said = cut(first, second); !said.empty()) return said;
  if (a == KernelKind::kTemplate || b == KernelKind::kTemplate) return "the matmul template does not fuse it";
  return "the result is written to memory before it is read";
}

std::string_view FusionDifferences::why_here(OpId from, OpId to) const {
  const SubgraphId first = partition_.of_op[from], second = partition_.of_op[to];
  if (first == kNone || second == kNone) return "in no subgraph";
  if (const auto found = borders_.find(key(first, second)); found != borders_.end())
    return explanation(found->second);
  const Subgraph &before = partition_.subgraphs[first], &after = partition_.subgraphs[second];
  if (before.ends_at != kNone && partition_.of_op[before.ends_at] == second) return explanation(before.ends);
  if (after.begins_at != kNone && partition_.of_op[after.begins_at] == first)
    return explanation(after.begins);
  return explanation(before.ends);
}

void FusionDifferences::add_group(bool is_ours, const std::vector<Member>& members) {
  std::string type = type_of(is_ours, members), pieces = pieces_of(is_ours, members);
  std::string why = reasons_of(is_ours, members);
  GroupDifference& row = groups_[{is_ours, type, pieces, why}];
  if (row.count++ == 0)
    row = {is_ours, std::move(type), std::move(pieces), std::move(why), 1, members.front().op};
}

std::string FusionDifferences::type_of(bool is_ours, const std::vector<Member>& members) const {
  if (is_ours) return std::string(partition_.subgraphs[partition_.of_op[members.front().op]].type);
  std::vector<std::string> names;
  for (const Member& each : members) names.push_back(op_text(graph_, each.op));
  return joined(names);
}

// Pieces in the order of their first ops.
std::string FusionDifferences::pieces_of(bool is_ours, const std::vector<Member>& members) const {
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

std::string FusionDifferences::reasons_of(bool is_ours, const std::vector<Member>& members) const {
  std::vector<std::string_view> seen;
  for (const Member& each : members) {
    const auto found = whys_[is_ours].find(each.op);
    if (found == whys_[is_ours].end()) continue;
    for (const std::string_view why : found->second)
      if (std::ranges::find(seen, why) == seen.end()) seen.push_back(why);
  }
  if (seen.empty()) return is_ours ? "no tensor connects them there" : "no tensor connects them here";
  std::string text;
  for (const std::string_view why : seen) text += (text.empty() ? "" : "; ") + std::string(why);
  return text;
}

std::vector<PairDifference> FusionDifferences::pairs() const { return most_first<PairDifference>(pairs_); }

std::vector<GroupDifference> FusionDifferences::groups() const {
  return most_first<GroupDifference>(groups_);
}

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
