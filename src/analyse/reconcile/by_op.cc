// Tools that count aten ops. Two steps, each exact: what the tool's conventions leave out or count otherwise,
// op by op; then what it really counted in each module against what these conventions would give there.
#include <map>
#include <set>

#include "analyse/reconcile/reconcile.h"
#include "base/text.h"

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
  return rule != nullptr ? is_product(rule->category)
                         : has_any(op, {"attention", "convolution", "encoder_layer", "linear"});
}

struct OpAmount {
  std::int64_t flops = 0;
  std::uint64_t ops = 0;
};

struct OpAmounts {
  std::map<std::string, OpAmount> by_op;
  std::int64_t flops = 0;

  void add(const std::string& op, std::int64_t more, std::uint64_t ops) {
    by_op[op].flops += more, by_op[op].ops += ops, flops += more;
  }
};

// One class of ops in one module, on both sides, in the common unit.
struct CountedOps {
  OpAmounts ours, theirs;  // ours: as the tool would count

  std::int64_t missing() const { return ours.flops - theirs.flops; }
};

class ByOp : public Ledger {
 public:
  using Ledger::Ledger;

  std::int64_t run() {
    read_counts();
    const auto theirs =
        estimate_as_tool(graph_, answer_.tool == "torch" ? Convention::kTorch : Convention::kFvcore);
    for (OpId id = 0; id < graph_.ops.size(); ++id) convention(id, theirs[id]);
    std::int64_t total = 0;
    for (auto& [key, cell] : cells_) {
      total += cell.theirs.flops;
      if (cell.missing() != 0) execution(key.first, key.second, cell);
    }
    explain_rest();
    return total;
  }

 private:
  using Key = std::pair<std::string, std::string>;  // module, class

  // --- what the tool said ---

  static std::string parent_of(const std::string& module) { return std::string(parent_path(module)); }

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

  CountedOps& cell_of(const std::string& module, const std::string& op, bool product) {
    return cells_[{module, std::string(product ? kProducts : without_underscore(op))}];
  }

  void take(const std::string& module, const std::string& op, std::int64_t own) {
    const bool product = is_product_name(op);
    const auto found = calls_.find({module, op});
    const std::uint64_t calls = found == calls_.end() ? 1 : found->second;
    cell_of(module, op, product).theirs.add(op, add_unit(own, product, op, module, calls), calls);
  }

  // --- what its conventions would give ---

  void convention(OpId id, const OpCost& as_theirs) {
    const Op& op = graph_.ops[id];
    const OpCost& cost = profile_.costs[id];
    const auto own = signed_count(as_theirs.flops);
    const bool product = cost.rule != nullptr && is_product(cost.rule->category);
    const std::int64_t flops = in_flops(own, product);
    const std::string op_name(short_op_name(graph_.op_name(op)));
    const std::string module(graph_.path(graph_.module_of(op)));
    if (own != 0) cell_of(module, op_name, product).ours.add(op_name, flops, 1);
    const std::int64_t difference = signed_count(cost.flops) - flops;
    if (difference == 0) return;
    const DeclaredCost* declared = find_declared(graph_, id);
    if (cost.rule == nullptr || (declared != nullptr && (declared->macs || declared->flops)))
      add(CauseKind::kDeclared, "declared with register_op, which " + answer_.tool + " does not know",
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
    else if (std::ranges::find(answer_.free_ops, "aten::" + op) != answer_.free_ops.end())
      what = word + ": free in " + answer_.tool + " by its own list";
    else if (const auto* const carrier = product_without_formula(module); carrier && cost.work.macs)
      what = "no formula for " + *carrier;
    else if (answer_.tool == "torch")
      what = word + ": no formula in torch";
    else {
      kind = CauseKind::kNotSeen;
      what = word + ": " + not_in_trace();
    }
    add(kind, what, op, module, 1, difference);
  }

  void counted_otherwise(const OpCost& cost, const std::string& op, const std::string& module,
                         std::int64_t difference) {
    const Category category = cost.rule->category;
    if (!is_product(category)) {
      const WorkWord work = work_word(category);
      return add(work.kind, std::string(work.word) + ": by another formula in " + answer_.tool, op, module, 1,
                 difference);
    }
    const auto beside = signed_count(cost.work.other_flops + cost.work.specials);
    const auto [kind, what] =
        category == Category::kAttention
            ? std::pair(CauseKind::kInsideAttention, "scale, mask and softmax inside attention")
        : category == Category::kRecurrent ? std::pair(CauseKind::kActivation, "gates of recurrent cells")
                                           : std::pair(CauseKind::kBias, "adding the bias");
    add(kind, what, op, module, 1, beside);
    add(CauseKind::kCountedOtherwise, "products by another formula in " + answer_.tool, op, module, 1,
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
          // PyTorch's fast paths do the work of the modules inside.
          if (calls > 0 && is_product_name(op) && (own || has_any(op, {"multi_head", "encoder_layer"})))
            return &op;
      if (module.empty()) return nullptr;
      module = parent_of(module);
    }
  }

  void execution(const std::string& module, const std::string& sort, const CountedOps& cell) {
    const auto* const kernel =
        cell.missing() > 0 && sort == kProducts ? product_without_formula(module) : nullptr;
    if (kernel == nullptr) return rest_[sort].push_back({module, &cell});
    const bool attention = has_any(*kernel, {"attention", "encoder_layer"});
    spread(attention ? CauseKind::kAttentionNotSeen : CauseKind::kUnsupportedOp, "no formula for " + *kernel,
           module, cell.ours, cell.missing());
  }

  // The ops that make up the amount: all, one kind of them, or what is left of all.
  void spread(CauseKind kind, const std::string& what, const std::string& module, const OpAmounts& ops,
              std::int64_t amount) {
    if (ops.flops == amount) {
      for (const auto& [op, each] : ops.by_op) add(kind, what, op, module, each.ops, each.flops);
      return;
    }
    for (const auto& [op, each] : ops.by_op)
      if (each.flops == amount) return add(kind, what, op, module, each.ops, amount);
    std::string names;
    std::uint64_t count = 0;
    for (const auto& [op, each] : ops.by_op) names += (names.empty() ? "" : " + ") + op, count += each.ops;
    add(kind, what, names, module, count, amount);
  }

  // A module under another's name on the two sides moves counts and changes no sum: nothing to explain then.
  void explain_rest() {
    for (const auto& [sort, rows] : rest_) {
      std::int64_t sum = 0;
      for (const auto& [module, cell] : rows) sum += cell->missing();
      if (sum == 0) continue;
      for (const auto& [module, cell] : rows) explain_one(module, *cell);
    }
  }

  void explain_one(const std::string& module, const CountedOps& cell) {
    const std::int64_t missing = cell.missing();
    if (cell.theirs.by_op.empty()) {
      const bool idle = std::ranges::find(answer_.not_called, module) != answer_.not_called.end();
      return spread(CauseKind::kNotSeen,
                    idle ? "in a module that " + answer_.tool + " did not see called" : not_in_trace(),
                    module, cell.ours, missing);
    }
    if (cell.ours.by_op.empty()) {
      OpAmounts less;
      for (const auto& [op, each] : cell.theirs.by_op) less.add(op, -each.flops, each.ops);
      return spread(CauseKind::kOnlyThere,
                    "run when " + answer_.tool + " ran the model, not when opscope did", module, less,
                    missing);
    }
    if (missing > 0 && answer_.inclusive)
      return spread(CauseKind::kNotSeen, not_in_trace(), module, cell.ours, missing);
    spread(CauseKind::kCountedOtherwise, "by another formula in " + answer_.tool, module, cell.ours, missing);
  }

  // Tracing keeps what the outputs depend on: a result that only Python looked at is not there.
  std::string not_in_trace() const {
    return answer_.tool == "torch" ? "not run when torch ran the model"
                                   : "not in " + answer_.tool + "'s trace, which drops unused results";
  }

  std::set<std::string> seen_;  // ops without a formula, anywhere
  std::map<std::string, std::map<std::string, std::int64_t>> own_, unseen_;  // by module and op
  std::map<Key, std::uint64_t> calls_;
  std::map<Key, CountedOps> cells_;
  std::map<std::string, std::vector<std::pair<std::string, const CountedOps*>>> rest_;  // module and cell
};

}  // namespace

void explain_by_op(const Profile& profile, const PeerAnswer& answer, PeerComparison& peer) {
  ByOp by_op(profile, answer);
  peer.flops = by_op.run();
  peer.causes = by_op.causes();
}

}  // namespace opscope
