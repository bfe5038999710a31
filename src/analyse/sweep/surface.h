// What a point of a sweep costs, op by op, and the polynomials that tell it for a whole block of points. Each
// op's work, bytes and memory is fitted on its own, so that sums, maxima (the peak) and times follow exactly.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analyse/profile/profile.h"
#include "analyse/sweep/polynomial.h"
#include "analyse/sweep/sized_graph.h"
#include "metrics/metric.h"

namespace opscope {

// Which products an op does: with weights, between activations, or neither.
enum class Products : std::uint8_t { kOther, kLinear, kAttention };

// What is the same at every point that polynomials tell. Not its name: a slice that takes all is an alias.
struct SweptOp {
  Category category = Category::kCustom;
  DType dtype = DType::kUndefined;
  Confidence confidence = Confidence::kExact;
  Products products = Products::kOther;
  friend auto operator<=>(const SweptOp&, const SweptOp&) = default;
};

inline constexpr std::size_t kCostNumbers = 7;  // work, FLOPs, traffic
inline constexpr std::size_t kOpNumbers = kCostNumbers + kMemoryKinds;
inline constexpr std::size_t kParameterNumbers = 5;

// A capture's numbers: kOpNumbers for each op, then those of its parameters.
struct SweepSample {
  std::vector<SweptOp> ops;
  std::vector<std::uint64_t> numbers;
};
SweepSample sample_of(const Graph& graph, const ProfileOptions& options);

// A predicted run on one device.
struct SweepTime {
  Metrics metrics{};      // of which the predicted sums are known
  double run_spread = 0;  // see PredictedRun
  TimeRange range() const {
    return range_of(metrics.predicted_seconds(), metrics.predicted_spread(), run_spread);
  }
};
// By device, that of the options first; nothing where there is none. `notes`: what they rest on, each once.
std::vector<SweepTime> times_of(const Graph& graph, const ProfileOptions& options,
                                std::span<const ProfileOptions> others,
                                std::vector<std::string>* notes = nullptr);

struct SweepFigures {
  Metrics totals{};
  std::vector<SweepTime> times{};  // by device; the first is in the totals too
  void add_times(std::vector<SweepTime> found);
  // Into the totals: what is predicted of a run, and nothing else.
  void take_prediction(const Metrics& own);
  Parameters parameters{};
  Count peak_memory_bytes{};
  MemorySplit at_peak{};
  Count linear_flops{}, attention_flops{};
  Count compute_bound_flops{};  // of ops above the ridge, or that arithmetic limits on the device
  double ridge = 10;            // that applied: a device's depends on the types that are multiplied
};
SweepFigures figures_of(const SweepSample& sample, const ProfileOptions& options);
std::optional<Amount> amount_in(const SweepFigures& figures, const Metric& metric);  // nullopt: not known

// The polynomials of one block of points: all its variables' values, some captured.
class SweepSurface {
 public:
  // `samples`: at every point of the grid, the last variable fastest. nullopt where the captures are not of
  // the same ops, or numbers overflow. `graphs`: the same, for times; or nothing.
  static std::optional<SweepSurface> fit(const Grid& grid, std::span<const SweepSample* const> samples,
                                         std::span<const Graph* const> graphs = {});

  // Every number of every op is what the capture has.
  bool agrees(std::span<const std::int64_t> place, const SweepSample& sample) const;
  // Tells no more times where the graph there is another.
  void check_times(std::span<const std::int64_t> place, const Graph& graph);
  bool tells_times() const { return graph_.has_value(); }
  // nullopt where a number would not be whole: no capture can be like that.
  std::optional<SweepFigures> at(std::span<const std::int64_t> place, const ProfileOptions& options) const;
  // By device; nothing where times are not told.
  std::vector<SweepTime> times_at(std::span<const std::int64_t> place, const ProfileOptions& options,
                                  std::span<const ProfileOptions> others) const;

  // Where it holds, by axis of the sweep. The grid's variables are the axes that vary.
  struct Bound {
    std::int64_t low = 0, high = 0, step = 1;
    bool varies = false;
  };
  void hold_within(std::vector<Bound> bounds, std::span<const std::int64_t> farthest);
  bool holds(std::span<const std::int64_t> place) const;

 private:
  struct OpClass {
    SweptOp op;
    std::uint64_t count = 0;
    std::array<std::uint32_t, kCostNumbers> numbers{};
  };
  using Split = std::array<std::uint32_t, kMemoryKinds>;

  void group_ops();
  void find_peaks();
  std::vector<std::int64_t> variables_of(std::span<const std::int64_t> place) const;

  std::vector<Bound> bounds_;
  std::vector<SweptOp> ops_;
  std::vector<std::uint32_t> series_;    // by number of a sample: its polynomial
  std::vector<Polynomial> polynomials_;  // each once
  std::vector<OpClass> classes_;
  std::vector<Split> peaks_;         // what may be the most, in the order of the ops
  std::vector<std::uint32_t> used_;  // polynomials that figures need
  std::optional<SizedGraph> graph_;
};

}  // namespace opscope
