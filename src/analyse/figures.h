// What a profile says of a model, apart from its graph: the same whether the model was profiled now or its
// profile was saved as JSON some time ago. What compares models, or checks one against a budget, works on
// these.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analyse/profile.h"

namespace opscope {

// A module or layer.
struct FigureRow {
  std::string name;          // "layer1.0.conv1"; "" for the root module
  std::string type;          // "BasicBlock"; "conv2d"
  std::string output_shape;  // "1x64x56x56", "" where it gave none
  std::uint32_t depth = 0, calls = 1;
  Parameters parameters{};
  Metrics metrics{};
};

struct Figures {
  std::string model, source;  // "resnet18", "torchvision 0.28.0"
  std::string inputs;         // "x: 1x3x224x224 float32"
  std::string convention;     // of the FLOPs
  std::string device;         // of roofline times; "": none
  Metrics totals;
  Parameters parameters;
  Count peak_memory_bytes;
  std::string peak_at;  // the layer
  std::uint64_t subgraphs = 0;
  Coverage coverage;
  BottleneckSummary bottlenecks;
  std::vector<TypeRow> types;
  std::vector<FigureRow> modules;  // in tree order, the root first
  std::vector<FigureRow> layers;   // in execution order
};

Figures figures_of(const Profile& profile);

}  // namespace opscope
