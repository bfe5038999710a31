// What a model may cost, and whether it does: limits of the whole, of modules and of op types, from above and
// below, or against an earlier version. What nobody knows is not within a limit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyse/diff/diff.h"
#include "analyse/profile/figures.h"

namespace opscope {

enum class LimitKind : std::uint8_t { kMost, kLeast, kIncrease };
std::string_view name(LimitKind kind);  // "max", "min", "max_increase"

struct BudgetLimit {
  const Metric* metric = nullptr;
  LimitKind kind = LimitKind::kMost;
  Amount amount{};                  // kMost and kLeast; kIncrease where there is no percentage
  std::optional<double> percent{};  // kIncrease: of the base
  std::string module{}, type{};     // what it holds for: a module, or ops of one type; "": the whole model
  std::string where{};              // who asks for it: "budget.toml:12", "--max"
};

// One [[model]] of a budget file, or what the command line asks for.
struct ModelBudget {
  std::string spec{};                                        // "": any model
  std::vector<std::pair<std::string, std::string>> flags{};  // "batch": "8"; as on the command line
  std::vector<BudgetLimit> limits{};
  std::string where{};
};

enum class Verdict : std::uint8_t { kKept, kBroken, kUnknown };
std::string_view name(Verdict verdict);  // "kept", "broken", "unknown"

// A module that has much of an amount, or of its increase.
struct Contributor {
  std::string path, type;
  std::int64_t amount = 0;  // picoseconds for times
  double share = 0;         // of the whole amount or increase
};

struct LimitResult {
  BudgetLimit limit{};
  Verdict verdict = Verdict::kKept;
  Amount allowed{};
  std::optional<Amount> value{}, base{};    // base: of kIncrease
  std::string reason{};                     // why it is not known
  bool at_least = false;                    // ops of unknown cost are not in the value
  std::vector<Contributor> contributors{};  // of a limit that is not kept, the largest first
};

struct CheckReport {
  std::string label;
  Figures figures;
  std::string against;  // the base's label; "": none
  std::vector<LimitResult> results;
  bool unknown_allowed = false;

  bool breaks(const LimitResult& result) const {
    return result.verdict == Verdict::kBroken || (result.verdict == Verdict::kUnknown && !unknown_allowed);
  }
  std::size_t broken() const;
  bool kept() const { return broken() == 0; }
};

struct CheckedModel {
  std::string label;
  const Figures* figures = nullptr;   // not owned
  const ModelDiff* change = nullptr;  // from the base that increases are counted from; nullptr: none
};

// Throws Error for limits of modules and op types that the model does not have.
CheckReport check_budget(const CheckedModel& model, std::span<const BudgetLimit> limits, bool allow_unknown);

// "flops=4.2G,params=12M"; increases are also "2%" for all that costs, or "flops=2%,params=0". `flag` for
// errors.
std::vector<BudgetLimit> parse_limits(const std::string& text, LimitKind kind, const std::string& flag);
// What a command line or a call asks for beside a budget file.
struct AskedLimits {
  std::string max, min, max_increase;  // "": none
  bool against = false;   // there is another version: nothing more than it, where no increase is said
  bool as_flags = false;  // errors name --max-increase, not max_increase

  bool empty() const { return max.empty() && min.empty() && max_increase.empty() && !against; }
};
// Throws Error where there is none in the end.
void add_limits(const AskedLimits& asked, std::vector<BudgetLimit>& limits);
// "10MiB" or "0" of the limit's metric; of an increase also "2%".
BudgetLimit with_amount(BudgetLimit limit, const std::string& text);

}  // namespace opscope
