// The rows. A lower bound is never called the best.
#include "analyse/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/error.h"

namespace opscope {
namespace {

constexpr double kLeastMix = 0.01;  // of a model's FLOPs: categories with less in all models are one
constexpr std::size_t kMostMix = 6;

using MetricOf = std::function<std::optional<Amount>(const ComparedModel&)>;
using Doubt = std::function<Confidence(const ComparedModel&)>;

Confidence exact(const ComparedModel&) { return Confidence::kExact; }
Confidence as_totals(const ComparedModel& model) { return model.figures.totals.confidence; }
// Of two bounds nobody knows the quotient's side.
Confidence as_quotient(const ComparedModel& model) {
  return std::min(model.figures.totals.confidence, Confidence::kEstimated);
}

// A value of which more may be there than was counted is no least; an upper bound is taken for its value.
bool is_surely_best(const ComparedRow& row, const ComparedValue& value) {
  if (value.confidence == Confidence::kUnknown) return false;
  return std::ranges::all_of(row.values, [&](const ComparedValue& other) {
    if (!other.is_known) return true;
    return row.better == Better::kLess ? value.amount.real <= other.amount.real
                                       : value.amount.real >= other.amount.real;
  });
}

void mark_best(ComparedRow& row) {
  const auto known = std::ranges::count(row.values, true, &ComparedValue::is_known);
  if (row.better == Better::kNeither || known < 2) return;
  std::vector<ComparedValue*> best;
  for (ComparedValue& value : row.values)
    if (value.is_known && is_surely_best(row, value)) best.push_back(&value);
  if (static_cast<std::ptrdiff_t>(best.size()) == known) return;  // all the same
  for (ComparedValue* value : best) value->is_best = true;
}

// To the first of them, where that is known well enough.
void add_ratios(std::vector<ComparedValue>& values) {
  const ComparedValue& first = values.front();
  if (!first.is_known || first.confidence == Confidence::kUnknown || !(first.amount.real > 0)) return;
  for (ComparedValue& value : values)
    if (value.is_known) value.ratio = value.amount.real / first.amount.real;
}

class Rows {
 public:
  explicit Rows(ModelComparison& comparison) : comparison_(comparison) {}

  void add_all() {
    for (const Metric& metric : metrics())
      if (is_listed(metric) && metric.better != Better::kNeither) add_with_parts(metric);
    add_bounds();
    add_times();
    for (const Metric& metric : metrics())
      if (is_listed(metric) && metric.better == Better::kNeither) add(metric);
    add("layers", "Layers", Unit::kWhole, Better::kNeither, false, [](const ComparedModel& m) {
      return known_if(m.figures.has("layers"), counted(Count{m.figures.layers.size()}));
    });
    add("subgraphs", "Subgraphs", Unit::kWhole, Better::kNeither, false, [](const ComparedModel& m) {
      return known_if(m.figures.has("subgraphs"), counted(Count{m.figures.subgraphs}));
    });
  }

  void add_mix() {
    std::map<Category, double> largest;
    for (const ComparedModel& model : comparison_.models)
      for (const TypeRow& row : model.figures.types) {
        double& share = largest[row.category];
        share = std::max(share, share_of(model, row.category));
      }
    std::vector<std::pair<double, Category>> order;
    for (const auto& [category, share] : largest)
      if (share >= kLeastMix) order.push_back({-share, category});
    std::ranges::sort(order);
    if (order.size() > kMostMix) order.resize(kMostMix);
    for (const auto& [share, category] : order)
      add_share(std::string(name(category)),
                [c = category](const ComparedModel& m) { return share_of(m, c); });
    if (order.empty()) return;
    add_share("other", [&](const ComparedModel& m) {
      double rest = 1;
      for (const auto& [share, category] : order) rest -= share_of(m, category);
      return std::max(0.0, rest < 1e-12 ? 0.0 : rest);
    });
  }

 private:
  static std::optional<Amount> known_if(bool known, const Amount& amount) {
    return known ? std::optional(amount) : std::nullopt;
  }
  static std::optional<Amount> share(Count part, Count whole) {
    if (!whole) return std::nullopt;
    return Amount{{}, static_cast<double>(part) / static_cast<double>(whole)};
  }
  static double share_of(const ComparedModel& model, Category category) {
    Count flops;
    for (const TypeRow& row : model.figures.types)
      if (row.category == category) flops += row.metrics.flops;
    const auto found = share(flops, model.figures.totals.flops);
    return found ? found->real : 0;
  }

  // Times are by device, and below.
  static bool is_listed(const Metric& metric) {
    return !metric.is_detail &&
           is_given(metric, kModelNeeds & ~(kNeedsMeasurement | kNeedsDevice | kNeedsPrediction));
  }
  void add_with_parts(const Metric& metric) {
    add(metric);
    if (metric.key != "memory_bytes") return;
    add("fused_bytes", "as subgraphs", Unit::kBytes, Better::kLess, true, [](const ComparedModel& m) {
      return known_if(m.figures.has("fused_bytes"), counted(m.figures.fused_bytes));
    });
  }
  void add(const Metric& metric) {
    add(
        std::string(metric.key), heading(metric), metric.unit, metric.better, false,
        [&metric](const ComparedModel& m) { return amount_in(m.figures, metric); }, doubt_of(metric));
  }
  static Doubt doubt_of(const Metric& metric) {
    if (metric.basis == Basis::kModules) return exact;
    return metric.unit == Unit::kRatio ? as_quotient : as_totals;
  }

  void add(std::string key, std::string title, Unit unit, Better better, bool is_part,
           const MetricOf& value_of, const Doubt& doubt = as_totals) {
    ComparedRow row{std::move(key), std::move(title), unit, better, is_part, {}};
    for (const ComparedModel& model : comparison_.models) {
      const auto amount = value_of(model);
      row.values.push_back(
          amount ? ComparedValue{.is_known = true, .confidence = doubt(model), .amount = *amount}
                 : ComparedValue{});
    }
    if (unit == Unit::kWhole || unit == Unit::kShare)
      for (ComparedValue& value : row.values) value.confidence = Confidence::kExact;
    if (unit != Unit::kShare && unit != Unit::kTimes) add_ratios(row.values);
    mark_best(row);
    comparison_.rows.push_back(std::move(row));
  }

  void add_bounds() {
    const auto memory_bound = [](Count Band::*part) {
      return [part](const ComparedModel& m) {
        const Count memory = m.figures.bottlenecks.memory_bound.*part;
        return share(memory, memory + m.figures.bottlenecks.compute_bound.*part);
      };
    };
    add("memory_bound_flops_share", "Memory-bound FLOPs", Unit::kShare, Better::kNeither, false,
        memory_bound(&Band::flops));
    add("memory_bound_bytes_share", "Memory-bound bytes", Unit::kShare, Better::kNeither, false,
        memory_bound(&Band::memory_bytes));
  }

  void add_times() {
    const auto ids = device_ids();
    if (ids.empty()) add_ridge_time();
    for (const std::string& id : ids) add_device(id, ids.size() > 1);
    const bool measured = std::ranges::any_of(comparison_.models,
                                              [](const ComparedModel& m) { return m.figures.is_measured(); });
    if (measured) add(metric_at("time_seconds"));
    if (measured) comparison_.rows.back().title = "Time, measured";
  }

  std::vector<std::string> device_ids() const {
    std::vector<std::string> ids;
    for (const ComparedModel& model : comparison_.models)
      for (const DeviceTime& time : model.times)
        if (std::ranges::find(ids, time.id) == ids.end()) ids.push_back(time.id);
    return ids;
  }

  void add_ridge_time() {
    const auto first = ridge_time(comparison_.models.front().figures);
    add("memory_bound_time_share", "Memory-bound time", Unit::kShare, Better::kNeither, false,
        [](const ComparedModel& m) -> std::optional<Amount> {
          const auto time = ridge_time(m.figures);
          if (!time || !(time->total() > 0)) return std::nullopt;
          return Amount{{}, time->memory / time->total()};
        });
    add("relative_time", fmt::format("Time at ridge {:.4g}", comparison_.ridge), Unit::kTimes, Better::kLess,
        false, [&](const ComparedModel& m) -> std::optional<Amount> {
          const auto time = ridge_time(m.figures);
          const bool same =
              m.figures.bottlenecks.ridge == comparison_.models.front().figures.bottlenecks.ridge;
          if (!time || !first || !same || !(first->total() > 0)) return std::nullopt;
          return Amount{{}, time->total() / first->total()};
        });
  }

  // With several devices each row says which.
  void add_device(const std::string& id, bool several) {
    const auto on = [id](const ComparedModel& m) -> const DeviceTime* {
      const auto found = std::ranges::find(m.times, id, &DeviceTime::id);
      return found == m.times.end() ? nullptr : &*found;
    };
    const auto doubt = [on](const ComparedModel& m) {
      return on(m) && on(m)->unknown_ops > 0 ? Confidence::kUnknown : Confidence::kExact;
    };
    const auto time_of = [on](Count DeviceTime::*time) {
      return [on, time](const ComparedModel& m) {
        return on(m) ? std::optional(timed(on(m)->*time)) : std::nullopt;
      };
    };
    const std::string key = several ? id + "." : "";
    add(
        key + "predicted_seconds", "Predicted, " + id, Unit::kSeconds, Better::kLess, false,
        [on](const ComparedModel& m) -> std::optional<Amount> {
          if (!on(m) || !on(m)->predicted_time) return std::nullopt;
          return timed(*on(m)->predicted_time);
        },
        [on](const ComparedModel& m) {
          return on(m) && on(m)->predicted_unknown > 0 ? Confidence::kUnknown : Confidence::kExact;
        });
    add(key + "roofline_seconds", "Roofline, " + id, Unit::kSeconds, Better::kLess, false,
        time_of(&DeviceTime::roofline_time), doubt);
    add(key + "memory_bound_time_share", "memory-bound", Unit::kShare, Better::kNeither, true,
        [on](const ComparedModel& m) {
          if (!on(m)) return std::optional<Amount>();
          return share(on(m)->roofline_time - on(m)->compute_bound_time, on(m)->roofline_time);
        });
    add(key + "fused_roofline_seconds", "as subgraphs", Unit::kSeconds, Better::kLess, true,
        time_of(&DeviceTime::fused_time), doubt);
  }

  template <class Share>
  void add_share(const std::string& title, const Share& share_in) {
    ComparedRow row{title, title, Unit::kShare, Better::kNeither, false, {}};
    for (const ComparedModel& model : comparison_.models) {
      ComparedValue value;
      value.is_known = model.figures.has("types") && model.figures.totals.flops;
      if (value.is_known) value.amount = {{}, share_in(model)};
      row.values.push_back(value);
    }
    comparison_.mix.push_back(std::move(row));
  }

  ModelComparison& comparison_;
};

bool is_beaten(const std::vector<ParetoPoint>& points, const ParetoPoint& point) {
  return std::ranges::any_of(points, [&](const ParetoPoint& other) {
    return other.x <= point.x && other.y <= point.y && (other.x < point.x || other.y < point.y);
  });
}

// A row of one model.
struct PartOf {
  std::string name;
  std::uint32_t depth = 0;
  Amount amount{};
  Confidence confidence = Confidence::kExact;
};

std::vector<PartOf> parts_of(const Figures& figures, CompareBy by, const Metric& metric,
                             std::uint32_t depth) {
  std::vector<PartOf> parts;
  const auto add = [&](const std::string& name, std::uint32_t at, const Metrics& sums,
                       const Parameters* owned) {
    if (const auto amount = amount_in(figures, sums, owned, metric))
      parts.push_back({name, at, *amount, sums.confidence});
  };
  if (by == CompareBy::kType) {
    for (const TypeRow& row : figures.types) add(row.type, 0, row.metrics, nullptr);
    return parts;
  }
  for (const FigureRow& row : figures.modules)
    if (row.depth > 0 && row.depth <= depth) add(row.name, row.depth, row.metrics, &row.parameters);
  if (metric.need == kNeedsParameters || !adds_up(metric.unit) || figures.modules.empty()) return parts;
  // What the root ran itself, outside all modules: the rest of a sum.
  Count below;
  for (const PartOf& part : parts)
    if (part.depth == 1) below += part.amount.count;
  const auto whole = amount_in(figures, metric);
  if (const Count own = whole ? whole->count - below : Count{})
    parts.push_back({"", 1, amount_in(metric.unit, own), Confidence::kExact});
  return parts;
}

}  // namespace

std::optional<DeviceTime> device_time(const Figures& figures) {
  if (!figures.has_device()) return std::nullopt;
  return DeviceTime{
      figures.device_id,
      figures.device,
      figures.totals.roofline_time,
      figures.totals.compute_bound_time,
      figures.fused_roofline_time,
      figures.totals.roofline_unknown,
      figures.has("predicted_seconds") ? std::optional(figures.totals.predicted_time) : std::nullopt,
      figures.totals.predicted_unknown};
}

std::optional<RidgeTime> ridge_time(const Figures& figures) {
  const BottleneckSummary& at = figures.bottlenecks;
  if (!figures.has("bottlenecks") || !(at.ridge > 0)) return std::nullopt;
  return RidgeTime{static_cast<double>(at.compute_bound.flops) / at.ridge,
                   static_cast<double>(at.memory_bound.memory_bytes)};
}

const ComparedRow* ModelComparison::row(std::string_view key) const {
  const auto found = std::ranges::find(rows, key, &ComparedRow::key);
  return found == rows.end() ? nullptr : &*found;
}

ModelComparison compare_models(std::vector<ComparedModel> models) {
  if (models.empty()) throw Error("nothing to compare", "", "name two models or more");
  ModelComparison comparison;
  comparison.models = std::move(models);
  comparison.ridge = comparison.models.front().figures.bottlenecks.ridge;
  Rows rows(comparison);
  rows.add_all();
  rows.add_mix();
  add_words(comparison);
  return comparison;
}

std::vector<ParetoPoint> pareto_points(const ModelComparison& comparison, const Metric& x, const Metric& y) {
  std::vector<ParetoPoint> points;
  for (std::size_t i = 0; i < comparison.models.size(); ++i) {
    const Figures& figures = comparison.models[i].figures;
    const auto across = amount_in(figures, x), up = amount_in(figures, y);
    if (across && up) points.push_back({i, across->real, up->real});
  }
  for (ParetoPoint& point : points) point.is_front = !is_beaten(points, point);
  std::ranges::stable_sort(points, {}, [](const ParetoPoint& p) { return std::pair(p.x, p.y); });
  return points;
}

CompareBy compare_by_from_name(std::string_view text, const std::string& where) {
  if (text == "type" || text == "types") return CompareBy::kType;
  if (text == "module" || text == "modules") return CompareBy::kModule;
  throw Error("no way to compare called '" + std::string(text) + "'", where, "choose type or module");
}

ComparedParts compare_parts(const ModelComparison& comparison, CompareBy by, const Metric& metric,
                            std::uint32_t depth) {
  if (!is_given(metric, by == CompareBy::kType ? kTypeNeeds : kLayerNeeds)) {
    const Missing missing = why_missing(metric);
    throw Error(std::string(missing.reason), "--metric",
                metric.need == kNeedsParameters ? "--by module has them" : std::string(missing.hint));
  }
  ComparedParts parts{by, &metric, {}, {}, 0};
  std::vector<ComparedPart>& rows = parts.rows;
  bool any_known = false;
  for (std::size_t i = 0; i < comparison.models.size(); ++i) {
    const Figures& figures = comparison.models[i].figures;
    const auto total = amount_in(figures, metric);
    any_known = any_known || total;
    parts.totals.push_back(total.value_or(Amount{}));
    // Rows that are new go behind the row before them, so that the order of each model is kept.
    std::ptrdiff_t after = 0;
    for (const PartOf& part : parts_of(figures, by, metric, depth)) {
      auto found = std::ranges::find(rows, part.name, &ComparedPart::name);
      if (found == rows.end())
        found = rows.insert(rows.begin() + after,
                            {part.name, part.depth, std::vector<ComparedValue>(comparison.models.size())});
      after = found - rows.begin() + 1;
      found->values[i] = {.is_known = true, .confidence = part.confidence, .amount = part.amount};
    }
  }
  if (!any_known)
    throw Error("none of these models has a " + std::string(metric.key), "--metric",
                std::string(why_missing(metric).hint));
  std::erase_if(rows, [](const ComparedPart& row) {
    return std::ranges::none_of(row.values, [](const ComparedValue& v) { return v.amount.real > 0; });
  });
  // Types with the largest share of any model's total first.
  if (by == CompareBy::kType)
    std::ranges::stable_sort(rows, std::greater(), [&](const ComparedPart& row) {
      double share = 0;
      for (std::size_t i = 0; i < row.values.size(); ++i)
        if (parts.totals[i].real > 0)
          share = std::max(share, row.values[i].amount.real / parts.totals[i].real);
      return share;
    });
  for (ComparedPart& row : rows) {
    add_ratios(row.values);
    parts.in_all += std::ranges::all_of(row.values, &ComparedValue::is_known);
  }
  return parts;
}

}  // namespace opscope
