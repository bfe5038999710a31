// One tool on one model: from its own number to ours, cause by cause.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>

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

void add_sum(Table& table, std::string label, Count count) {
  table.add({{std::move(label), Style::kStrong}, {}, {}, {count, Style::kStrong}});
}

void add_op(Table& table, const std::string& label, const OfOp& op) {
  table.add({{label.empty() ? "whole model" : label, Style::kQuiet, "  "},
             {op.ops, Style::kQuiet},
             {where_text(op.modules), Style::kQuiet},
             {op.flops, Style::kQuiet}});
}

OfOp together(std::span<const OfOp> ops) {
  OfOp all;
  for (const OfOp& op : ops) {
    all.ops += op.ops, all.flops += op.flops;
    all.op += (all.op.empty() ? "" : ", ") + op.op;
  }
  all.modules = {all.op};
  return all;
}

// A cause of one op type is one line; its words may name the op already.
void add_cause(Table& table, const Cause& cause, bool verbose) {
  const auto ops = by_op(cause);
  if (ops.size() == 1 && cause.what.size() + ops[0].op.size() <= kOneLine) {
    const bool named = ops[0].op.empty() || cause.what.find(ops[0].op) != std::string::npos;
    return table.add({named ? cause.what : cause.what + " (" + ops[0].op + ")",
                      ops[0].ops,
                      {where_text(ops[0].modules), Style::kQuiet},
                      cause.flops});
  }
  table.add({cause.what, together(ops).ops, {}, cause.flops});
  const std::size_t shown = verbose || ops.size() <= kOpsShown ? ops.size() : kOpsShown - 1;
  for (std::size_t i = 0; i < shown; ++i) add_op(table, ops[i].op, ops[i]);
  if (shown < ops.size())
    add_op(table, plural(ops.size() - shown, "other op type"), together(std::span(ops).subspan(shown)));
}

std::string remark_text(const Reconciliation& model, const PeerComparison& peer) {
  const auto largest = std::ranges::find_if_not(peer.causes, &Cause::is_unit);  // the first
  if (largest == peer.causes.end()) return peer.answer.tool + " and opscope count the same.";
  std::int64_t sum = 0;
  for (const Cause& cause : peer.causes) sum += cause.is_unit() ? 0 : cause.flops;
  return fmt::format("{} FLOPs apart ({}), and the causes add up to {}. Most of it: {} ({}).",
                     signed_text(peer.difference, Unit::kWhole),
                     peer.has_accuracy() ? fmt::format("{:.2g}% of theirs", 100 * peer.off(model.flops))
                                         : "of nothing counted there",
                     signed_text(sum, Unit::kWhole), largest->what,
                     signed_text(largest->flops, Unit::kCount));
}

}  // namespace

Section why_section(const Reconciliation& model, const PeerComparison& peer, const TextOptions& options) {
  const PeerAnswer& answer = peer.answer;
  const std::string title = fmt::format("{} and {} {}", model.model, answer.tool,
                                        answer.version.substr(0, answer.version.find(".post")));
  Table table{
      {words(title, 30, 58), number("Ops"), words("Where", 12, 20).or_not(), number("FLOPs", Unit::kWhole)},
      {}};
  add_sum(table, fmt::format("{}'s own number, in {}", answer.tool, unit_text(answer.unit)), answer.total);
  for (const Cause& cause : peer.causes)
    if (cause.is_unit()) add_cause(table, cause, options.verbose);
  if (std::ranges::any_of(peer.causes, &Cause::is_unit))
    add_sum(table, answer.tool + ", in FLOPs", peer.flops);
  for (const Cause& cause : peer.causes)
    if (!cause.is_unit()) add_cause(table, cause, options.verbose);
  add_sum(table, "opscope", model.flops);
  return {title, std::move(table), {remark_text(model, peer)}};
}

}  // namespace opscope
