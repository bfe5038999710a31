// Causes as they are found: amounts under a kind and its words, by op and module. For the files of reconcile
// only.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyse/reconcile/reconcile.h"

namespace opscope {

// FLOPs that no 64 bits hold stay at the most that they do: a difference of such is not told exactly.
inline std::int64_t signed_count(Count count) {
  constexpr auto kMost = static_cast<std::uint64_t>(INT64_MAX) / 4;
  return static_cast<std::int64_t>(count.value() < kMost ? count.value() : kMost);
}

class Ledger {
 public:
  explicit Ledger(const Graph& graph) : graph_(graph) {}

  void add(CauseKind kind, const std::string& what, std::string_view op, std::string_view module,
           std::uint64_t ops, std::int64_t flops) {
    if (flops == 0) return;
    CauseRow& row = rows_[{kind, what, std::string(op), std::string(module)}];
    row.ops += ops;
    row.flops += flops;
  }

  // Units first, then the largest first; rows in the model's order.
  std::vector<Cause> causes() const;

 private:
  using Key = std::tuple<CauseKind, std::string, std::string, std::string>;  // kind, what, op, module

  const Graph& graph_;
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

// The two ways of explaining; each adds its causes and returns the tool's FLOPs in the common unit.
std::int64_t explain_by_op(const Profile& profile, const PeerAnswer& answer, Ledger& ledger);
std::int64_t explain_by_module(const Profile& profile, const PeerAnswer& answer, Ledger& ledger);

}  // namespace opscope
