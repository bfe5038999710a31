// One tool on one model: from its own number to ours, cause by cause.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "analyse/memory/memory.h"
#include "base/text.h"
#include "report/reconcile/reconcile.h"

namespace opscope {
namespace {

constexpr std::size_t kOpsShown = 6;
constexpr std::size_t kOneLine = 52;  // words of a cause and its only op

// Rows of one op type.
struct OfOp {
  std::string op;
  std::uint64_t ops = 0;
  std::int64_t flops = 0;
  std::vector<std::string> modules;
};

std::vector<OfOp> by_op(const Cause& cause) {
  std::vector<OfOp> ops;
  for (const CauseRow& row : cause.rows) {
    if (ops.empty() || ops.back().op != row.op) ops.push_back({row.op, 0, 0, {}});
    ops.back().ops += row.ops;
    ops.back().flops += row.flops;
    ops.back().modules.push_back(row.module.empty() ? "(root)" : row.module);
  }
  std::ranges::stable_sort(ops, std::greater{}, [](const OfOp& op) { return std::llabs(op.flops); });
  return ops;
}

// "layer*.*.conv1" where they are alike, else the first and how many more.
std::string where_text(const std::vector<std::string>& modules) {
  if (modules.size() == 1) return modules.front();
  const std::string pattern = pattern_of(modules.front());
  const bool alike =
      std::ranges::all_of(modules, [&](const std::string& module) { return pattern_of(module) == pattern; });
  return alike ? pattern : fmt::format("{}, {} more", modules.front(), modules.size() - 1);
}

// "+4,667,368", "-12", "0"; "+4.67M"
std::string signed_text(std::int64_t number, Unit unit) {
  return text_of(cell_of(number, unit, Style::kPlain, Zero::kDigit));
}

class Walk {
 public:
  Walk(const Reconciliation& model, const PeerComparison& peer, const TextOptions& options)
      : model_(model), peer_(peer), options_(options) {}

  Section section() {
    const PeerAnswer& answer = peer_.answer;
    section_.title = fmt::format("{} and {} {}", model_.model, answer.tool,
                                 answer.version.substr(0, answer.version.find(".post")));
    section_.table.columns = {words(section_.title, 30, 58), number("Ops"), words("Where", 12, 20).or_not(),
                              number("FLOPs", Unit::kWhole)};
    sum(fmt::format("{}'s own number, in {}", answer.tool, unit_text(answer.unit)), answer.total);
    const bool converts = std::ranges::any_of(peer_.causes, &Cause::is_unit);
    for (const Cause& cause : peer_.causes)
      if (cause.is_unit()) add(cause);
    if (converts) sum(answer.tool + ", in FLOPs", peer_.flops);
    for (const Cause& cause : peer_.causes)
      if (!cause.is_unit()) add(cause);
    sum("opscope", model_.flops);
    section_.remarks = {remark_text()};
    return std::move(section_);
  }

 private:
  void sum(std::string label, Count count) {
    section_.table.add({{std::move(label), Style::kStrong}, {}, {}, {count, Style::kStrong}});
  }

  void add(const Cause& cause) {
    const auto ops = by_op(cause);
    if (ops.size() == 1 && cause.what.size() + ops.front().op.size() <= kOneLine)
      return add_only(cause, ops.front());
    std::uint64_t count = 0;
    for (const OfOp& op : ops) count += op.ops;
    section_.table.add({cause.what, count, {}, cause.flops});
    const std::size_t shown = options_.verbose || ops.size() <= kOpsShown ? ops.size() : kOpsShown - 1;
    for (std::size_t i = 0; i < shown; ++i) add_op(ops[i].op, ops[i]);
    if (shown < ops.size()) add_op(plural(ops.size() - shown, "other op type"), rest(ops, shown));
  }

  // A cause of one op type is one line; its words may name the op already.
  void add_only(const Cause& cause, const OfOp& op) {
    const bool named = op.op.empty() || cause.what.find(op.op) != std::string::npos;
    section_.table.add({named ? cause.what : cause.what + " (" + op.op + ")",
                        op.ops,
                        {where_text(op.modules), Style::kQuiet},
                        cause.flops});
  }

  static OfOp rest(const std::vector<OfOp>& ops, std::size_t from) {
    OfOp all;
    for (std::size_t i = from; i < ops.size(); ++i) {
      all.ops += ops[i].ops;
      all.flops += ops[i].flops;
      all.op += (all.op.empty() ? "" : ", ") + ops[i].op;
    }
    all.modules = {all.op};
    return all;
  }

  void add_op(const std::string& label, const OfOp& op) {
    section_.table.add({{label.empty() ? "whole model" : label, Style::kQuiet, "  "},
                        {op.ops, Style::kQuiet},
                        {where_text(op.modules), Style::kQuiet},
                        {op.flops, Style::kQuiet}});
  }

  std::string remark_text() const {
    const Cause* largest = nullptr;
    std::int64_t sum = 0;
    for (const Cause& cause : peer_.causes) {
      if (cause.is_unit()) continue;
      sum += cause.flops;
      if (largest == nullptr) largest = &cause;
    }
    if (largest == nullptr) return fmt::format("{} and opscope count the same.", peer_.answer.tool);
    return fmt::format("{} FLOPs apart ({}), and the causes add up to {}. Most of it: {} ({}).",
                       signed_text(peer_.difference, Unit::kWhole), percent_apart(),
                       signed_text(sum, Unit::kWhole), largest->what,
                       signed_text(largest->flops, Unit::kCount));
  }

  std::string percent_apart() const {
    if (!peer_.has_accuracy()) return "of nothing counted there";
    return fmt::format("{:.2g}% of theirs", 100 * peer_.off(model_.flops));
  }

  const Reconciliation& model_;
  const PeerComparison& peer_;
  const TextOptions& options_;
  Section section_;
};

}  // namespace

Section why_section(const Reconciliation& model, const PeerComparison& peer, const TextOptions& options) {
  return Walk(model, peer, options).section();
}

}  // namespace opscope
