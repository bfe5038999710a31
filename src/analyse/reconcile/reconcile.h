// Why another tool's number is not ours: every FLOP between the two under a cause, with the ops and modules
// that it comes from.
//
// The common unit is a FLOP, two for each multiply-accumulate. For tools that look at ops (torch, fvcore) the
// difference is (ours - ours as that tool would count) by op, and (ours as that tool would count - what it
// really counted) by module and op: the first is convention, the second is what it saw of the model. For
// tools that look at modules it is what they say of each module they have a rule for, and all that happens
// outside of these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyse/profile/profile.h"
#include "graph/peer_counts.h"

namespace opscope {

enum class CauseKind : std::uint8_t {
  kMacAsFlop,
  kPerSample,
  kAttentionNotSeen,
  kUnsupportedOp,
  kNotSeen,
  kOutsideModules,
  kNoRule,
  kRuleOfItsOwn,
  kFunctionsOfTheModel,
  kModuleTwice,
  kOnlyThere,
  kCountedOtherwise,
  kBias,
  kInsideAttention,
  kElementwise,
  kActivation,
  kNorm,
  kSoftmax,
  kPooling,
  kReduction,
  kDeclared,
};
std::string_view name(CauseKind kind);  // "mac_counted_as_flop", as JSON and CSV have it

// Ops of one type in one module.
struct CauseRow {
  std::string op, module;  // "add", "layer1.0"; a class for tools that count modules
  std::uint64_t ops = 0;
  std::int64_t flops = 0;  // ours less theirs
};

struct Cause {
  CauseKind kind = CauseKind::kMacAsFlop;
  std::string what;  // in words: "adding the bias"
  std::int64_t flops = 0;
  std::vector<CauseRow> rows;  // by op, then in the model's order; they add up to `flops`

  // A change of unit: between the tool's own number and its number in FLOPs.
  bool is_unit() const { return kind == CauseKind::kMacAsFlop || kind == CauseKind::kPerSample; }
};

struct PeerComparison {
  PeerAnswer answer;            // without its counts
  std::int64_t flops = 0;       // theirs, in the common unit
  std::int64_t difference = 0;  // ours - theirs; the causes that are no change of unit add up to it
  std::vector<Cause> causes;    // changes of unit first, then the largest first
  std::string params_cause;     // why parameters differ; "" where they do not, or it does not count them

  bool ran() const { return answer.error.empty(); }
  bool has_accuracy() const { return ran() && flops > 0; }
  double accuracy(Count ours) const;  // 100 (1 - |ours - theirs| / theirs)
  double off(Count ours) const;       // |ours - theirs| / theirs; infinite where they count nothing
};

struct Reconciliation {
  std::string model, source, inputs;
  Count flops, macs, params;
  bool is_exact = true;  // ours: nothing unknown or estimated in it
  std::vector<PeerComparison> peers;
  std::string error, hint;  // the model could not be had; nothing else is known then
};

// The profile is by opscope's own convention.
Reconciliation reconcile(const Profile& profile, std::span<const PeerAnswer> answers);

// FLOPs that no 64 bits hold stay at the most that they do: a difference of such is not told exactly.
inline std::int64_t signed_count(Count count) {
  constexpr auto kMost = static_cast<std::uint64_t>(INT64_MAX) / 4;
  return static_cast<std::int64_t>(count.value() < kMost ? count.value() : kMost);
}

// Causes as they are found: amounts under a kind and its words, by op and module. For the files of reconcile
// only.
class Ledger {
 public:
  Ledger(const Profile& profile, const PeerAnswer& answer) : profile_(profile), answer_(answer) {}

  // Units first, then the largest first; rows in the model's order.
  std::vector<Cause> causes() const;

 protected:
  void add(CauseKind kind, const std::string& what, std::string_view op, std::string_view module,
           std::uint64_t ops, std::int64_t flops) {
    if (flops == 0) return;
    CauseRow& row = rows_[{kind, what, std::string(op), std::string(module)}];
    row.ops += ops;
    row.flops += flops;
  }
  std::int64_t in_flops(std::int64_t own, bool is_product) const {
    return is_product && answer_.unit == PeerUnit::kMacs ? own * 2 : own;
  }
  // What the tool counts, in FLOPs; the difference is one of units.
  std::int64_t add_unit(std::int64_t own, bool is_product, std::string_view op, std::string_view module,
                        std::uint64_t ops) {
    const std::int64_t flops = in_flops(own, is_product);
    add(CauseKind::kMacAsFlop, "a multiply-accumulate is one there, two here", op, module, ops, flops - own);
    return flops;
  }

  const Profile& profile_;
  const PeerAnswer& answer_;
  const Graph& graph_ = *profile_.graph;

 private:
  using Key = std::tuple<CauseKind, std::string, std::string, std::string>;  // kind, what, op, module

  std::map<Key, CauseRow> rows_;
};

inline bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
  return std::ranges::any_of(parts, [&](auto part) { return text.find(part) != std::string_view::npos; });
}

// Multiplies and adds up: conv, matmul, attention, recurrent.
inline bool is_product(Category category) {
  return category == Category::kConv || category == Category::kMatmul || category == Category::kAttention ||
         category == Category::kRecurrent;
}
// What an op's work is called where a tool does not count it.
struct WorkWord {
  CauseKind kind;
  std::string_view word;
};
WorkWord work_word(Category category);

// For tools that count ops: finds the causes, and the tool's FLOPs in the common unit.
void explain_by_op(const Profile& profile, const PeerAnswer& answer, PeerComparison& peer);

}  // namespace opscope
