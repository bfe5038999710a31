// Limits as they are written on the command line.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "analyse/check/budget.h"
#include "base/error.h"

namespace opscope {
namespace {

// All that costs and is counted: what a bare percentage holds for.
bool may_not_grow(const Metric& metric) {
  return !metric.is_detail && metric.better == Better::kLess && is_whole(metric.unit) &&
         is_given(metric, kModelNeeds);
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    if (end > at) parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::pair<const Metric*, std::string> pair_in(const std::string& part, const std::string& flag,
                                              const char* example) {
  const auto sign = part.find('=');
  if (sign == std::string::npos || sign + 1 == part.size())
    throw Error("'" + part + "' is no METRIC=AMOUNT", flag, std::string("for example ") + example);
  return {&metric_named(part.substr(0, sign), flag, kModelNeeds), part.substr(sign + 1)};
}

}  // namespace

std::vector<BudgetLimit> parse_limits(const std::string& text, LimitKind kind, const std::string& flag) {
  std::vector<BudgetLimit> limits;
  for (const std::string& part : split(text)) {
    const auto [metric, amount] = pair_in(part, flag, "flops=4.2G,params=12M");
    std::erase_if(limits, [m = metric](const BudgetLimit& limit) { return limit.metric == m; });
    limits.push_back(
        {.metric = metric, .kind = kind, .amount = parse_amount(*metric, amount, flag), .where = flag});
  }
  if (limits.empty()) throw Error("no limit is given", flag, "for example flops=4.2G,params=12M");
  return limits;
}

BudgetLimit increase_limit(const Metric& metric, const std::string& text, const std::string& where) {
  BudgetLimit limit{.metric = &metric, .kind = LimitKind::kIncrease, .where = where};
  if (!text.ends_with('%')) {
    limit.amount = parse_amount(metric, text, where);
    return limit;
  }
  double percent = 0;
  const char* const last = text.data() + text.size() - 1;
  const auto [end, error] = std::from_chars(text.data(), last, percent);
  if (error != std::errc{} || end != last || !std::isfinite(percent) || percent < 0)
    throw Error("'" + text + "' is no percentage", where, "for example 2%");
  limit.percent = percent;
  return limit;
}

std::vector<BudgetLimit> parse_increases(const std::string& text, const std::string& flag) {
  std::vector<BudgetLimit> limits;
  for (const std::string& part : split(text)) {
    if (part.find('=') == std::string::npos) {
      if (!part.ends_with('%') && part != "0")
        throw Error("'" + part + "' is no percentage", flag, "for example 2%, or flops=2%,params=0");
      for (const Metric& metric : metrics())
        if (may_not_grow(metric)) limits.push_back(increase_limit(metric, part == "0" ? "0%" : part, flag));
      continue;
    }
    const auto [metric, amount] = pair_in(part, flag, "flops=2%,params=0");
    std::erase_if(limits, [m = metric](const BudgetLimit& limit) { return limit.metric == m; });
    limits.push_back(increase_limit(*metric, amount, flag));
  }
  if (limits.empty()) throw Error("no limit is given", flag, "for example 2%, or flops=2%,params=0");
  return limits;
}

void add_limits(const AskedLimits& asked, std::vector<BudgetLimit>& limits) {
  const auto called = [&](std::string word) {
    if (!asked.as_flags) return word;
    std::ranges::replace(word, '_', '-');
    return "--" + word;
  };
  const auto add = [&](const std::vector<BudgetLimit>& more) {
    limits.insert(limits.end(), more.begin(), more.end());
  };
  if (!asked.against && !asked.max_increase.empty())
    throw Error("an increase is from another version", called("max_increase"),
                asked.as_flags ? "name it with --against base.json" : "name it: against=...");
  if (!asked.max.empty()) add(parse_limits(asked.max, LimitKind::kMost, called("max")));
  if (!asked.min.empty()) add(parse_limits(asked.min, LimitKind::kLeast, called("min")));
  const bool has_increase =
      std::ranges::find(limits, LimitKind::kIncrease, &BudgetLimit::kind) != limits.end();
  if (!asked.max_increase.empty())
    add(parse_increases(asked.max_increase, called("max_increase")));
  else if (asked.against && !has_increase)
    add(parse_increases("0%", called("against")));
  if (limits.empty())
    throw Error("there is no limit to check", "check",
                asked.as_flags ? "--max flops=4.2G,params=12M, --budget budget.toml or --against base.json; "
                                 "--write-budget makes one"
                               : "for example max={'flops': '4.2G'}");
}

}  // namespace opscope
