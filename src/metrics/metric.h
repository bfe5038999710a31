// What a model, or a part of one, costs, and the table of metrics that are read from it: all that any command
// can show, sort by, plot, sweep, hold to a budget or complete. A metric is one row of metric.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cost/cost.h"
#include "cost/liveness.h"
#include "metrics/unit.h"

namespace opscope {

// Sums over ops.
struct Metrics {
  Work work;
  Traffic traffic;
  Count flops;
  std::uint64_t ops = 0;
  Confidence confidence = Confidence::kExact;  // the worst of its ops
  Count time{}, roofline_time{};               // picoseconds: see OpCost
  Count predicted_time{}, predicted_wait{}, predicted_variance{};
  // Of modules alone, on the host's clock: what is between their ops, and with these all that passes in them.
  Count outside_time{}, wall_time{};
  Count compute_bound_time{};           // of the roofline's: of ops that arithmetic limits
  std::uint64_t roofline_unknown = 0;   // ops whose roofline time is not known, and not in it
  std::uint64_t predicted_unknown = 0;  // the same of the predicted time

  Count memory_bytes() const { return traffic.total(); }
  double arithmetic_intensity() const { return ratio(flops, memory_bytes()); }  // 0 where no byte moves
  double time_seconds() const { return static_cast<double>(time.value()) * kPicosecond; }
  double outside_seconds() const { return static_cast<double>(outside_time.value()) * kPicosecond; }
  double wall_seconds() const { return static_cast<double>(wall_time.value()) * kPicosecond; }
  double predicted_seconds() const { return static_cast<double>(predicted_time.value()) * kPicosecond; }
  double predicted_spread() const {  // standard deviation, seconds
    return std::sqrt(static_cast<double>(predicted_variance.value())) * kNanosecond;
  }
  double roofline_seconds() const { return static_cast<double>(roofline_time.value()) * kPicosecond; }
  bool counts() const { return flops || memory_bytes(); }  // does work or moves bytes
  // Calls visit(Count&) for every sum.
  template <class Visit>
  void each_count(Visit visit) {
    for (Count* count :
         {&work.macs, &work.other_flops, &work.specials, &traffic.input_bytes, &traffic.output_bytes,
          &traffic.weight_bytes, &flops, &time, &roofline_time, &compute_bound_time, &predicted_time,
          &predicted_wait, &predicted_variance, &outside_time, &wall_time})
      visit(*count);
  }
  // Inline: run several times for each op of every graph. Saturating, so the order of ops is free.
  Metrics& operator+=(const Metrics& other) {
    work += other.work, traffic += other.traffic, flops += other.flops, ops += other.ops;
    time += other.time, roofline_time += other.roofline_time;
    predicted_time += other.predicted_time, predicted_wait += other.predicted_wait;
    predicted_variance += other.predicted_variance;
    predicted_unknown += other.predicted_unknown;
    outside_time += other.outside_time, wall_time += other.wall_time;
    compute_bound_time += other.compute_bound_time, roofline_unknown += other.roofline_unknown;
    confidence = std::max(confidence, other.confidence);
    return *this;
  }
  Metrics& operator+=(const OpCost& cost) {
    work += cost.work, traffic += cost.traffic, flops += cost.flops, ++ops;
    time += cost.time, roofline_time += cost.roofline_time;
    predicted_time += cost.predicted_time, predicted_wait += cost.predicted_wait;
    predicted_variance += cost.predicted_variance;
    predicted_unknown += !cost.predicted_known;
    if (cost.compute_bound) compute_bound_time += cost.roofline_time;
    roofline_unknown += !cost.roofline_known;
    confidence = std::max(confidence, cost.confidence);
    return *this;
  }
};

struct Parameters {
  Count total{}, trainable{}, bytes{};  // parameters, each once
  Count buffers{}, buffer_bytes{};      // buffer elements, each once
};

// What only a whole model has; what is not known is not there.
struct ModelCosts {
  std::optional<Count> peak_memory_bytes{};
  std::optional<MemorySplit> at_peak{};
  std::optional<Count> compute_bound_flops{};
  std::optional<Count> attention_flops{}, linear_flops{};
};

// A row that metrics are read from: not owned, and only what is known of it.
struct Costs {
  const Metrics& sums;
  const Parameters* parameters = nullptr;  // nullptr: it has none, as an op type
  const ModelCosts* model = nullptr;       // nullptr: a part of a model
  bool is_measured = false;                // its time was
  bool has_device = false;                 // its roofline is one's
  bool is_predicted = false;               // so is its time
  bool has_wall = false;                   // a module, whose calls were measured with all that is in them
  std::optional<Count> saved_bytes{};      // of a subgraph
};

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
  kNeedsPrediction = 256,
  kNeedsWall = 512,  // a module, or the whole model, measured with what is between its ops
};
using Needs = unsigned;
// What the rows of a command have, so which metrics it offers.
inline constexpr Needs kLayerNeeds = kNeedsParameters | kNeedsMeasurement | kNeedsDevice | kNeedsPrediction;
inline constexpr Needs kModuleNeeds = kLayerNeeds | kNeedsWall;
inline constexpr Needs kTypeNeeds = kNeedsMeasurement | kNeedsDevice | kNeedsPrediction;
inline constexpr Needs kSubgraphNeeds = kNeedsDevice | kNeedsFusion;
inline constexpr Needs kSweepNeeds = kNeedsParameters | kNeedsDevice | kNeedsPrediction | kNeedsPeak |
                                     kNeedsPeakParts | kNeedsBounds | kNeedsProducts;
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
Amount parse_amount(const Metric& metric, std::string_view text, const std::string& where);

}  // namespace opscope
