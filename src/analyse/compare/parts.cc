// One quantity by op type or by module, over all models: the union of their rows, matched by name or path.
#include <algorithm>
#include <map>

#include "analyse/compare/comparison.h"
#include "base/error.h"

namespace opscope {
namespace {

// A row of one model.
struct PartOf {
  std::string name;
  std::uint32_t depth = 0;
  Amount amount{};
  Confidence confidence = Confidence::kExact;
};

void refuse(CompareBy by, const Metric& metric) {
  if (is_given(metric, by == CompareBy::kType ? kTypeNeeds : kLayerNeeds)) return;
  const Missing missing = why_missing(metric);
  throw Error(std::string(missing.reason), "--metric",
              metric.need == kNeedsParameters ? "--by module has them" : std::string(missing.hint));
}

std::vector<PartOf> types_of(const Figures& figures, const Metric& metric) {
  std::vector<PartOf> parts;
  for (const TypeRow& row : figures.types)
    if (const auto amount = amount_in(figures, row.metrics, nullptr, metric))
      parts.push_back({row.type, 0, *amount, row.metrics.confidence});
  return parts;
}

// What the root ran itself, outside all modules: the rest of a sum.
void add_own(const Figures& figures, const Metric& metric, std::vector<PartOf>& parts) {
  if (metric.need == kNeedsParameters || !adds_up(metric.unit) || figures.modules.empty()) return;
  const auto whole = amount_in(figures, metric);
  if (!whole) return;
  Count below;
  for (const PartOf& part : parts)
    if (part.depth == 1) below += part.amount.count;
  const Count own = whole->count - below;
  if (!own) return;
  parts.push_back({"", 1, amount_in(metric.unit, own), Confidence::kExact});
}

std::vector<PartOf> modules_of(const Figures& figures, const Metric& metric, std::uint32_t depth) {
  std::vector<PartOf> parts;
  for (const FigureRow& row : figures.modules) {
    if (row.depth == 0 || row.depth > depth) continue;
    if (const auto amount = amount_in(figures, row.metrics, &row.parameters, metric))
      parts.push_back({row.name, row.depth, *amount, row.metrics.confidence});
  }
  add_own(figures, metric, parts);
  return parts;
}

class Union {
 public:
  Union(std::size_t models, ComparedParts& into) : models_(models), into_(into) {}

  // Rows that are new go behind the row before them, so that the order of each model is kept.
  void add(std::size_t model, const std::vector<PartOf>& parts) {
    std::size_t after = 0;
    for (const PartOf& part : parts) {
      auto found = std::ranges::find(into_.rows, part.name, &ComparedPart::name);
      if (found == into_.rows.end()) {
        ComparedPart row{part.name, part.depth, std::vector<ComparedValue>(models_)};
        found = into_.rows.insert(into_.rows.begin() + static_cast<std::ptrdiff_t>(after), std::move(row));
      }
      after = static_cast<std::size_t>(found - into_.rows.begin()) + 1;
      ComparedValue& value = found->values[model];
      value.is_known = true;
      value.amount = part.amount;
      value.confidence = part.confidence;
    }
  }

 private:
  std::size_t models_;
  ComparedParts& into_;
};

void add_ratios(ComparedPart& row) {
  const ComparedValue& first = row.values.front();
  if (!first.is_known || !(first.amount.real > 0) || first.confidence == Confidence::kUnknown) return;
  for (ComparedValue& value : row.values)
    if (value.is_known) value.ratio = value.amount.real / first.amount.real;
}

// Types with the largest share of any model's total first.
void sort_types(ComparedParts& parts) {
  const auto largest = [&](const ComparedPart& row) {
    double share = 0;
    for (std::size_t i = 0; i < row.values.size(); ++i)
      if (parts.totals[i].real > 0) share = std::max(share, row.values[i].amount.real / parts.totals[i].real);
    return share;
  };
  std::ranges::stable_sort(parts.rows, std::greater(), largest);
}

bool has_something(const ComparedPart& row) {
  return std::ranges::any_of(row.values, [](const ComparedValue& v) { return v.amount.real > 0; });
}

}  // namespace

CompareBy compare_by_from_name(std::string_view text, const std::string& where) {
  if (text == "type" || text == "types") return CompareBy::kType;
  if (text == "module" || text == "modules") return CompareBy::kModule;
  throw Error("no way to compare called '" + std::string(text) + "'", where, "choose type or module");
}

ComparedParts compare_parts(const ModelComparison& comparison, CompareBy by, const Metric& metric,
                            std::uint32_t depth) {
  refuse(by, metric);
  ComparedParts parts{by, &metric, {}, {}, 0};
  Union all(comparison.models.size(), parts);
  bool any_known = false;
  for (std::size_t i = 0; i < comparison.models.size(); ++i) {
    const Figures& figures = comparison.models[i].figures;
    const auto total = amount_in(figures, metric);
    any_known = any_known || total;
    parts.totals.push_back(total.value_or(Amount{}));
    all.add(i, by == CompareBy::kType ? types_of(figures, metric) : modules_of(figures, metric, depth));
  }
  if (!any_known)
    throw Error("none of these models has a " + std::string(metric.key), "--metric",
                std::string(why_missing(metric).hint));
  std::erase_if(parts.rows, [](const ComparedPart& row) { return !has_something(row); });
  if (by == CompareBy::kType) sort_types(parts);
  for (ComparedPart& row : parts.rows) {
    add_ratios(row);
    parts.in_all += std::ranges::all_of(row.values, [](const ComparedValue& v) { return v.is_known; });
  }
  return parts;
}

}  // namespace opscope
