// What the rows mean, in sentences made of their numbers; and what to know before believing them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "analyse/compare/comparison.h"
#include "base/choices.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::string_view kPredicted = "Predicted, ",
                           kRoofline = "Roofline, ";  // before the device, in titles
constexpr std::size_t kMostPairs = 4;                 // sentences about one model each
constexpr std::size_t kMostNamed = 5;                 // models in one sentence
constexpr double kSame = 0.03;                        // ratios this near to 1 are called the same
constexpr double kOtherwise = 1.25;  // a time that differs from the FLOPs' ratio by this is worth a "but"

// "a, b and c"
std::string joined(const std::vector<std::string>& words) { return one_of(words, " and "); }

// "8.9%", "54%", "2.2 times", "34 times"
std::string share_text(double ratio) {
  if (ratio < 1)
    return ratio < 0.0995 ? fmt::format("{:.2g}%", 100 * ratio) : fmt::format("{:.0f}%", 100 * ratio);
  return ratio < 9.95 ? fmt::format("{:.1f} times", ratio) : fmt::format("{:.0f} times", ratio);
}
bool is_same(double ratio) { return std::abs(ratio - 1) < kSame; }

// "does 8.9% of resnet50's FLOPs", "does 2.2 times resnet50's FLOPs", "does as many FLOPs as resnet50"
std::string flops_phrase(double ratio, const std::string& first) {
  if (is_same(ratio)) return "does as many FLOPs as " + first;
  return "does " + share_text(ratio) + (ratio < 1 ? " of " : " ") + first + "'s FLOPs";
}
std::string time_phrase(double ratio) {
  if (is_same(ratio)) return "takes as long";
  return "takes " + share_text(ratio) + (ratio < 1 ? " of its time" : " its time");
}

// The times that all models are compared by: at a roof, or measured.
struct RoofRows {
  const ComparedRow* time = nullptr;
  const ComparedRow* memory_share = nullptr;
  std::string where;
};

// What was measured, where all models were; of it nobody knows which part waited for memory.
RoofRows roof_rows(const ModelComparison& comparison) {
  const ComparedRow* measured = comparison.row("time_seconds");
  if (measured && std::ranges::all_of(measured->values, [](const auto& value) { return value.is_known; }))
    return {measured, nullptr, "as measured"};
  if (const ComparedRow* row = comparison.row("relative_time"))
    return {row, comparison.row("memory_bound_time_share"),
            fmt::format("at a ridge of {:.4g} FLOPs per byte", comparison.ridge)};
  for (const ComparedRow& row : comparison.rows)
    if (row.key.ends_with("predicted_seconds") &&
        std::ranges::all_of(row.values, [](const auto& value) { return value.is_known; }))
      return {&row, nullptr, "predicted on " + row.title.substr(kPredicted.size())};
  for (const ComparedRow& row : comparison.rows) {
    constexpr std::string_view kEnd = "roofline_seconds";
    if (!row.key.ends_with(kEnd) || row.is_part) continue;
    const std::string prefix = row.key.substr(0, row.key.size() - kEnd.size());
    return {&row, comparison.row(prefix + "memory_bound_time_share"),
            "at " + row.title.substr(kRoofline.size()) + "'s roofline"};
  }
  return {};
}

// nullopt where one of the two is a bound alone.
std::optional<double> sure_ratio(const ComparedRow& row, std::size_t model) {
  const ComparedValue& value = row.values[model];
  const bool sure = value.is_known && value.confidence <= Confidence::kEstimated &&
                    row.values[0].confidence <= Confidence::kEstimated;
  if (row.unit == Unit::kTimes) return sure ? std::optional(value.amount.real) : std::nullopt;
  return sure ? value.ratio : std::nullopt;
}

// "92% of that is memory-bound (resnet50: 31%)"
std::string bound_phrase(const RoofRows& roof, std::size_t model, const std::string& first) {
  const double share = roof.memory_share->values[model].amount.real;
  const double of_first = roof.memory_share->values[0].amount.real;
  const bool memory = share >= 0.5;
  const auto percent = [&](double part) { return format_percent(memory ? part : 1 - part, 1.0); };
  return fmt::format("{} of that is {}-bound ({}: {})", percent(share), memory ? "memory" : "compute", first,
                     percent(of_first));
}

struct Pair {
  std::size_t model;
  double surprise;  // how far the time is from what the FLOPs promise
  std::string text;
};

std::optional<Pair> pair_finding(const ModelComparison& comparison, const RoofRows& roof, std::size_t model) {
  const std::string& first = comparison.models.front().label;
  const auto& figures = comparison.models[model].figures;
  if (figures.convention != comparison.models.front().figures.convention) return std::nullopt;
  const auto flops = sure_ratio(*comparison.row("flops"), model);
  const auto time = sure_ratio(*roof.time, model);
  if (!flops || !time || !(*flops > 0) || !(*time > 0)) return std::nullopt;
  const double otherwise = *time / *flops;
  const bool but = otherwise > kOtherwise || otherwise < 1 / kOtherwise;
  std::string text =
      fmt::format("{} {}, {} {} {}", comparison.models[model].label, flops_phrase(*flops, first),
                  but ? "but" : "and", time_phrase(*time), roof.where);
  if (roof.memory_share && roof.memory_share->values[model].is_known)
    text += ": " + bound_phrase(roof, model, first);
  return Pair{model, std::abs(std::log(otherwise)), std::move(text)};
}

// One sentence a model; of many the most surprising, in their order.
void add_pairs(ModelComparison& comparison) {
  const RoofRows roof = roof_rows(comparison);
  if (!roof.time) return;
  std::vector<Pair> pairs;
  for (std::size_t i = 1; i < comparison.models.size(); ++i)
    if (auto pair = pair_finding(comparison, roof, i)) pairs.push_back(*std::move(pair));
  if (pairs.size() > kMostPairs) {
    std::ranges::stable_sort(pairs, std::greater(), &Pair::surprise);
    pairs.resize(kMostPairs - 1);
    std::ranges::sort(pairs, {}, &Pair::model);
  }
  for (Pair& pair : pairs) comparison.findings.push_back(std::move(pair.text));
}

std::string lower_title(const ComparedRow& row) {
  if (row.key == "macs" || row.key == "flops") return row.title;
  if (row.key.ends_with("predicted_seconds"))
    return "predicted time on " + row.title.substr(kPredicted.size());
  if (row.key.ends_with("roofline_seconds")) return "roofline time on " + row.title.substr(kRoofline.size());
  return row.key == "fused_bytes" ? "bytes moved as subgraphs"
                                  : lower_case(row.title.substr(0, 1)) + row.title.substr(1);
}

// What costs: less of it is better, and it is no part of another row.
std::vector<const ComparedRow*> cost_rows(const ModelComparison& comparison) {
  std::vector<const ComparedRow*> rows;
  for (const ComparedRow& row : comparison.rows)
    if (row.better == Better::kLess && !row.is_part && row.key != "macs") rows.push_back(&row);
  return rows;
}

// "least in FLOPs and parameters: efficientnet_b0"
void add_best(ModelComparison& comparison) {
  const auto rows = cost_rows(comparison);
  std::vector<std::string> clauses;
  for (std::size_t i = 0; i < comparison.models.size(); ++i) {
    std::vector<std::string> titles;
    for (const ComparedRow* row : rows)
      if (row->values[i].is_best) titles.push_back(lower_title(*row));
    if (titles.empty()) continue;
    const bool all = titles.size() == rows.size() && rows.size() > 1;
    clauses.push_back(comparison.models[i].label + (clauses.empty() ? " has the least " : " the least ") +
                      (all ? "of everything: " : "") + joined(titles));
  }
  if (!clauses.empty()) comparison.findings.push_back(fmt::format("{}", fmt::join(clauses, "; ")));
}

// No less in any row and more in one.
bool costs_more(const std::vector<const ComparedRow*>& rows, std::size_t model, std::size_t than) {
  bool more = false;
  for (const ComparedRow* row : rows) {
    const ComparedValue &a = row->values[model], &b = row->values[than];
    const bool may_be_more = b.confidence == Confidence::kUnknown;
    if (!a.is_known || !b.is_known || may_be_more || a.amount.real < b.amount.real) return false;
    more = more || a.amount.real > b.amount.real;
  }
  return more;
}

// "a, b, 3 more"
std::vector<std::string> shortened(std::vector<std::string> labels, std::size_t most) {
  const std::size_t more = labels.size() - most + 1;
  if (labels.size() > most) labels.resize(most - 1), labels.push_back(fmt::format("{} more", more));
  return labels;
}

// By model: the first that costs less in every row, if there is one.
std::vector<std::optional<std::size_t>> cheaper_ones(const ModelComparison& comparison) {
  const auto rows = cost_rows(comparison);
  std::vector<std::optional<std::size_t>> cheaper(comparison.models.size());
  for (std::size_t i = 0; i < cheaper.size(); ++i)
    for (std::size_t than = 0; than < cheaper.size() && !cheaper[i]; ++than)
      if (costs_more(rows, i, than)) cheaper[i] = than;
  return cheaper;
}

// Of many, those that are left.
void add_undominated(ModelComparison& comparison, const std::vector<std::optional<std::size_t>>& cheaper) {
  std::vector<std::string> left;
  for (std::size_t i = 0; i < cheaper.size(); ++i)
    if (!cheaper[i]) left.push_back(comparison.models[i].label);
  if (left.size() < 2 || left.size() == cheaper.size()) return;
  comparison.findings.push_back(
      fmt::format("{} of {} are beaten by another model in all of these; on the Pareto front: {}",
                  cheaper.size() - left.size(), cheaper.size(), joined(shortened(left, kMostNamed))));
}

// What is beaten in every row, by a model that is not the best in all of them: that was said.
void add_dearer(ModelComparison& comparison) {
  const auto cheaper = cheaper_ones(comparison);
  if (comparison.models.size() > kMostNamed) return add_undominated(comparison, cheaper);
  const auto rows = cost_rows(comparison);
  std::map<std::size_t, std::vector<std::string>> dearer;  // by the model that they cost more than
  for (std::size_t i = 0; i < cheaper.size(); ++i)
    if (cheaper[i] && !std::ranges::all_of(rows, [&](auto* row) { return row->values[*cheaper[i]].is_best; }))
      dearer[*cheaper[i]].push_back(comparison.models[i].label);
  for (const auto& [than, labels] : dearer)
    comparison.findings.push_back(joined(labels) + (labels.size() > 1 ? " cost" : " costs") + " more than " +
                                  comparison.models[than].label + " in all of these");
}

// Shapes and types alone: what inputs are called differs from library to library.
std::string bare_inputs(const Figures& figures) {
  std::string text;
  std::string_view left = figures.inputs;
  while (!left.empty()) {
    const auto end = std::min(left.find(", "), left.size());
    const std::string_view input = left.substr(0, end);
    const auto colon = input.find(": ");
    text.append(text.empty() ? "" : ", ")
        .append(colon == std::string_view::npos ? input : input.substr(colon + 2));
    left.remove_prefix(std::min(end + 2, left.size()));
  }
  return text;
}

// "not the same inputs: 1x3x224x224 float32 (resnet50, vit_b_16), 1x128 int64 (gpt2)"; "" where they are.
template <class Said>
std::string differing(const ModelComparison& comparison, const std::string& what, const Said& said) {
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  for (const ComparedModel& model : comparison.models) {
    std::string text = said(model.figures);
    const auto found =
        std::ranges::find(groups, text, &std::pair<std::string, std::vector<std::string>>::first);
    if (found == groups.end())
      groups.emplace_back(std::move(text), std::vector{model.label});
    else
      found->second.push_back(model.label);
  }
  if (groups.size() < 2) return "";
  std::string text = what + ": ";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (i == 4) return text + fmt::format("; {} more", groups.size() - i);
    text += fmt::format("{}{} ({})", i ? "; " : "", groups[i].first.empty() ? "none" : groups[i].first,
                        joined(shortened(groups[i].second, 3)));
  }
  return text;
}

std::string unknown_note(const ComparedModel& model) {
  const Coverage& coverage = model.figures.coverage;
  if (coverage.unknown == 0) return "";
  std::vector<std::string> ops;
  for (std::size_t i = 0; i < std::min<std::size_t>(coverage.unknown_ops.size(), 3); ++i)
    ops.push_back(coverage.unknown_ops[i].op);
  return fmt::format("{}: {} of {} ops are unknown ({}), so its totals are lower bounds, marked \u2265",
                     model.label, coverage.unknown, coverage.ops, joined(ops));
}

std::string bound_note(const ComparedModel& model) {
  const Coverage& coverage = model.figures.coverage;
  if (coverage.upper_bound == 0 || coverage.unknown > 0) return "";
  return model.label +
         ": data-dependent sizes are taken at their upper bound, so its totals are upper bounds, marked "
         "\u2264";
}

std::string missing_note(const ComparedModel& model, const std::vector<std::string>& device_ids) {
  std::vector<std::string> missing(model.figures.missing);
  std::erase(missing, "param_bytes"), std::erase(missing, "buffer_bytes"), std::erase(missing, "is_training");
  if (!missing.empty()) return model.label + ": an older profile without " + joined(missing);
  for (const std::string& id : device_ids)
    if (model.figures.is_saved && std::ranges::find(model.times, id, &DeviceTime::id) == model.times.end())
      return fmt::format(
          "{}: a saved profile, made without --hardware {}, at a ridge of {:.4g}: save it again with "
          "it to see its roofline",
          model.label, id, model.figures.bottlenecks.ridge);
  return "";
}

}  // namespace

void add_words(ModelComparison& comparison) {
  if (comparison.models.size() > 1) {
    add_best(comparison);
    add_dearer(comparison);
    add_pairs(comparison);
  }
  const auto add = [&](std::string note) {
    if (!note.empty()) comparison.notes.push_back(std::move(note));
  };
  std::vector<std::string> ids;
  for (const ComparedModel& model : comparison.models)
    for (const DeviceTime& time : model.times) ids.push_back(time.id);
  add(differing(comparison, "not the same inputs", bare_inputs));
  add(differing(comparison, "FLOPs are counted by different conventions, so their ratios mean little",
                [](const Figures& f) { return "as " + f.convention + " does"; }));
  add(differing(comparison, "not the same work",
                [](const Figures& f) { return f.is_training ? "a training step" : "a forward pass"; }));
  if (ids.empty())
    add(differing(comparison, "not at the same ridge",
                  [](const Figures& f) { return fmt::format("{:.4g}", f.bottlenecks.ridge); }));
  const bool measured =
      std::ranges::any_of(comparison.models, [](const auto& m) { return m.figures.is_measured(); });
  if (measured)
    add(differing(comparison, "not measured alike", [](const Figures& f) {
      return f.is_measured() ? "on " + f.measured_on : std::string("not measured");
    }));
  for (const ComparedModel& model : comparison.models) add(unknown_note(model)), add(bound_note(model));
  for (const ComparedModel& model : comparison.models) add(missing_note(model, ids));
}

}  // namespace opscope
