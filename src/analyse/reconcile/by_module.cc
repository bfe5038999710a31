// Tools that count modules by their class: each module that the tool has a number for against all that runs
// in it here, and then all that runs outside of these.
#include <map>
#include <unordered_map>

#include "analyse/reconcile/reconcile.h"

namespace opscope {
namespace {

struct CountedModule {
  std::string type;
  std::int64_t own = 0;  // in the tool's unit
  std::uint64_t calls = 0;
  ModuleId module = kNone;           // kNone: a second name of a module that has another
  std::int64_t macs = 0, flops = 0;  // ours
};

class ByModule {
 public:
  ByModule(const Profile& profile, const PeerAnswer& answer, Ledger& ledger)
      : profile_(profile), answer_(answer), ledger_(ledger) {}

  std::int64_t run() {
    read_counts();
    const std::int64_t left = read_total();
    for (OpId id = 0; id < graph_.ops.size(); ++id) place(id, left > 0);
    std::int64_t total = 0;
    for (const auto& [path, counted] : counted_) total += compare(path, counted);
    return total + compare_rest(left);
  }

 private:
  void read_counts() {
    std::unordered_map<std::string_view, ModuleId> ids;
    for (ModuleId id = 0; id < graph_.modules.size(); ++id) ids.emplace(graph_.path(graph_.modules[id]), id);
    for (const PeerCount& count : answer_.counts) {
      if (!count.count) continue;
      CountedModule& counted = counted_[count.module];
      counted.type = count.op;
      counted.own += static_cast<std::int64_t>(*count.count);
      counted.calls += count.calls;
      if (const auto found = ids.find(count.module); found != ids.end()) counted.module = found->second;
    }
    for (auto& [path, counted] : counted_)
      if (counted.module != kNone) by_id_[counted.module] = &counted;
  }

  // What the tool's total has beside its modules.
  std::int64_t read_total() {
    std::int64_t sum = 0;
    for (const auto& [path, counted] : counted_) sum += counted.own;
    const std::int64_t each = sum / static_cast<std::int64_t>(answer_.divided_by);
    ledger_.add(CauseKind::kPerSample, "its number is for one sample of the batch", "", "", 1, sum - each);
    return signed_count(answer_.total) - each;
  }

  CountedModule* counted_around(ModuleId module) const {
    for (; module != kNone; module = graph_.modules[module].parent)
      if (const auto found = by_id_.find(module); found != by_id_.end()) return found->second;
    return nullptr;
  }

  void place(OpId id, bool counts_functions) {
    const Op& op = graph_.ops[id];
    const OpCost& cost = profile_.costs[id];
    const ModuleId module = graph_.scopes[op.scope].module;
    if (CountedModule* const counted = counted_around(module)) {
      counted->macs += signed_count(cost.work.macs);
      counted->flops += signed_count(cost.flops);
      return;
    }
    const auto flops = signed_count(cost.flops);
    if (flops == 0) return;
    const auto op_name = short_op_name(graph_.op_name(op));
    const auto path = graph_.path(graph_.module_of(op));
    if (cost.work.macs && counts_functions) {
      functions_ += flops;
      return ledger_.add(CauseKind::kFunctionsOfTheModel, functions_text_, op_name, path, 1, flops);
    }
    const auto [kind, what] = why_outside(cost, module);
    ledger_.add(kind, what, op_name, path, 1, flops);
  }

  std::pair<CauseKind, std::string> why_outside(const OpCost& cost, ModuleId module) const {
    if (!cost.work.macs && cost.rule != nullptr) {
      const WorkWord work = work_word(cost.rule->category);
      return {work.kind, std::string(work.word) + ": not counted by " + answer_.tool};
    }
    const bool is_leaf = std::ranges::find(graph_.modules, module, &Module::parent) == graph_.modules.end();
    if (module != 0 && is_leaf)
      return {CauseKind::kNoRule,
              "no rule in " + answer_.tool + " for " + std::string(graph_.text(graph_.modules[module].type))};
    return {CauseKind::kOutsideModules, "called as functions: not seen by " + answer_.tool};
  }

  // Returns what the tool counts for it in FLOPs.
  std::int64_t compare(const std::string& path, const CountedModule& counted) {
    const bool product = counted.module == kNone
                             ? has_any(counted.type, {"Conv", "Linear", "Attention", "LSTM", "GRU", "RNN"})
                             : counted.macs > 0;
    const std::int64_t flops = in_macs_ && product ? counted.own * 2 : counted.own;
    ledger_.add(CauseKind::kMacAsFlop, "a multiply-accumulate is one there, two here", counted.type, path,
                counted.calls, flops - counted.own);
    const auto [kind, what] = why(counted, product);
    ledger_.add(kind, what, counted.type, path, counted.calls, counted.flops - flops);
    return flops;
  }

  std::pair<CauseKind, std::string> why(const CountedModule& counted, bool product) const {
    const std::int64_t beside = counted.flops - counted.macs * 2;
    if (counted.module == kNone)
      return {CauseKind::kModuleTwice, "a module that has two names is counted under both"};
    if (product && counted.own == counted.macs * (in_macs_ ? 1 : 2))
      return {CauseKind::kBias, "adding the bias, and all beside products"};
    if (product && in_macs_ && counted.own == counted.macs + beside)
      return {CauseKind::kBias, "adding the bias counted as multiply-accumulates"};
    return {CauseKind::kRuleOfItsOwn, answer_.tool + "'s own rule for " + counted.type};
  }

  std::int64_t compare_rest(std::int64_t left) {
    if (left == 0) return 0;
    const bool products = in_macs_ && functions_ > 0;
    const std::int64_t flops = products ? left * 2 : left;
    ledger_.add(CauseKind::kMacAsFlop, "a multiply-accumulate is one there, two here", "functions", "", 1,
                flops - left);
    if (left < 0)
      ledger_.add(CauseKind::kModuleTwice, "modules inside a counted one, left out of its total", "modules",
                  "", 1, -flops);
    else
      ledger_.add(CauseKind::kFunctionsOfTheModel, functions_text_, "functions", "", 1, -flops);
    return flops;
  }

  const Profile& profile_;
  const PeerAnswer& answer_;
  Ledger& ledger_;
  const Graph& graph_ = *profile_.graph;
  const bool in_macs_ = answer_.unit == PeerUnit::kMacs;
  std::map<std::string, CountedModule> counted_;
  std::unordered_map<ModuleId, CountedModule*> by_id_;
  std::int64_t functions_ = 0;
  const std::string functions_text_ = "functions, which " + answer_.tool + " counts beside modules";
};

}  // namespace

std::int64_t explain_by_module(const Profile& profile, const PeerAnswer& answer, Ledger& ledger) {
  return ByModule(profile, answer, ledger).run();
}

}  // namespace opscope
