// What the plots show, before anything is drawn: points on a roofline, costs by op type, and the module tree
// as nested slices. Each is one more grouping of the same ops, so each has the same total.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/explore/view.h"
#include "analyse/profile/profile.h"
#include "metrics/metric.h"

namespace opscope {

enum class PlotKind : std::uint8_t { kRoofline, kTypes, kIcicle, kMemory, kFlame };
std::string_view name(PlotKind kind);  // "roofline", "types", "icicle", "memory", "flame"
bool is_plot_kind(std::string_view text);
PlotKind plot_kind_from_name(std::string_view text);  // throws Error naming the choices

// A metric that modules, or op types, add up to. Throws Error naming the choices.
const Metric& plot_metric(std::string_view text, Needs given);
// In whole numbers: picoseconds of time.
inline Count plotted_count(const Metric& metric, const Metrics& sums) {
  return metric.of({.sums = sums}).count;
}

// What a device can do at best. Without its peak only the shape of the roof is known, and times are shares.
struct Roof {
  double ridge = 10;  // FLOPs per byte at which computing takes as long as moving
  std::optional<double> peak_flops_per_second{};

  // The time of one piece of work, as the bytes that can be moved meanwhile.
  double cost(double flops, double bytes) const { return std::max(flops / ridge, bytes); }
  std::optional<double> seconds(double cost) const;
};

// Layers (or ops, modules, subgraphs) that cost the same and are of one type: one dot.
struct RooflinePoint {
  std::string name{};  // "layer1.*.conv*" where there are several
  std::string type{};  // "Conv2d"
  Category category = Category::kCustom;
  std::uint32_t count = 1;
  Count flops{}, memory_bytes{};  // of each
  double intensity = 0;           // 0 where no FLOPs: not on a logarithmic axis
  double time_share = 0;          // of all of them, of the time of the whole at the roof
  bool compute_bound = false;
};

struct RooflineSide {  // of the ridge
  std::uint64_t nodes = 0;
  Count flops{}, memory_bytes{};
  double time_share = 0;
};

struct RooflinePlot {
  Level level = Level::kLayer;
  Roof roof{};
  double total_cost = 0;                // as Roof::cost, of everything one after the other
  std::vector<RooflinePoint> points{};  // by time, the most first
  RooflineSide memory_bound{}, compute_bound{};
  RooflineSide without_flops{};  // of the memory-bound: what only moves bytes
  Count flops{}, memory_bytes{};
};

RooflinePlot make_roofline(const Profile& profile, Level level, const Roof& roof);
// The profile's ridge, and the peak of its device where it is that device's.
Roof roof_of(const Profile& profile);

struct TypesPlot {
  const Metric* metric = nullptr;  // sorted by it
  std::vector<TypeRow> rows{};     // those that do work or move bytes
  std::size_t others = 0;          // types that `rest` sums up
  Metrics rest{}, totals{};

  // Bytes are shown in any case: beside them FLOPs, or what else was asked for.
  const Metric& beside_bytes() const { return metric->key == "memory_bytes" ? metric_at("flops") : *metric; }
};

// The `top` types with the largest share of the metric or of the bytes, whichever is larger; the rest in one.
TypesPlot make_types_plot(const Profile& profile, const Metric& metric, std::size_t top);

// A module, or the ops of one type that a module with children ran itself.
struct IcicleSlice {
  std::string name{};                  // "conv1", "0..11" for equal blocks in one slice, "matmul" for ops
  std::string path{};                  // "layer1.0..1.conv1"; the module's own path where nothing is folded
  std::string_view type{};             // "Conv2d", "aten::matmul"
  std::optional<Category> category{};  // of its costliest op; none for a module with slices below it
  std::uint32_t depth = 0;
  std::uint32_t parent = kNone;  // in slices
  std::uint32_t folded = 1;      // equal siblings in this slice
  std::uint32_t repeat = 1;      // equal blocks, those of its parents included
  bool is_module = true;
  bool is_outside = false;  // what passes in a module while no op runs
  Count value{};            // of all blocks together; picoseconds of time
  double begin = 0;         // of the whole, 0..1
  double share = 0;         // of the whole
};

struct IciclePlot {
  const Metric* metric = nullptr;
  Count total{};
  std::uint32_t depth = 0;            // of the deepest slice
  std::vector<IcicleSlice> slices{};  // those with a value above 0; parents before their children
};

struct IcicleOptions {
  const Metric* metric = &metric_at("flops");
  bool fold = true;             // equal numbered siblings in one slice
  std::uint32_t depth = kNone;  // levels below the root
};
// Throws Error where nothing of the metric is there.
IciclePlot make_icicle(const Profile& profile, const IcicleOptions& options);

// "a.0.conv1" and "a.1.conv1" -> "a.*.conv1"
std::string merged_name(std::string_view pattern, std::string_view name);

}  // namespace opscope
