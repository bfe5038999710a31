// Scenes: every node of a view in one box, whatever is folded, merged, closed or left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "analyse/metrics_sums.h"
#include "analyse/small_models.h"
#include "analyse/tree/scene.h"
#include "graph/random_graph.h"

namespace opscope {
namespace {

struct Drawn {
  explicit Drawn(Graph g, Level level = Level::kLayer, const CollapseOptions& options = {})
      : graph(std::move(g)),
        profile(make_profile(graph)),
        view(make_view(profile, level)),
        scene(make_scene(view, options)) {}
  Graph graph;
  Profile profile;
  GraphView view;
  Scene scene;
};

std::vector<std::string> names_of(const Scene& scene) {
  std::vector<std::string> names;
  for (const SceneBox& box : scene.boxes) names.push_back(box.name);
  return names;
}

// Boxes and their counts are the view: nothing twice, nothing lost.
void check_adds_up(const Scene& scene) {
  const GraphView& view = *scene.view;
  Metrics all;
  std::size_t nodes = 0;
  for (const SceneBox& box : scene.boxes) {
    all += box.all_metrics, nodes += box.all_nodes;
    EXPECT_FALSE(box.nodes.empty());
    EXPECT_TRUE(std::ranges::is_sorted(box.nodes));
    if (box.kind != BoxKind::kRun) {
      EXPECT_EQ(box.metrics.flops * Count{box.runs}, box.all_metrics.flops) << box.name;
    }
  }
  EXPECT_EQ(nodes, view.nodes.size());
  EXPECT_TRUE(test::same(all, view.profile->totals));
  for (const std::uint32_t box : scene.box_of) EXPECT_LT(box, scene.boxes.size());
}

// An edge of the view is inside a box, an edge of the scene, or a block's way to its next run.
void check_edges(const Scene& scene) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> edges;
  for (const SceneEdge& edge : scene.edges) {
    EXPECT_EQ((edges[{edge.from, edge.to}]++), 0);
    EXPECT_NE(edge.from, edge.to);
  }
  bool repeats = false;
  for (const SceneBox& box : scene.boxes) repeats = repeats || box.all_nodes > box.nodes.size();
  for (const ViewEdge& edge : scene.view->edges) {
    const std::uint32_t from = scene.box_of[edge.from], to = scene.box_of[edge.to];
    EXPECT_TRUE(from == to || edges.contains({from, to}) || repeats);
  }
}

TEST(Collapse, FoldsEqualBlocksAndMergesSmallSteps) {
  const Drawn drawn(test::ResNet18::make());
  check_adds_up(drawn.scene);
  check_edges(drawn.scene);
  EXPECT_EQ(drawn.view.nodes.size(), 71U);
  EXPECT_EQ(drawn.scene.boxes.size(), 30U);
  const SceneBox& first = drawn.scene.boxes[1];
  EXPECT_EQ(first.name, "conv1");
  EXPECT_EQ(first.types, (std::vector<std::string>{"Conv2d", "BatchNorm2d", "ReLU"}));
  const auto repeated = std::ranges::find(drawn.scene.clusters, 2U, &SceneCluster::repeat);
  ASSERT_NE(repeated, drawn.scene.clusters.end());
  EXPECT_EQ(repeated->name, "0..1");
  EXPECT_EQ(drawn.scene.clusters[repeated->parent].name, "layer1");
}

TEST(Collapse, WithoutFoldingEveryNodeIsABox) {
  const Drawn drawn(test::ResNet18::make(), Level::kLayer, {.max_boxes = 100, .fold = false, .focus = {}});
  EXPECT_EQ(drawn.scene.boxes.size(), 71U);
  EXPECT_EQ(drawn.scene.edges.size(), drawn.view.edges.size());
  check_adds_up(drawn.scene);
}

TEST(Collapse, ClosesWhatDoesNotFit) {
  for (const std::size_t most : {4U, 8U, 12U, 20U, 60U}) {
    const Drawn drawn(test::ResNet18::make(), Level::kOp, {.max_boxes = most, .focus = {}});
    EXPECT_LE(drawn.scene.boxes.size(), most);
    check_adds_up(drawn.scene);
  }
}

TEST(Collapse, OpensAsDeepAsAsked) {
  const Drawn drawn(test::ResNet18::make(), Level::kLayer, {.depth = 1, .focus = {}});
  EXPECT_EQ(names_of(drawn.scene), (std::vector<std::string>{"x", "conv1", "maxpool", "layer1", "layer2",
                                                             "layer3", "layer4", "avgpool", "fc", "output"}));
  EXPECT_TRUE(drawn.scene.clusters.empty());
}

// Also of the blocks that are folded inside of it.
TEST(Collapse, AClosedModuleHasTheCostOfAllThatIsInIt) {
  const Drawn drawn(test::ResNet18::make(), Level::kLayer, {.depth = 1, .focus = {}});
  std::size_t closed = 0;
  for (const SceneBox& box : drawn.scene.boxes) {
    const auto row = std::ranges::find_if(drawn.profile.modules(), [&](const ModuleRow& r) {
      return drawn.graph.path(drawn.graph.modules[r.module]) == box.path;
    });
    if (box.kind != BoxKind::kModule) continue;
    ++closed;
    EXPECT_EQ(box.runs, 1U);
    EXPECT_TRUE(test::same(box.metrics, row->metrics)) << box.name;
    EXPECT_EQ(box.parameters.total, row->parameters.total) << box.name;
  }
  EXPECT_EQ(closed, 4U);
}

TEST(Collapse, FocusDrawsOneModuleAndItsNeighbours) {
  const Drawn drawn(test::ResNet18::make(), Level::kLayer, {.focus = "layer2.0"});
  const auto stubs = std::ranges::count(drawn.scene.boxes, BoxKind::kStub, &SceneBox::kind);
  EXPECT_GE(stubs, 2);
  Metrics inside;
  for (const SceneBox& box : drawn.scene.boxes)
    if (box.kind != BoxKind::kStub) inside += box.all_metrics;
  const auto row = std::ranges::find_if(drawn.profile.modules(), [&](const ModuleRow& r) {
    return drawn.graph.path(drawn.graph.modules[r.module]) == "layer2.0";
  });
  EXPECT_TRUE(test::same(inside, row->metrics));
}

TEST(Collapse, FocusOnTheSecondOfEqualBlocksDrawsThatOne) {
  const Drawn drawn(test::ResNet18::make(), Level::kLayer, {.focus = "layer1.1"});
  for (const SceneBox& box : drawn.scene.boxes) {
    if (box.kind == BoxKind::kStub) continue;
    EXPECT_TRUE(box.path.starts_with("layer1.1")) << box.path;
    EXPECT_EQ(box.all_nodes, box.nodes.size());
  }
}

TEST(Collapse, RunsOfAFocusLeaveItsNeighboursOutside) {
  const Drawn whole(test::ResNet18::make(), Level::kOp, {.focus = "layer2.0"});
  const Drawn drawn(test::ResNet18::make(), Level::kOp, {.max_boxes = 6, .fold = false, .focus = "layer2.0"});
  EXPECT_LE(drawn.scene.boxes.size(), 6U);
  const auto inside = [](const Scene& scene) {
    Metrics sum;
    for (const SceneBox& box : scene.boxes)
      if (box.kind != BoxKind::kStub) sum += box.all_metrics;
    return sum;
  };
  EXPECT_TRUE(test::same(inside(drawn.scene), inside(whole.scene)));
  EXPECT_TRUE(
      std::ranges::any_of(drawn.scene.boxes, [](const SceneBox& b) { return b.kind == BoxKind::kRun; }));
  EXPECT_TRUE(
      std::ranges::any_of(drawn.scene.boxes, [](const SceneBox& b) { return b.kind == BoxKind::kStub; }));
}

TEST(Collapse, NamesNearAWrongFocus) {
  try {
    const Drawn drawn(test::ResNet18::make(), Level::kLayer, {.focus = "layer2.0.conv3"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.where(), "--focus");
    EXPECT_NE(error.hint().find("layer2.0.conv"), std::string::npos);
  }
}

TEST(Collapse, HoldsOnRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    for (const Level level : {Level::kModule, Level::kLayer, Level::kOp, Level::kSubgraph}) {
      SCOPED_TRACE(std::to_string(seed));
      const Drawn drawn(test::RandomGraph(seed).make(10 + seed * 3), level,
                        {.max_boxes = 4 + seed % 30, .focus = {}});
      check_adds_up(drawn.scene);
      check_edges(drawn.scene);
    }
}

}  // namespace
}  // namespace opscope
