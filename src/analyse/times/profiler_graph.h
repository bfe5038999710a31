// The graphs that opscope.Profiler shows: a model's parts, its leaf layers or its ops as numbered nodes, each
// with what it took, and every tensor that goes from one to another. What comes in and what goes out stands
// beside the nodes, so that these are the model's own.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "analyse/explore/view.h"
#include "analyse/profile/profile.h"

namespace opscope {

Level granularity_from_name(std::string_view text);  // throws Error naming the choices: module, layer

// Its id is its place in ProfilerGraph::nodes.
struct ProfilerNode {
  std::string_view name{};  // "layer1.0.conv1", "relu#2" for a second call, "flatten" between modules
  std::string_view type{};  // "Conv2d", "aten::flatten"
  bool is_module = false;   // else an op, or a leaf of the model that is its root
  Parameters parameters{};  // what it owns or reads: not to be summed where weights are shared
  std::uint64_t ops = 0;
  std::optional<Count> time{};       // picoseconds of its ops: on the device's clock where there is one
  std::optional<Count> call_time{};  // picoseconds on the host from the module's call until that returned
  ValueId output = kNone;
};

struct ProfilerEdge {
  std::uint32_t from = 0, to = 0;  // ids of nodes
  ValueId value = kNone;
};

// A tensor that the model is given or returns, and the nodes that take or make it.
struct ProfilerPort {
  std::string_view name{};
  ValueId value = kNone;
  std::vector<std::uint32_t> nodes{};  // none: an input nobody reads, or one that is returned as it came
};

struct ProfilerGraph {
  const Profile* profile = nullptr;  // not owned
  Level granularity = Level::kModule;
  std::vector<ProfilerNode> nodes;  // in the order in which they begin
  std::vector<ProfilerEdge> edges;  // by the node that takes it, each pair of nodes and tensor once
  std::vector<ProfilerPort> inputs, outputs;
  std::uint64_t left_out = 0;     // ops outside modules that return no tensor
  std::uint64_t without_ops = 0;  // kLayer: calls of leaf modules that ran no op: Identity, Dropout in eval
  std::vector<TextBlock> texts;   // of names that had to be put together

  bool is_measured() const { return !profile->graph->measurement.empty(); }
};

// Module: the calls that the model's forward makes; a module that holds more than nine in ten of all ops is a
// frame around the parts, and its own calls are shown in its place. Ops that run between modules are nodes of
// their own, so that no edge gets lost.
ProfilerGraph make_profiler_graph(const Profile& profile, Level granularity);

struct ProfilerType {
  std::string_view type{};
  std::uint64_t nodes = 0;
  Count time{};
};

// Totals over a graph's nodes. Times are in picoseconds and 0 where nothing was measured.
struct ProfilerStats {
  std::uint64_t nodes = 0, edges = 0, ops = 0;
  Parameters parameters{};  // of the whole model, each once
  Count time{};             // of all nodes
  Count mean_time{}, median_time{}, max_time{};
  std::optional<std::uint32_t> longest{};  // the node that took max_time
  Count run_time{};                        // the whole run on the host, until the device was done
  std::vector<ProfilerType> types{};       // the longest first, then by name
};
ProfilerStats profiler_stats(const ProfilerGraph& graph);

}  // namespace opscope
