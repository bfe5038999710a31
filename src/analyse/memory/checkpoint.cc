// Checkpointing: a block that is run again in the backward pass need not keep what its ops made inside it.
// Blocks of one class at one depth of the module tree are tried together, as a person would do it.
#include <algorithm>
#include <map>
#include <utility>

#include "analyse/memory/advice.h"
#include "graph/graph.h"

namespace opscope {
namespace {

constexpr std::size_t kGroupsTried = 16;  // a sweep over the run each
constexpr std::size_t kGroupsShown = 3;

// When a piece of the forward pass is used, and the innermost call that contains all its forward uses.
struct Use {
  ScopeId inside = kNone;
  OpId last_forward = 0;
  OpId first_backward = kNone;
};

// All calls of the modules of one class at one depth.
struct Blocks {
  std::vector<MemoryChange> changes{};
  Count bytes{}, flops{};
  std::vector<std::string> patterns{};  // of their paths
  std::string_view type{};
  std::size_t calls = 0;
};

class Checkpoints {
 public:
  Checkpoints(const MemoryReport& report, const MemoryPhase& forward, OpId backward)
      : report_(report), graph_(report.graph()), forward_(forward), backward_(backward) {
    find_scopes();
    find_uses();
    collect();
  }
  std::vector<Blocks> groups;

 private:
  void find_scopes() {
    const auto count = graph_.scopes.size();
    depth_ = scope_depths(graph_);
    has_children_.resize(count), is_counted_.resize(count), flops_.resize(count);
    restart_.resize(count, kNone);
    for (std::size_t s = 1; s < count; ++s) has_children_[graph_.scopes[s].parent] = 1;
    for (OpId op = forward_.begin; op < forward_.end; ++op)
      flops_[graph_.ops[op].scope] += report_.profile->costs[op].flops;
    for (std::size_t s = count; s-- > 1;) flops_[graph_.scopes[s].parent] += flops_[s];
  }

  void find_uses() {
    uses_.resize(report_.pieces.size());
    for (OpId op = 0; op < graph_.ops.size(); ++op) {
      each_read(graph_, graph_.ops[op], [&](ValueId id) { use(id, op); });
      for (const auto id : graph_.outputs_of(graph_.ops[op])) use(id, op);
    }
  }
  void use(ValueId id, OpId op) {
    const auto storage = graph_.values[id].storage;
    if (storage == kNone) return;
    auto& use = uses_[storage];
    if (op >= forward_.begin && op < forward_.end) {
      const ScopeId scope = graph_.ops[op].scope;
      use.inside = use.inside == kNone ? scope : common_scope(graph_, use.inside, scope);
      use.last_forward = op;
    } else if (op >= backward_ && use.first_backward == kNone) {
      use.first_backward = op;
    }
  }

  // Made in the forward pass and kept for the backward pass.
  bool is_kept(std::size_t index) const {
    const auto& piece = report_.pieces[index];
    return piece.in_use && piece.kind == MemoryKind::kActivations && !piece.returned && piece.bytes &&
           uses_[index].inside != kNone && piece.held.made != kNone && piece.held.made >= forward_.begin &&
           piece.held.made < forward_.end && piece.last_op(graph_.ops.size()) >= backward_;
  }
  template <class Visit>
  void each_block(std::size_t index, Visit visit) const {
    for (ScopeId s = uses_[index].inside; s != 0; s = graph_.scopes[s].parent)
      if (has_children_[s] != 0) visit(s);
  }

  void collect() {
    for (std::size_t i = 0; i < uses_.size(); ++i)
      if (is_kept(i) && uses_[i].first_backward != kNone)
        each_block(i, [&](ScopeId s) { restart_[s] = std::min(restart_[s], uses_[i].first_backward); });
    for (std::size_t i = 0; i < uses_.size(); ++i)
      if (is_kept(i)) each_block(i, [&](ScopeId s) { add(i, s); });
    std::ranges::stable_sort(groups, std::greater{}, &Blocks::bytes);
  }
  void add(std::size_t index, ScopeId scope) {
    if (restart_[scope] == kNone) return;
    const auto& piece = report_.pieces[index];
    const OpId first = uses_[index].last_forward + 1;
    const OpId last = std::min(restart_[scope] - 1, piece.last_op(graph_.ops.size()));
    if (first > last) return;
    auto& blocks = groups[group_of(scope)];
    blocks.changes.push_back({first, last, piece.bytes, false});
    blocks.bytes += piece.bytes;
    if (std::exchange(is_counted_[scope], 1) != 0) return;
    blocks.flops += flops_[scope];
    ++blocks.calls;
  }
  std::size_t group_of(ScopeId scope) {
    const auto& module = graph_.modules[graph_.scopes[scope].module];
    const auto [found, is_new] = index_.try_emplace({module.type, depth_[scope]}, groups.size());
    const auto pattern = pattern_of(graph_.path(module));
    if (is_new) groups.push_back({.type = graph_.text(module.type)});
    auto& patterns = groups[found->second].patterns;
    if (std::ranges::find(patterns, pattern) == patterns.end()) patterns.push_back(pattern);
    return found->second;
  }

  const MemoryReport& report_;
  const Graph& graph_;
  const MemoryPhase& forward_;
  OpId backward_;
  std::vector<std::uint32_t> depth_;  // by scope, as the next ones
  std::vector<char> has_children_, is_counted_;
  std::vector<Count> flops_;
  std::vector<OpId> restart_;  // the backward op at which a block has to be run again
  std::vector<Use> uses_;      // by piece
  std::map<std::pair<StringId, std::uint32_t>, std::size_t> index_;
};

// Of all micro-steps: each has a forward and a backward pass of its own.
std::vector<Blocks> groups_of(const MemoryReport& report) {
  std::vector<Blocks> all;
  for (std::size_t i = 0; i + 1 < report.phases.size(); ++i) {
    if (!report.phases[i].name.starts_with("forward") || !report.phases[i + 1].name.starts_with("backward"))
      continue;
    for (Blocks& blocks : Checkpoints(report, report.phases[i], report.phases[i + 1].begin).groups) {
      const auto same = std::ranges::find_if(all, [&](const Blocks& each) {
        return each.type == blocks.type && each.patterns == blocks.patterns;
      });
      if (same == all.end()) {
        all.push_back(std::move(blocks));
        continue;
      }
      same->changes.insert(same->changes.end(), blocks.changes.begin(), blocks.changes.end());
      same->bytes += blocks.bytes, same->flops += blocks.flops;
    }
  }
  std::ranges::stable_sort(all, std::greater{}, &Blocks::bytes);
  return all;
}

// Another saves as much and computes no more again.
bool is_beaten(const MemoryAdvice& advice, const std::vector<MemoryAdvice>& others) {
  return std::ranges::any_of(others, [&](const MemoryAdvice& other) {
    const bool is_better = other.saved_bytes > advice.saved_bytes || other.flops < advice.flops;
    return is_better && other.saved_bytes >= advice.saved_bytes && other.flops <= advice.flops;
  });
}

}  // namespace

void advise_checkpoints(MemoryReport& report) {
  if (!report.is_training) return;
  const std::vector<Blocks> groups = groups_of(report);
  std::vector<MemoryAdvice> found;
  for (std::size_t i = 0; i < std::min(groups.size(), kGroupsTried); ++i) {
    const auto& blocks = groups[i];
    const std::string each = blocks.calls == 1 ? "checkpoint the " : "checkpoint each ";
    found.push_back({Remedy::kCheckpoint, joined(blocks.patterns), each + std::string(blocks.type),
                     blocks.calls, saved_by(report, blocks.changes), blocks.flops});
  }
  std::ranges::stable_sort(found, std::greater{}, &MemoryAdvice::saved_bytes);
  std::size_t shown = 0;
  for (const auto& advice : found)
    if (advice.saved_bytes && shown < kGroupsShown && !is_beaten(advice, found))
      report.advice.push_back(advice), ++shown;
}

}  // namespace opscope
