// Each limit held against the model, and who has most of what is too much.
#include "analyse/check/budget.h"

#include <algorithm>
#include <cmath>
#include <ranges>

#include "base/error.h"
#include "base/text.h"
#include "ops/op_rule.h"

namespace opscope {
namespace {

constexpr std::size_t kMostContributors = 3;
constexpr double kMostOfIt = 0.6;  // a part with this share is looked into

// What adds up over a model's parts; 0 of what does not.
std::int64_t of_metric(const Amounts& amounts, const Metric& metric) {
  for (const AmountField& field : kAmountFields)
    if (field.key == metric.key) return amounts.*field.amount;
  return 0;
}

// The largest parts of an amount, from where it is no longer mostly one part's.
template <class Children, class AmountOf>
std::vector<std::uint32_t> largest(std::uint32_t from, Children children, AmountOf amount) {
  for (;;) {
    std::vector<std::uint32_t> parts = children(from);
    std::erase_if(parts, [&](std::uint32_t p) { return amount(p) <= 0; });
    std::ranges::stable_sort(parts, [&](std::uint32_t a, std::uint32_t b) { return amount(a) > amount(b); });
    if (parts.empty()) return {from};
    const double first = static_cast<double>(amount(parts[0])), all = static_cast<double>(amount(from));
    if (first < kMostOfIt * all || children(parts[0]).empty()) {
      if (parts.size() > kMostContributors) parts.resize(kMostContributors);
      return parts;
    }
    from = parts[0];
  }
}

class BudgetCheck {
 public:
  BudgetCheck(const CheckedModel& model, bool allow_unknown) : model_(model), figures_(*model.figures) {
    report_.label = model.label;
    report_.figures = figures_;
    report_.unknown_allowed = allow_unknown;
    if (model.change) report_.against = model.change->base_label;
    tree_ = make_diff_tree(figures_, nullptr);
  }

  CheckReport run(std::span<const BudgetLimit> limits) {
    for (const BudgetLimit& limit : limits) report_.results.push_back(judged(limit));
    return std::move(report_);
  }

 private:
  LimitResult judged(const BudgetLimit& limit) {
    LimitResult result{.limit = limit};
    find_value(result);
    if (!find_allowed(result)) return result;
    if (!result.value) {
      const Missing missing = why_missing(*limit.metric);
      result.verdict = Verdict::kUnknown;
      result.reason =
          std::string(missing.reason) + (missing.hint.empty() ? "" : ": ") + std::string(missing.hint);
      return result;
    }
    const bool over = is_more(limit.metric->unit, *result.value, result.allowed);
    const bool under = is_more(limit.metric->unit, result.allowed, *result.value);
    if (limit.kind == LimitKind::kLeast)
      result.verdict = !under ? Verdict::kKept : result.at_least ? Verdict::kUnknown : Verdict::kBroken;
    else
      result.verdict = over ? Verdict::kBroken : result.at_least ? Verdict::kUnknown : Verdict::kKept;
    if (result.verdict == Verdict::kUnknown) result.reason = unknown_ops_reason(limit);
    if (result.verdict == Verdict::kBroken && limit.kind != LimitKind::kLeast) find_contributors(result);
    return result;
  }

  void find_value(LimitResult& result) const {
    const BudgetLimit& limit = result.limit;
    Confidence confidence = Confidence::kExact;
    if (!limit.module.empty()) {
      const FigureRow& row = module_row(limit);
      result.value = amount_in(figures_, row.metrics, &row.parameters, *limit.metric);
      confidence = row.metrics.confidence;
    } else if (!limit.type.empty()) {
      const Metrics metrics = type_metrics(limit);
      result.value = amount_in(figures_, metrics, nullptr, *limit.metric);
      confidence = metrics.confidence;
    } else {
      result.value = amount_in(figures_, *limit.metric);
      if (figures_.coverage.unknown) confidence = Confidence::kUnknown;
    }
    result.at_least = confidence == Confidence::kUnknown && limit.metric->basis == Basis::kWork;
  }

  const FigureRow& module_row(const BudgetLimit& limit) const {
    if (!is_given(*limit.metric, kLayerNeeds))
      throw Error("a module has no " + std::string(limit.metric->key) + " of its own", limit.where,
                  "it is of the whole model: [max]");
    std::vector<std::string> names;
    for (const FigureRow& row : figures_.modules) {
      if (row.name == limit.module) return row;
      names.push_back(row.name);
    }
    throw Error(
        "no module called '" + limit.module + "' in " + model_.label, limit.where,
        did_you_mean(limit.module, names, "opscope profile MODEL --depth 9 shows the modules there are"));
  }

  // An op that the model does not run costs it nothing; one that nobody has heard of is a mistake.
  Metrics type_metrics(const BudgetLimit& limit) const {
    if (!is_given(*limit.metric, kTypeNeeds))
      throw Error("an op type has no " + std::string(limit.metric->key) + " of its own", limit.where,
                  "choose " + metric_choices(kTypeNeeds));
    std::vector<std::string> names;
    for (const TypeRow& row : figures_.types) {
      if (row.type == limit.type) return row.metrics;
      names.push_back(row.type);
    }
    if (find_rule("aten::" + limit.type)) return {};
    throw Error("no op type called '" + limit.type + "'", limit.where,
                did_you_mean(limit.type, names, "opscope ops shows those that are known"));
  }

  bool find_allowed(LimitResult& result) const {
    const BudgetLimit& limit = result.limit;
    result.allowed = limit.amount;
    if (limit.kind != LimitKind::kIncrease) return true;
    if (!model_.change)
      throw Error("an increase is from another version", limit.where, "name it with --against");
    result.base = amount_in(model_.change->base, *limit.metric);
    if (!result.base) {
      result.verdict = Verdict::kUnknown;
      result.reason = "not known of " + model_.change->base_label;
      return false;
    }
    result.allowed = increased(limit, *result.base);
    return true;
  }
  static Amount increased(const BudgetLimit& limit, const Amount& base) {
    const double more = limit.percent ? base.real * *limit.percent / 100 : limit.amount.real;
    if (!adds_up(limit.metric->unit)) return {{}, base.real + more};
    const Count extra = limit.percent
                            ? Count{static_cast<std::uint64_t>(std::min(
                                  9e18, std::floor(static_cast<double>(base.count) * *limit.percent / 100)))}
                            : limit.amount.count;
    return {base.count + extra, base.real + more};
  }

  std::string unknown_ops_reason(const BudgetLimit& limit) const {
    const std::string of = limit.module.empty() ? "" : " in " + limit.module;
    return "ops of unknown cost" + of +
           " are not counted: " + join(figures_.coverage.unknown_ops | std::views::transform(&SlowOp::op));
  }

  void find_contributors(LimitResult& result) const {
    if (result.limit.kind == LimitKind::kIncrease) return contributors_to_change(result);
    const Metric& metric = *result.limit.metric;
    if (!result.limit.type.empty()) return contributors_of_type(result);
    std::uint32_t from = 0;
    for (std::uint32_t i = 0; i < tree_.items.size(); ++i)
      if (tree_.items[i].is_module && tree_.items[i].path == result.limit.module) from = i;
    add_largest(
        result, from, [&](std::uint32_t i) -> const DiffItem& { return tree_.items[i]; },
        [&](std::uint32_t i) { return tree_.items[i].children; },
        [&](std::uint32_t i) { return of_metric(tree_.items[i].all, metric); });
  }

  void contributors_of_type(LimitResult& result) const {
    std::vector<const FigureRow*> rows;
    const auto amount = [&](const FigureRow* row) {
      return of_metric(amounts_of(row->metrics, row->parameters), *result.limit.metric);
    };
    for (const FigureRow& row : figures_.layers)
      if (row.type == result.limit.type && amount(&row) > 0) rows.push_back(&row);
    std::ranges::stable_sort(rows, [&](auto* a, auto* b) { return amount(a) > amount(b); });
    const Count whole = result.value ? result.value->count : Count{};
    for (std::size_t i = 0; i < std::min(rows.size(), kMostContributors); ++i)
      result.contributors.push_back(
          {rows[i]->name, rows[i]->type, amount(rows[i]), ratio(amount(rows[i]), whole)});
  }

  void contributors_to_change(LimitResult& result) const {
    const ModelDiff& diff = *model_.change;
    add_largest(
        result, 0, [&](std::uint32_t n) -> const DiffItem& { return diff.item(diff.nodes[n]); },
        [&](std::uint32_t n) { return diff.nodes[n].children; },
        [&](std::uint32_t n) { return of_metric(diff.nodes[n].all, *result.limit.metric); });
  }

  template <class Item, class Children, class AmountOf>
  static void add_largest(LimitResult& result, std::uint32_t from, Item item, Children children,
                          AmountOf amount) {
    const std::int64_t whole = amount(from);
    if (whole <= 0) return;
    for (const std::uint32_t i : largest(from, children, amount))
      if (i != 0)
        result.contributors.push_back({item(i).path, item(i).type, amount(i), ratio(amount(i), whole)});
  }

  const CheckedModel& model_;
  const Figures& figures_;
  DiffTree tree_;
  CheckReport report_;
};

// All that costs and is counted: what a bare percentage holds for.
bool may_not_grow(const Metric& metric) {
  return !metric.is_detail && metric.better == Better::kLess && is_whole(metric.unit) &&
         is_given(metric, kModelNeeds);
}

std::pair<const Metric*, std::string> pair_in(std::string_view part, const std::string& flag,
                                              const std::string& example) {
  const auto sign = part.find('=');
  if (sign == std::string::npos || sign + 1 == part.size())
    throw Error("'" + std::string(part) + "' is no METRIC=AMOUNT", flag, "for example " + example);
  return {&metric_named(part.substr(0, sign), flag, kModelNeeds), std::string(part.substr(sign + 1))};
}

}  // namespace

std::string_view name(LimitKind kind) {
  return kind == LimitKind::kMost ? "max" : kind == LimitKind::kLeast ? "min" : "max_increase";
}
std::string_view name(Verdict verdict) {
  return verdict == Verdict::kKept ? "kept" : verdict == Verdict::kBroken ? "broken" : "unknown";
}

std::size_t CheckReport::broken() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(results, [&](const LimitResult& r) { return breaks(r); }));
}

CheckReport check_budget(const CheckedModel& model, std::span<const BudgetLimit> limits, bool allow_unknown) {
  return BudgetCheck(model, allow_unknown).run(limits);
}

BudgetLimit with_amount(BudgetLimit limit, const std::string& text) {
  if (limit.kind != LimitKind::kIncrease || !text.ends_with('%')) {
    limit.amount = parse_amount(*limit.metric, text, limit.where);
    return limit;
  }
  limit.percent = number_from<double>(text.substr(0, text.size() - 1));
  if (!limit.percent || !std::isfinite(*limit.percent) || *limit.percent < 0)
    throw Error("'" + text + "' is no percentage", limit.where, "for example 2%");
  return limit;
}

std::vector<BudgetLimit> parse_limits(const std::string& text, LimitKind kind, const std::string& flag) {
  const bool is_increase = kind == LimitKind::kIncrease;
  const std::string pairs = is_increase ? "flops=2%,params=0" : "flops=4.2G,params=12M";
  const std::string hint = (is_increase ? "for example 2%, or " : "for example ") + pairs;
  std::vector<BudgetLimit> limits;
  for (const std::string_view part : split_by(text, ',')) {
    if (part.empty()) continue;
    if (is_increase && part.find('=') == std::string::npos) {
      if (!part.ends_with('%') && part != "0")
        throw Error("'" + std::string(part) + "' is no percentage", flag, hint);
      for (const Metric& metric : metrics())
        if (may_not_grow(metric))
          limits.push_back(with_amount({.metric = &metric, .kind = kind, .where = flag},
                                       part == "0" ? "0%" : std::string(part)));
      continue;
    }
    const auto [metric, amount] = pair_in(part, flag, pairs);
    std::erase_if(limits, [m = metric](const BudgetLimit& limit) { return limit.metric == m; });
    limits.push_back(with_amount({.metric = metric, .kind = kind, .where = flag}, amount));
  }
  if (limits.empty()) throw Error("no limit is given", flag, hint);
  return limits;
}

void add_limits(const AskedLimits& asked, std::vector<BudgetLimit>& limits) {
  const auto called = [&](std::string word) {
    if (!asked.as_flags) return word;
    std::ranges::replace(word, '_', '-');
    return "--" + word;
  };
  const auto add = [&](const std::string& text, LimitKind kind, const std::string& word) {
    if (text.empty()) return;
    const std::vector<BudgetLimit> more = parse_limits(text, kind, called(word));
    limits.insert(limits.end(), more.begin(), more.end());
  };
  if (!asked.against && !asked.max_increase.empty())
    throw Error("an increase is from another version", called("max_increase"),
                asked.as_flags ? "name it with --against base.json" : "name it: against=...");
  add(asked.max, LimitKind::kMost, "max");
  add(asked.min, LimitKind::kLeast, "min");
  const bool has_increase =
      std::ranges::find(limits, LimitKind::kIncrease, &BudgetLimit::kind) != limits.end();
  add(asked.max_increase, LimitKind::kIncrease, "max_increase");
  if (asked.max_increase.empty() && asked.against && !has_increase)
    add("0%", LimitKind::kIncrease, "against");
  if (limits.empty())
    throw Error("there is no limit to check", "check",
                asked.as_flags ? "--max flops=4.2G,params=12M, --budget budget.toml or --against base.json; "
                                 "--write-budget makes one"
                               : "for example max={'flops': '4.2G'}");
}

}  // namespace opscope
