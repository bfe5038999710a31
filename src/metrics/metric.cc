// How people name metrics, and what is known of which.
#include "metrics/metric.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace opscope {
namespace {

constexpr std::size_t kShortName = 4;  // worth telling beside the whole one

// Every name that a metric goes by, its key first.
std::vector<std::string_view> names_of(const Metric& metric) {
  std::vector<std::string_view> names{metric.key};
  for (const std::string_view alias : split_by(metric.aliases, ','))
    if (!alias.empty()) names.push_back(alias);
  return names;
}

// Whether a row has what a metric needs.
Needs needs_met(const Costs& costs) {
  Needs given = 0;
  const auto add = [&](bool has, Need need) { given |= has ? need : 0u; };
  add(costs.parameters, kNeedsParameters);
  add(costs.is_measured, kNeedsMeasurement);
  add(costs.has_device, kNeedsDevice);
  add(costs.saved_bytes.has_value(), kNeedsFusion);
  if (!costs.model) return given;
  add(costs.model->peak_memory_bytes.has_value(), kNeedsPeak);
  add(costs.model->at_peak.has_value(), kNeedsPeakParts);
  add(costs.model->compute_bound_flops.has_value(), kNeedsBounds);
  add(costs.model->attention_flops && costs.model->linear_flops, kNeedsProducts);
  return given;
}

// The nearest of what people mostly ask for, else of all.
std::string hint_for(std::string_view asked, Needs given) {
  std::vector<std::string_view> usual, all;
  for (const Metric* metric : metrics_given(given)) {
    all.push_back(metric->key);
    if (!metric->is_detail) usual.push_back(metric->key);
  }
  for (const auto& names : {usual, all})
    if (const std::string near = did_you_mean(asked, names); !near.empty()) return near;
  return "choose " + metric_choices(given);
}

}  // namespace

const Metric& metric_at(std::string_view key) {
  const auto found = std::ranges::find(metrics(), key, &Metric::key);
  OPSCOPE_CHECK(found != metrics().end());
  return *found;
}

const Metric* find_metric(std::string_view text) {
  std::string asked = lower_case(text);
  std::ranges::replace(asked, '-', '_');
  for (const Metric& metric : metrics())
    if (std::ranges::count(names_of(metric), asked) > 0) return &metric;
  return nullptr;
}

const Metric& metric_named(std::string_view text, const std::string& where, Needs given) {
  const Metric* metric = find_metric(text);
  if (!metric) throw Error("no metric called '" + std::string(text) + "'", where, hint_for(text, given));
  if (is_given(*metric, given)) return *metric;
  throw Error(std::string(why_missing(*metric).reason), where, "choose " + metric_choices(given));
}

std::vector<const Metric*> metrics_named(std::string_view text, const std::string& where, Needs given) {
  std::vector<const Metric*> chosen;
  for (const std::string_view name : split_by(text, ',')) {
    const Metric* metric = &metric_named(name, where, given);
    if (std::ranges::find(chosen, metric) == chosen.end()) chosen.push_back(metric);
  }
  return chosen;
}

std::vector<const Metric*> metrics_given(Needs given) {
  std::vector<const Metric*> chosen;
  for (const Metric& metric : metrics())
    if (is_given(metric, given)) chosen.push_back(&metric);
  return chosen;
}

std::string flag_name(const Metric& metric) {
  std::string text(metric.key);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string metric_choices(Needs given) {
  std::string usual, details;
  for (const Metric* metric : metrics_given(given)) {
    std::string& list = metric->is_detail ? details : usual;
    if (!list.empty()) list += ", ";
    list += flag_name(*metric);
    const auto names = names_of(*metric);
    if (names.size() > 1 && names[1].size() <= kShortName) list.append(" (").append(names[1]).append(")");
  }
  return details.empty() ? usual : usual + "; also " + details;
}

std::string metric_words(Needs given, char gap) {
  std::string list;
  for (const Metric* metric : metrics_given(given))
    list.append(list.empty() ? 0 : 1, gap).append(flag_name(*metric));
  return list;
}

std::string heading(const Metric& metric) {
  std::string text(metric.words);
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::optional<Amount> amount_of(const Metric& metric, const Costs& costs) {
  if (!is_given(metric, needs_met(costs))) return std::nullopt;
  return metric.of(costs);
}

double value_of(const Metric& metric, const Costs& costs) {
  return amount_of(metric, costs).value_or(Amount{}).real;
}

Missing why_missing(const Metric& metric) {
  switch (metric.need) {
    case kNeedsMeasurement:
      return {"no time was measured", "opscope measure MODEL --save FILE.json, then name the file"};
    case kNeedsDevice:
      return {"a roofline is of a device, and none is named",
              "for example --hardware h200; `opscope devices` lists them"};
    case kNeedsParameters:
      return {"op types have no parameters", "modules and layers have them"};
    case kNeedsPeak:
    case kNeedsPeakParts:
      return {"a part of a model has no peak memory of its own", "opscope memory shows who holds it"};
    case kNeedsBounds:
    case kNeedsProducts:
      return {"this metric is of a whole model", "opscope sweep shows it"};
    case kNeedsFusion:
      return {"this metric is of fused subgraphs", "opscope fuse shows it"};
    case kNeedsNothing:
      break;
  }
  return {"the saved profile does not say", ""};
}

void require_known(const Metric& metric, const Costs& costs, const std::string& where) {
  if (amount_of(metric, costs)) return;
  const Missing missing = why_missing(metric);
  throw Error(std::string(missing.reason), where, std::string(missing.hint));
}

std::string text(const Metric& metric, const Amount& amount, Zero zero) {
  return text(metric.unit, amount, zero);
}

std::string number_text(const Metric& metric, const Amount& amount) {
  return is_whole(metric.unit) ? fmt::format("{}", amount.count.value()) : fmt::format("{}", amount.real);
}

Amount parse_amount(const Metric& metric, std::string_view text, const std::string& where) {
  return parse_amount(metric.unit, text, where, metric.key);
}

}  // namespace opscope
