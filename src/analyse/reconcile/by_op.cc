// Tools that count aten ops. Two steps, each exact: what the tool's conventions leave out or count otherwise,
// op by op; then what it really counted in each module against what these conventions would give there.
#include <algorithm>
#include <map>
#include <set>

#include "analyse/reconcile/ledger.h"

namespace opscope {
namespace {

// Classes that counts are compared in: all products of a module together, because one op runs as others
// (linear as addmm, attention as two bmm); anything else by its name.
constexpr std::string_view kProducts = "";

// "aten._native_multi_head_attention", "aten::add_" and "conv" -> "_native_multi_head_attention", "add_",
// "conv".
std::string_view plain_name(std::string_view op) {
  const auto from = op.find_last_of(":.");
  return from == std::string_view::npos ? op : op.substr(from + 1);
}
std::string_view without_underscore(std::string_view op) {
  return op.size() > 1 && op.ends_with('_') ? op.substr(0, op.size() - 1) : op;
}

// fvcore calls convolution by a name of its own.
bool is_product_name(std::string_view op) {
  if (op == "conv") return true;
  const OpRule* const rule = find_rule("aten::" + std::string(op));
  if (rule != nullptr) return is_product(rule->category);
  for (const std::string_view part : {"attention", "convolution", "encoder_layer", "linear"})
    if (op.find(part) != std::string_view::npos) return true;
  return false;
}

bool is_attention_name(std::string_view op) {
  return op.find("attention") != std::string_view::npos || op.find("encoder_layer") != std::string_view::npos;
}

// PyTorch's fast paths, which do the work of the modules inside.
bool takes_modules_in(std::string_view op) {
  return op.find("multi_head") != std::string_view::npos ||
         op.find("encoder_layer") != std::string_view::npos;
}

struct OpAmount {
  std::int64_t flops = 0;
  std::uint64_t ops = 0;
};

// One class of ops in one module, on both sides, in the common unit.
struct CountedOps {
  std::map<std::string, OpAmount> ours;  // as the tool would count, by op
  std::map<std::string, OpAmount> theirs;
  std::int64_t ours_flops = 0, theirs_flops = 0;
};

class ByOp {
 public:
  ByOp(const Profile& profile, const PeerAnswer& answer, Ledger& ledger)
      : profile_(profile),
        graph_(*profile.graph),
        answer_(answer),
        ledger_(ledger),
        in_macs_(answer.unit == PeerUnit::kMacs),
        free_(answer.free_ops.begin(), answer.free_ops.end()) {}

  std::int64_t run() {
    read_counts();
    const auto theirs = estimate(graph_, answer_.tool == "torch" ? Convention::kTorch : Convention::kFvcore);
    for (OpId id = 0; id < graph_.ops.size(); ++id) convention(id, theirs[id]);
    std::int64_t total = 0;
    for (auto& [key, cell] : cells_) {
      total += cell.theirs_flops;
      if (cell.ours_flops != cell.theirs_flops) execution(key.first, key.second, cell);
    }
    explain_rest();
    return total;
  }

 private:
  using Key = std::pair<std::string, std::string>;  // module, class

  // --- what the tool said ---

  static std::string parent_of(const std::string& module) {
    const auto dot = module.rfind('.');
    return dot == std::string::npos ? std::string() : module.substr(0, dot);
  }

  // Of each module alone.
  void read_counts() {
    for (const PeerCount& count : answer_.counts) {
      const std::string op(plain_name(count.op));
      const auto calls = static_cast<std::int64_t>(count.calls);
      if (!count.count) {
        seen_.insert(op);
        unseen_[count.module][op] += calls;
        if (answer_.inclusive && !count.module.empty()) unseen_[parent_of(count.module)][op] -= calls;
        continue;
      }
      const auto flops = static_cast<std::int64_t>(*count.count);
      own_[count.module][op] += flops;
      if (!answer_.inclusive) calls_[{count.module, op}] += count.calls;
      if (answer_.inclusive && !count.module.empty()) own_[parent_of(count.module)][op] -= flops;
    }
    for (const auto& [module, ops] : own_)
      for (const auto& [op, flops] : ops)
        if (flops != 0) take(module, op, flops);
  }

  void take(const std::string& module, const std::string& op, std::int64_t own) {
    const bool product = is_product_name(op);
    const std::int64_t flops = product && in_macs_ ? own * 2 : own;
    const auto found = calls_.find({module, op});
    const std::uint64_t calls = found == calls_.end() ? 1 : found->second;
    CountedOps& cell = cells_[{module, std::string(product ? kProducts : without_underscore(op))}];
    cell.theirs[op].flops += flops;
    cell.theirs[op].ops += calls;
    cell.theirs_flops += flops;
    ledger_.add(CauseKind::kMacAsFlop, "a multiply-accumulate is one there, two here", op, module, calls,
                flops - own);
  }

  // --- what its conventions would give ---

  void convention(OpId id, const OpCost& as_theirs) {
    const Op& op = graph_.ops[id];
    const OpCost& cost = profile_.costs[id];
    const auto own = signed_count(as_theirs.flops);
    const bool product = cost.rule != nullptr && is_product(cost.rule->category);
    const std::int64_t flops = product && in_macs_ ? own * 2 : own;
    const std::string op_name(short_op_name(graph_.op_name(op)));
    const std::string module(module_of(graph_, op));
    if (own != 0) {
      CountedOps& cell = cells_[{module, std::string(product ? kProducts : without_underscore(op_name))}];
      cell.ours[op_name].flops += flops;
      cell.ours[op_name].ops += 1;
      cell.ours_flops += flops;
    }
    const std::int64_t difference = signed_count(cost.flops) - flops;
    if (difference == 0) return;
    if (cost.rule == nullptr)
      ledger_.add(CauseKind::kDeclared, "declared with register_op, which " + answer_.tool + " does not know",
                  op_name, module, 1, difference);
    else if (own == 0)
      not_counted(cost, op_name, module, difference);
    else
      counted_otherwise(cost, op_name, module, difference);
  }

  void not_counted(const OpCost& cost, const std::string& op, const std::string& module,
                   std::int64_t difference) {
    const WorkWord work = work_word(cost.rule->category);
    const std::string word(work.word);
    CauseKind kind = work.kind;
    std::string what;
    if (seen_.contains(op))
      what = word + ": no formula in " + answer_.tool;
    else if (free_.contains("aten::" + op))
      what = word + ": free in " + answer_.tool + " by its own list";
    else if (const auto* const carrier = product_without_formula(module); carrier && cost.work.macs)
      what = ran_as(*carrier);
    else if (answer_.tool == "torch")
      what = word + ": no formula in torch";
    else {
      kind = CauseKind::kNotSeen;
      what = word + ": " + not_in_trace();
    }
    ledger_.add(kind, what, op, module, 1, difference);
  }

  void counted_otherwise(const OpCost& cost, const std::string& op, const std::string& module,
                         std::int64_t difference) {
    const Category category = cost.rule->category;
    if (!is_product(category)) {
      const WorkWord work = work_word(category);
      return ledger_.add(work.kind, std::string(work.word) + ": by another formula in " + answer_.tool, op,
                         module, 1, difference);
    }
    const auto beside = signed_count(cost.work.other_flops + cost.work.specials);
    if (category == Category::kAttention)
      ledger_.add(CauseKind::kInsideAttention, "scale, mask and softmax inside attention", op, module, 1,
                  beside);
    else if (category == Category::kRecurrent)
      ledger_.add(CauseKind::kActivation, "gates of recurrent cells", op, module, 1, beside);
    else
      ledger_.add(CauseKind::kBias, "adding the bias", op, module, 1, beside);
    ledger_.add(CauseKind::kCountedOtherwise, "products by another formula in " + answer_.tool, op, module, 1,
                difference - beside);
  }

  // --- what it really counted ---

  // The kernel that took a module's products: one of its own, or one around it that does all of a module
  // below.
  const std::string* product_without_formula(std::string module) const {
    for (bool own = true;; own = false) {
      const auto found = unseen_.find(module);
      if (found != unseen_.end())
        for (const auto& [op, calls] : found->second)
          if (calls > 0 && is_product_name(op) && (own || takes_modules_in(op))) return &op;
      if (module.empty()) return nullptr;
      module = parent_of(module);
    }
  }

  static std::string ran_as(const std::string& kernel) { return "no formula for " + kernel; }

  void execution(const std::string& module, const std::string& sort, const CountedOps& cell) {
    const std::int64_t missing = cell.ours_flops - cell.theirs_flops;
    const auto* const kernel = missing > 0 && sort == kProducts ? product_without_formula(module) : nullptr;
    if (kernel == nullptr) return rest_[sort].push_back({module, &cell});
    const CauseKind kind =
        is_attention_name(*kernel) ? CauseKind::kAttentionNotSeen : CauseKind::kUnsupportedOp;
    spread(kind, ran_as(*kernel), module, cell.ours, missing);
  }

  // The ops that make up the amount: all, one kind of them, or what is left of all.
  void spread(CauseKind kind, const std::string& what, const std::string& module,
              const std::map<std::string, OpAmount>& ops, std::int64_t amount) {
    std::int64_t all = 0;
    for (const auto& [op, each] : ops) all += each.flops;
    if (all == amount) {
      for (const auto& [op, each] : ops) ledger_.add(kind, what, op, module, each.ops, each.flops);
      return;
    }
    for (const auto& [op, each] : ops)
      if (each.flops == amount) return ledger_.add(kind, what, op, module, each.ops, amount);
    std::string names;
    std::uint64_t count = 0;
    for (const auto& [op, each] : ops) names += (names.empty() ? "" : " + ") + op, count += each.ops;
    ledger_.add(kind, what, names, module, count, amount);
  }

  struct Rest {
    std::string module;
    const CountedOps* cell;
  };

  // A module under another's name on the two sides moves counts and changes no sum: nothing to explain then.
  void explain_rest() {
    for (const auto& [sort, rows] : rest_) {
      std::int64_t sum = 0;
      for (const Rest& row : rows) sum += row.cell->ours_flops - row.cell->theirs_flops;
      if (sum == 0) continue;
      for (const Rest& row : rows) explain_one(row);
    }
  }

  void explain_one(const Rest& row) {
    const CountedOps& cell = *row.cell;
    const std::int64_t missing = cell.ours_flops - cell.theirs_flops;
    if (cell.theirs.empty()) {
      const bool idle = std::ranges::find(answer_.not_called, row.module) != answer_.not_called.end();
      const std::string what =
          idle ? "in a module that " + answer_.tool + " did not see called" : not_in_trace();
      return spread(CauseKind::kNotSeen, what, row.module, cell.ours, missing);
    }
    std::map<std::string, OpAmount> less;
    for (const auto& [op, each] : cell.theirs) less[op] = {-each.flops, each.ops};
    if (cell.ours.empty())
      return spread(CauseKind::kOnlyThere,
                    "run when " + answer_.tool + " ran the model, not when opscope did", row.module, less,
                    missing);
    if (missing > 0 && answer_.inclusive)
      return spread(CauseKind::kNotSeen, not_in_trace(), row.module, cell.ours, missing);
    spread(CauseKind::kCountedOtherwise, "by another formula in " + answer_.tool, row.module, cell.ours,
           missing);
  }

  // Tracing keeps what the outputs depend on: a result that only Python looked at is not there.
  std::string not_in_trace() const {
    return answer_.tool == "torch" ? "not run when torch ran the model"
                                   : "not in " + answer_.tool + "'s trace, which drops unused results";
  }

  const Profile& profile_;
  const Graph& graph_;
  const PeerAnswer& answer_;
  Ledger& ledger_;
  bool in_macs_;
  std::set<std::string, std::less<>> free_, seen_;  // seen_: ops without a formula, anywhere
  std::map<std::string, std::map<std::string, std::int64_t>> own_, unseen_;  // by module and op
  std::map<Key, std::uint64_t> calls_;
  std::map<Key, CountedOps> cells_;
  std::map<std::string, std::vector<Rest>> rest_;
};

}  // namespace

std::int64_t explain_by_op(const Profile& profile, const PeerAnswer& answer, Ledger& ledger) {
  return ByOp(profile, answer, ledger).run();
}

}  // namespace opscope
