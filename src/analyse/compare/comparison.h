// Models side by side: one row a quantity with the best marked and the ratio to the first, the rows of op
// types or modules that they have in common, what the difference means in words, and which of them no other
// beats.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/profile/figures.h"

namespace opscope {

// What a model could do on a device at best. Picoseconds.
struct DeviceTime {
  std::string id, name;
  Count roofline_time{}, compute_bound_time{};
  Count fused_time{};  // with each subgraph as one kernel
  std::uint64_t unknown_ops = 0;
  std::optional<Count> predicted_time{};  // nullopt: an older profile, which does not say
  std::uint64_t predicted_unknown = 0;
};
// nullopt for figures without a device.
std::optional<DeviceTime> device_time(const Figures& figures);

struct ComparedModel {
  std::string label;
  Figures figures;
  std::vector<DeviceTime> times{};  // one for each device that it is known on
};

struct ComparedValue {
  bool is_known = false, is_best = false;
  Confidence confidence = Confidence::kExact;  // kUnknown: at least this much; kUpperBound: at most
  Amount amount{};
  std::optional<double> ratio{};  // to the first model's; none where one of them is not known well enough
};

struct ComparedRow {
  std::string key;    // "memory_bytes", "h100-sxm.roofline_seconds"
  std::string title;  // "Bytes moved"
  Unit unit = Unit::kCount;
  Better better = Better::kLess;
  bool is_part = false;                 // of the row above it
  std::vector<ComparedValue> values{};  // by model
};

struct ModelComparison {
  std::vector<ComparedModel> models;
  double ridge = 10;  // of the first
  std::vector<ComparedRow> rows;
  std::vector<ComparedRow> mix;       // share of FLOPs by category, those of weight
  std::vector<std::string> findings;  // a sentence each
  std::vector<std::string> notes;     // what makes the comparison less than fair

  const ComparedRow* row(std::string_view key) const;  // nullptr: there is none
};

ModelComparison compare_models(std::vector<ComparedModel> models);

// Of the time at the roof of a device with the profile's ridge, without a device: as bytes that could be
// moved meanwhile. nullopt where the profile does not say what is bound by what.
struct RidgeTime {
  double compute = 0, memory = 0;
  double total() const { return compute + memory; }
};
std::optional<RidgeTime> ridge_time(const Figures& figures);

// A quantity of every model by op type or by module.
enum class CompareBy : std::uint8_t { kType, kModule };
CompareBy compare_by_from_name(std::string_view text,
                               const std::string& where);  // throws Error with the choices
struct ComparedPart {
  std::string name;         // "conv2d"; "layer1.0"; "" for what the root module runs itself
  std::uint32_t depth = 0;  // of a module
  std::vector<ComparedValue> values{};
};
struct ComparedParts {
  CompareBy by = CompareBy::kType;
  const Metric* metric = nullptr;
  std::vector<ComparedPart> rows;  // types by their largest share in any model; modules in tree order
  std::vector<Amount> totals;      // by model
  std::size_t in_all = 0;          // rows that every model has
};
// Throws Error for a metric that such parts do not have, or that no model knows. `depth`: of modules.
ComparedParts compare_parts(const ModelComparison& comparison, CompareBy by, const Metric& metric,
                            std::uint32_t depth = 1);

// Models of which no other has as little of both and less of one, by x. Those without either are left out.
struct ParetoPoint {
  std::size_t model = 0;
  double x = 0, y = 0;
  bool is_front = false;
};
std::vector<ParetoPoint> pareto_points(const ModelComparison& comparison, const Metric& x, const Metric& y);

// For comparison.cc: findings and notes.
void add_words(ModelComparison& comparison);

}  // namespace opscope
