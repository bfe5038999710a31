// A graph's costs rolled up: every view (modules, layers, op types, ops) is a grouping of the same ops, so
// every view has the same total.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text_blocks.h"
#include "graph/graph.h"
#include "hardware/device.h"
#include "hardware/predict/predicted_run.h"
#include "hardware/roofline.h"
#include "metrics/metric.h"
#include "partition/partition.h"

namespace opscope {

// What limits an op, a layer or a subgraph: one split for all commands, at the ridge.
enum class Bottleneck : std::uint8_t { kComputeBound, kMemoryBound };
inline constexpr std::size_t kBottlenecks = 2;
std::string_view name(Bottleneck bottleneck);  // "compute-bound", "memory-bound"
std::string_view word(Bottleneck bottleneck);  // "compute", "memory"
// More FLOPs than the ridge has for the bytes. Without a byte to wait for, arithmetic is all there is.
inline bool is_compute_bound(Count flops, Count memory_bytes, double ridge) {
  return static_cast<double>(flops) > ridge * static_cast<double>(memory_bytes);
}
inline bool is_compute_bound(const OpCost& cost, double ridge) {
  return cost.roofline_time ? cost.compute_bound : is_compute_bound(cost.flops, cost.traffic.total(), ridge);
}
inline Bottleneck bottleneck_of(Count flops, Count memory_bytes, double ridge) {
  return is_compute_bound(flops, memory_bytes, ridge) ? Bottleneck::kComputeBound : Bottleneck::kMemoryBound;
}
// On a device, what takes most of its time there.
Bottleneck bottleneck_of(const Metrics& metrics, double ridge);
// "memory-bound up to 10 FLOPs per byte, compute-bound above"
std::string bottleneck_legend(double ridge);

// One module of the tree: its own ops and those of all modules below it.
struct ModuleRow {
  ModuleId module = 0;
  std::uint32_t depth = 0;
  std::uint32_t calls = 0;
  Parameters parameters{};
  Metrics metrics{};
  // Of its first call: the tensors that it returned, and the first of them. Where the capture does not tell,
  // the last value that its ops made alone; kNone where it ran none.
  ValueId output = kNone;
  std::span<const ValueId> outputs{};
};

// A leaf-module call, or an op that a non-leaf module ran itself.
struct LayerRow {
  // Text of the graph or of LayerGraph::texts.
  std::string_view name;  // "layer1.0.conv1", "layer1.0.relu#2" for the second call, "layer1.0.add"
  std::string_view type;  // "conv2d", "add"
  ModuleId module = 0;
  ScopeId scope = 0;
  ValueId output = kNone;
  bool is_module = false;
  Bottleneck bottleneck = Bottleneck::kMemoryBound;
  Parameters parameters{};
  Metrics metrics{};
};

// A node of a tracer's graph, with the ops of all its runs.
struct NodeRow {
  NodeId node = 0;
  std::string_view label;   // "layer1.0.conv1", "conv1.weight", "layer1.0.add_1"; text as a layer's name
  std::uint32_t calls = 0;  // how often its part ran
  Metrics metrics{};
};

// One graph of a tracer.
struct PartRow {
  PartId part = 0;
  std::uint32_t nodes = 0;
  Metrics metrics{};
};

struct TypeRow {
  std::string type;  // "conv2d"
  Category category = Category::kCustom;
  Metrics metrics;  // metrics.ops is the count
};

struct Coverage {
  std::uint64_t ops = 0, exact = 0, estimated = 0, upper_bound = 0, unknown = 0;
  std::vector<SlowOp> unknown_ops;  // name and count
};

// What a model's mix of work suggests: "convolution is 99.5% of FLOPs", and what follows from it.
struct Advice {
  std::string finding;
  std::vector<std::string_view> suggestions;
};

struct Band {  // share of ops, FLOPs and bytes
  std::uint64_t ops = 0;
  Count flops, memory_bytes;
  Count roofline_time{};  // picoseconds, on the device
};

// What the device asked for could do at best, one op after the other.
struct RooflineSummary {
  const Device* device = nullptr;  // ProfileOptions::hardware, or what was measured on; nullptr: none
  Float32 float32 = Float32::kTorch;
  const Peak* peak = nullptr;  // of the units that do most of the products
  double ridge = 0;            // FLOPs per byte at which they take as long as the memory
  std::vector<Limit> limits;   // by op
  std::array<Band, kLimits> by_limit{};
  std::uint64_t kernels = 0;  // ops that take time

  const Band& of(Limit limit) const { return by_limit[static_cast<std::size_t>(limit)]; }
  double launch_seconds() const { return device->launch_overhead ? device->launch_overhead->value : 0; }
};

// The same device with each subgraph as one kernel.
struct FusedRoofline {
  std::vector<RooflineTime> subgraphs;  // empty where no device is named
  Count time{};                         // of them all
  std::uint64_t unknown = 0;            // subgraphs that are not in it
};

struct BottleneckSummary {
  double ridge = 10;
  Band compute_bound, memory_bound;                        // at the ridge
  Band over_100, from_50_to_100, from_10_to_50, under_10;  // by arithmetic intensity
};

struct ProfileOptions {
  Convention convention = Convention::kOpscope;
  double ridge = 10;  // FLOPs per byte; make_profile puts the device's here where there is one
  PartitionOptions partition{};
  // Whose roofline to take; nullptr: that of the device measured on, where it is known.
  DevicePointer hardware{};
  Float32 float32 = Float32::kTorch;
  // How long it takes there: by this calibration, or by what opscope knows of the device where there is none.
  CalibrationPointer calibration{};
  RunMode mode = RunMode::kEager;
  double host_speed = 1;        // see RunOptions
  Routing routing{};            // of mixtures of experts
  bool ridge_is_given = false;  // the user's own ridge: the device's does not replace it
};

// The layer graph of a profile, and which layer each op is in.
struct LayerGraph {
  std::vector<LayerRow> rows;        // in execution order
  std::vector<std::uint32_t> of_op;  // index in rows
  std::vector<TextBlock> texts;      // what names are written in
};

// The same ops as the nodes of a tracer's graphs; all empty where no tracer was asked.
struct TracerRows {
  std::vector<NodeRow> nodes;    // by node
  std::vector<PartRow> parts;    // by part
  Metrics outside{};             // of ops that belong to no node: nodes and these are the total
  std::vector<TextBlock> texts;  // what labels are written in
};

// The costs of a graph's ops, and their groupings. Each grouping is made when it is first asked for, once
// for a profile and its copies; any number of threads may ask.
class Profile {
 public:
  const Graph* graph = nullptr;  // not owned; outlives the profile
  ProfileOptions options;
  Metrics totals;
  Parameters parameters;
  std::vector<OpCost> costs;  // by op
  Experts experts;            // of a mixture of experts
  Coverage coverage;
  RooflineSummary roofline;             // on the device, where one is named
  PredictedRun predicted;               // the same
  std::vector<Diagnostic> diagnostics;  // the capture's, and one per unknown op

  // In tree order, the root first, children after their parent.
  const std::vector<ModuleRow>& modules() const;
  const std::vector<LayerRow>& layers() const { return layer_graph().rows; }
  const std::vector<std::uint32_t>& layer_of() const { return layer_graph().of_op; }  // by op
  const std::vector<TypeRow>& types() const;  // by FLOPs, then bytes, then name
  const std::vector<NodeRow>& nodes() const { return tracer_rows().nodes; }
  const std::vector<PartRow>& parts() const { return tracer_rows().parts; }
  const Metrics& outside() const { return tracer_rows().outside; }
  const Partition& partition() const;            // as subgraphs
  const FusedRoofline& fused_roofline() const;   // of the subgraphs, on the device
  const MemoryTimeline& memory() const;          // what is in use when
  const BottleneckSummary& bottlenecks() const;  // over ops that do work or move bytes
  const std::vector<Advice>& advice() const;

 private:
  struct Views;
  const LayerGraph& layer_graph() const;
  const TracerRows& tracer_rows() const;

  std::shared_ptr<Views> views_;
  friend Profile make_profile(const Graph& graph, const ProfileOptions& options);
};

// A row of the profile, for metrics to be read from.
inline Costs costs_of(const Profile& profile, const Metrics& sums, const Parameters* parameters = nullptr) {
  return {.sums = sums,
          .parameters = parameters,
          .is_measured = !profile.graph->measurement.empty(),
          .has_device = profile.roofline.device != nullptr,
          .is_predicted = profile.predicted.predictor != nullptr,
          .has_wall = !profile.graph->measurement.outside.empty()};
}

// "5.5" of "5.5 of 8 experts"; "2" where it is whole.
std::string format_experts(double count);

// Costs every op, and sums them up.
Profile make_profile(const Graph& graph, const ProfileOptions& options = {});

// By row of Profile::modules(): one past the last row of its subtree.
std::vector<std::uint32_t> subtree_ends(const std::vector<ModuleRow>& rows);

// By module: the ops it ran itself, outside the modules below it, and what passed in it beside them.
std::vector<Metrics> own_metrics(const Profile& profile);

// The op called `node`: an index ("12"), a layer's name, or an op's name within its module; throws Error with
// the nearest names.
std::vector<OpId> find_node(const Profile& profile, std::string_view node);

}  // namespace opscope
