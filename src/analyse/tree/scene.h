// A view of a graph cut down to what fits on a page: modules as clusters, equal blocks in a row drawn once
// with a count, modules that do not fit as one box each, and small steps drawn as a part of what they follow.
// Every node of the view is in exactly one box, so the boxes have the view's totals.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/explore/view.h"

namespace opscope {

struct CollapseOptions {
  std::uint32_t depth = kNone;  // levels of modules that are opened; kNone: as many as fit
  std::size_t max_boxes = 60;
  bool fold = true;   // equal blocks in a row once, small steps with what they follow
  std::string focus;  // path of the only module that is drawn, with its neighbours; "" for all
};

enum class BoxKind : std::uint8_t {
  kInput,
  kOutput,
  kNode,    // a node of the view, and what was merged into it
  kModule,  // a call of a module that is not opened
  kRun,     // nodes that follow each other and would not fit one by one
  kStub,    // outside of what is in focus, joined to it
};

struct SceneBox {
  BoxKind kind = BoxKind::kNode;
  std::string name{};                // within its cluster: "conv1"
  std::string path{};                // of the module or node in the model: "layer1.0.conv1"
  std::vector<std::string> types{};  // "Conv2d", "BatchNorm2d"; short names of ops, each once
  std::uint32_t cluster = kNone;
  std::uint32_t repeat = 1;            // how often it runs in a row, its clusters' counts not included
  std::vector<std::uint32_t> nodes{};  // of the view, in order: the first run's
  std::uint32_t all_nodes = 0;         // of every run that it stands for
  std::uint64_t runs = 1;              // its clusters' counts included
  Metrics metrics{};                   // of one run, with all that is folded inside of it
  Metrics all_metrics{};               // of every run
  Parameters parameters{};             // of one run
  ValueId output = kNone;
  Category category = Category::kView;  // of what costs most in it
};

// A module that is opened, or blocks that repeat together.
struct SceneCluster {
  std::string name{}, type{};
  std::string path{};
  std::uint32_t parent = kNone;
  std::uint32_t repeat = 1;
};

struct SceneEdge {
  std::uint32_t from = 0, to = 0;  // boxes
  ValueId value = kNone;           // the largest of those that go this way
  std::uint32_t values = 1;
};

struct Scene {
  const GraphView* view = nullptr;     // not owned
  std::vector<SceneBox> boxes;         // in the order they run; inputs first
  std::vector<SceneCluster> clusters;  // parents first
  std::vector<SceneEdge> edges;        // by the box that takes it
  std::vector<std::uint32_t> box_of;   // by node of the view; kNone: not drawn
  std::string focus;                   // the module that is drawn; "" for the whole model
  std::vector<std::string> notes;      // what was left out or put together
};

// Throws Error for a graph without nodes, and for a focus that is no module, with the nearest names.
Scene make_scene(const GraphView& view, const CollapseOptions& options = {});

}  // namespace opscope
