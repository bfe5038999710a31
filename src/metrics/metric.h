// The table of metrics: all that any command can show, sort by, plot, sweep, hold to a budget or complete. A
// metric is one row of metric.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/costs.h"
#include "metrics/unit.h"

namespace opscope {

// What a row must have for the metric to be known of it.
enum Need : unsigned {
  kNeedsNothing = 0,
  kNeedsParameters = 1,
  kNeedsMeasurement = 2,
  kNeedsDevice = 4,
  kNeedsPeak = 8,        // the peak memory: of a whole model
  kNeedsPeakParts = 16,  // what it is made of
  kNeedsBounds = 32,     // which ops are compute-bound: of a whole model
  kNeedsProducts = 64,   // FLOPs with weights and between activations: of a whole model
  kNeedsFusion = 128,    // a subgraph
};
using Needs = unsigned;
// What the rows of a command have, so which metrics it offers.
inline constexpr Needs kLayerNeeds = kNeedsParameters | kNeedsMeasurement | kNeedsDevice;
inline constexpr Needs kTypeNeeds = kNeedsMeasurement | kNeedsDevice;
inline constexpr Needs kSubgraphNeeds = kNeedsDevice | kNeedsFusion;
inline constexpr Needs kSweepNeeds =
    kNeedsParameters | kNeedsDevice | kNeedsPeak | kNeedsPeakParts | kNeedsBounds | kNeedsProducts;
inline constexpr Needs kModelNeeds = kLayerNeeds | kNeedsPeak | kNeedsBounds;
inline constexpr Needs kAllNeeds = ~0u;

enum class Better : std::uint8_t { kLess, kMore, kNeither };
// What a metric is counted from, so what makes it uncertain: ops of unknown work still have their bytes.
enum class Basis : std::uint8_t { kModules, kBytes, kWork };

struct Metric {
  std::string_view key;        // "memory_bytes": in JSON, CSV, budgets and, with dashes, on the command line
  std::string_view title;      // of a column: "AI"
  std::string_view words;      // in a sentence: "FLOPs per byte"
  std::string_view aliases{};  // "memory,mem"; the first is named in help
  Unit unit = Unit::kCount;
  Amount (*of)(const Costs& costs) = nullptr;  // called where what it needs is there
  Need need = kNeedsNothing;
  Better better = Better::kLess;
  Basis basis = Basis::kWork;
  bool is_detail = false;  // a part of another metric: shown where it is asked for
};

std::span<const Metric> metrics();
// By its key, which the program itself knows.
const Metric& metric_at(std::string_view key);
// As a person writes it: "peak-memory-bytes", "Peak", "mem". nullptr: there is none.
const Metric* find_metric(std::string_view text);
// Throws Error with the nearest, or the choices, where there is none or `given` is not what it needs.
const Metric& metric_named(std::string_view text, const std::string& where, Needs given = kAllNeeds);
// The same of "flops,peak-memory-bytes", each once.
std::vector<const Metric*> metrics_named(std::string_view text, const std::string& where, Needs given);

inline bool is_given(const Metric& metric, Needs given) { return (metric.need & ~given) == 0; }
std::vector<const Metric*> metrics_given(Needs given);
std::string flag_name(const Metric& metric);      // "memory-bytes"
std::string metric_choices(Needs given);          // "params, macs, memory-bytes (mem); also ..." for help
std::string metric_words(Needs given, char gap);  // "params trainable-params ..." for completion
std::string heading(const Metric& metric);        // "Bytes moved", of a total

// nullopt where it is not known of them.
std::optional<Amount> amount_of(const Metric& metric, const Costs& costs);
// For sorting: 0 where it is not known.
double value_of(const Metric& metric, const Costs& costs);
// Why it is not known, and what to do about it.
struct Missing {
  std::string_view reason, hint;
};
Missing why_missing(const Metric& metric);
// Throws Error where it is not known of them.
void require_known(const Metric& metric, const Costs& costs, const std::string& where);

std::string text(const Metric& metric, const Amount& amount, Zero zero = Zero::kDigit);
// Every digit, for files.
std::string number_text(const Metric& metric, const Amount& amount);
Amount parse_amount(const Metric& metric, std::string_view text, const std::string& where);

}  // namespace opscope
