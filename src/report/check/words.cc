// A check in sentences, as annotations, and a budget as TOML.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/check/report.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

// What GitHub would take for the end of a property or a line.
std::string annotated(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '%' || c == '\r' || c == '\n')
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

}  // namespace

std::string limit_name(const BudgetLimit& limit) {
  const std::string& of = limit.module.empty() ? limit.type : limit.module;
  return (of.empty() ? "" : of + " ") + std::string(limit.metric->key);
}

std::string contributor_text(const LimitResult& result, const Contributor& one) {
  const Unit unit = result.limit.metric->unit;
  const bool change = result.limit.kind == LimitKind::kIncrease;
  const std::string amount =
      change ? change_text(unit, one.amount) : text(unit, amount_in(unit, Count{one.amount}));
  return fmt::format("{} {} ({})", one.path, amount, format_percent(one.share, 1.0));
}

std::string limit_sentence(const LimitResult& result) {
  const Unit unit = result.limit.metric->unit;
  const std::string what = limit_name(result.limit);
  if (result.verdict == Verdict::kUnknown) return fmt::format("{} is not known: {}", what, result.reason);
  const std::string value = (result.at_least ? "at least " : "") + text(unit, *result.value);
  const std::string allowed = text(unit, result.allowed);
  const std::string_view word = result.verdict == Verdict::kKept         ? "within"
                                : result.limit.kind == LimitKind::kLeast ? "under"
                                                                         : "over";
  std::string by = change_text(unit, result.allowed, *result.value);
  if (!by.empty() && (by[0] == '+' || by[0] == '-')) by.erase(0, 1);
  const std::string percent = relative_change(result.allowed, *result.value);
  std::string text = fmt::format("{} is {}, {} {}", what, value, word, allowed);
  if (!by.empty()) text += fmt::format(" by {}{}", by, percent.empty() ? "" : " (" + percent + ")");
  if (result.base)
    text += fmt::format(
        "; it was {}{}", ::opscope::text(unit, *result.base),
        result.limit.percent ? fmt::format(", and {}% more is allowed", *result.limit.percent) : "");
  return text;
}

std::string check_summary(const CheckReport& report) {
  const std::size_t all = report.results.size(), broken = report.broken();
  if (broken == 0) return fmt::format("within budget: {} kept", plural(all, "limit"));
  const bool any_over = std::ranges::any_of(
      report.results, [](const LimitResult& result) { return result.verdict == Verdict::kBroken; });
  return fmt::format("{}: {} of {} not met", any_over ? "over budget" : "budget unknown", broken,
                     plural(all, "limit"));
}

std::string check_annotations(std::span<const CheckReport> reports) {
  std::string out;
  for (const CheckReport& report : reports) {
    for (const LimitResult& result : report.results) {
      if (!report.breaks(result)) continue;
      std::string text = report.label + ": " + limit_sentence(result);
      for (const Contributor& one : result.contributors)
        text += (&one == result.contributors.data() ? "\nmostly " : ", ") + contributor_text(result, one);
      out += "::error title=opscope check::" + annotated(text) + "\n";
    }
    if (report.kept())
      out += "::notice title=opscope check::" + annotated(report.label + ": " + check_summary(report)) + "\n";
  }
  return out;
}

std::string budget_toml(const std::string& spec,
                        const std::vector<std::pair<std::string, std::string>>& flags,
                        const Figures& figures) {
  std::string out = "# What " + figures.model +
                    " costs now. Raise a number to allow more; remove a line to remove a limit.\n";
  out += "[[model]]\nspec = " + quoted(spec) + "\n";
  for (std::size_t i = 0, next = 0; i < flags.size(); i = next) {
    std::string values;
    for (next = i; next < flags.size() && flags[next].first == flags[i].first; ++next)
      values += (next > i ? ", " : "") + quoted(flags[next].second);
    out += flags[i].first + " = " + (next > i + 1 ? "[" + values + "]" : values) + "\n";
  }
  out += "\n[model.max]\n";
  for (const Metric& metric : metrics()) {
    const auto amount = amount_in(figures, metric);
    if (!amount || metric.is_detail || !is_whole(metric.unit)) continue;
    out += fmt::format("{} = {:<{}}  # {}\n", metric.key, amount->count.value(), 14, text(metric, *amount));
  }
  return out;
}

}  // namespace opscope
