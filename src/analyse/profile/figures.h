// What a profile says of a model, apart from its graph: the same whether the model was profiled now or its
// profile was saved as JSON some time ago. What compares models, or checks one against a budget, works on
// these.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"
#include "metrics/metric.h"

namespace opscope {

// A module or layer.
struct FigureRow {
  std::string name;          // "layer1.0.conv1"; "" for the root module
  std::string type;          // "BasicBlock"; "conv2d"
  std::string output_shape;  // "1x64x56x56", "" where it gave none
  std::uint32_t depth = 0, calls = 1;
  Parameters parameters{};  // counts alone, no bytes
  Metrics metrics{};        // times of bounds and spreads aside
};

struct Figures {
  std::string model, source;  // "resnet18", "torchvision 0.28.0"
  std::string inputs;         // "x: 1x3x224x224 float32"
  std::string convention;     // of the FLOPs
  std::string device;         // of roofline times; "": none
  std::string device_id;      // "h100-sxm"
  std::string measured_on;    // the device that times are of; "": none were measured
  bool is_training = false;   // a step with its backward pass
  bool is_saved = false;      // from a file: nothing of it can be computed anew
  Metrics totals;
  Parameters parameters;
  Count peak_memory_bytes;
  std::string peak_at;  // the layer
  std::uint64_t subgraphs = 0;
  Count fused_bytes{};          // moved by the subgraphs, each as one kernel
  Count fused_roofline_time{};  // picoseconds, the same of time on the device
  Coverage coverage;
  BottleneckSummary bottlenecks;   // roofline times of its bands aside
  std::vector<TypeRow> types;      // compute_bound_time aside
  std::vector<FigureRow> modules;  // in tree order, the root first
  std::vector<FigureRow> layers;   // in execution order
  std::vector<std::string>
      missing{};  // what an older profile does not say: "peak_memory_bytes", "layers", ...

  bool has(std::string_view field) const;  // false where it is one of `missing`
  bool has_device() const { return !device.empty(); }
  bool is_measured() const { return !measured_on.empty(); }
};

Figures figures_of(const Profile& profile);

// nullopt: nobody knows, such as a time that was not measured or what an older profile does not say.
std::optional<Amount> amount_in(const Figures& figures, const Metric& metric);
// The same of a part of a model; without `parameters` for op types, which have none.
std::optional<Amount> amount_in(const Figures& whole, const Metrics& sums, const Parameters* parameters,
                                const Metric& metric);

// What to call models beside each other, no two the same. `choices`: of each, from the name that is best to
// the one that is surest; models whose names are the same take the next.
std::vector<std::string> labels_apart(const std::vector<std::vector<std::string>>& choices);

// "x: 1x3x224x224 float32, mask: 1x128 bool, 3 more", for both of the ways to figures.
struct FigureInput {
  std::string name, shape, dtype;
};
std::string inputs_text(std::span<const FigureInput> inputs);
std::string inputs_text(const Graph& graph);

}  // namespace opscope
