// What files of costs say, and what is wrong with those that say nothing.
#include "readers/plan/cost_reader.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "plan/solver/solve.h"

namespace opscope {
namespace {

constexpr const char* kDevices =
    R"("devices": [{"class": "a", "count": 2, "bytes_per_second": 4, "latency_seconds": 0.5},
    {"class": "b", "transfers_free": true}])";

CostGraph read(const std::string& rest) {
  return read_costs("{" + std::string(kDevices) + ", " + rest + "}", "f.json");
}

TEST(CostReader, ReadsTheExampleOfTheDocumentation) {
  const CostGraph graph = read_costs(
      R"({"devices": [{"class": "gpu", "count": 6, "memory_bytes": 17e9}, {"class": "cpu", "count": 1, "transfers_free": true}],
          "nodes": [{"id": 1, "seconds": {"gpu": 0.1, "cpu": 1.0}, "bytes": 4096, "transfer_seconds": 0.02, "colocate": "a"},
                    {"id": 3, "seconds": {"cpu": 1}}], "edges": [[1, 3]]})",
      "f.json");
  ASSERT_EQ(graph.classes.size(), 2u);
  EXPECT_EQ(graph.classes[0].memory_bytes, 17e9);
  EXPECT_FALSE(graph.classes[1].memory_bytes);
  ASSERT_EQ(graph.nodes.size(), 2u);
  EXPECT_EQ(graph.nodes[0].bytes, 4096);
  EXPECT_EQ(graph.nodes[0].colocate, "a");
  EXPECT_EQ(graph.nodes[1].seconds, (std::vector<double>{kCannotRun, 1}));
  ASSERT_EQ(graph.tensors.size(), 1u);
  EXPECT_EQ(graph.tensors[0].seconds, (std::vector<double>{0.02, 0.02}));
}

TEST(CostReader, BytesTakeTheTimeOfTheLink) {
  const CostGraph graph = read(
      R"("nodes": [{"id": "x", "seconds": {"a": 1}, "transfer_bytes": 8}, {"id": "y", "seconds": {"b": 1}}],
      "edges": [["x", "y"]])");
  ASSERT_EQ(graph.tensors.size(), 1u);
  EXPECT_EQ(graph.tensors[0].seconds, (std::vector<double>{2.5, 0}));
}

TEST(CostReader, EdgesOfOneCostAreOneTensor) {
  const CostGraph graph = read(
      R"("nodes": [{"id": 1, "seconds": {"a": 1}}, {"id": 2, "seconds": {"a": 1}}, {"id": 3, "seconds": {"a": 1}}],
      "edges": [{"from": 1, "to": 2, "seconds": 0.5}, {"from": 1, "to": 3, "seconds": 0.5},
                {"from": 2, "to": 3, "seconds": 1, "tensor": "k"}, {"from": 2, "to": 3, "seconds": 1, "tensor": "v"}])");
  EXPECT_EQ(graph.tensors.size(), 3u);
}

TEST(CostReader, BackwardNodesGoWithTheirForwardNodes) {
  const CostGraph graph = read_costs(
      R"({"devices": [{"class": "a", "count": 2}], "nodes": [
          {"id": "f1", "seconds": {"a": 1}, "colocate": 1}, {"id": "f2", "seconds": {"a": 1}, "colocate": 2},
          {"id": "b2", "seconds": {"a": 2}, "colocate": 2, "backward": true},
          {"id": "b1", "seconds": {"a": 2}, "colocate": 1, "backward": true}],
          "edges": [["f1", "f2"], ["f2", "b2"], ["b2", "b1"], ["f1", "b1"]]})",
      "f.json");
  const PlanAnswer answer = solve(graph, {}, "f.json");
  EXPECT_EQ(answer.value, 3);
  EXPECT_EQ(answer.plan.parts.size(), 2u);
}

TEST(CostReader, SaysWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"("nodes": [], "edges": [])", "there are no nodes"},
      {R"("nodes": [{"id": 1, "seconds": {"c": 1}}])", "node 1 has seconds of 'c', which is no device class"},
      {R"("nodes": [{"id": 1, "seconds": {}}])", "node 1 can run on none of the devices"},
      {R"("nodes": [{"id": 1, "seconds": {"a": -1}}])", "the time of node 1 is no amount of 0 or more"},
      {R"("nodes": [{"id": 1, "seconds": {"a": 1}}, {"id": 1, "seconds": {"a": 1}}])",
       "node 1 is there twice"},
      {R"("nodes": [{"id": 1, "seconds": {"a": 1}, "byts": 1}])", "'byts' says nothing here"},
      {R"("nodes": [{"id": 1, "seconds": {"a": 1}}], "edges": [[1, 2]])",
       "an edge names node 2, and there is none"},
      {R"("nodes": [{"id": 1, "seconds": {"a": 1}}], "edges": [[1, 1]])",
       "the edges go in a circle: node 1 needs its own result"},
      {R"("nodes": [{"id": 1, "seconds": {"a": 1}}], "edges": [[1]])", "an edge is two nodes: [1, 3]"},
      {R"("nodes": [{"id": 1, "seconds": {"a": 1}, "transfer_bytes": 1, "transfer_seconds": 1}])",
       "node 1 has both 'transfer_seconds' and 'transfer_bytes'"}};
  for (const auto& [text, what] : cases) {
    try {
      read(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), what);
      EXPECT_EQ(error.where(), "f.json");
    }
  }
}

TEST(CostReader, SaysHowMuchIsMissing) {
  const std::string graph =
      R"({"devices": [{"class": "a", "memory_bytes": 100}], "nodes": [{"id": "big", "seconds": {"a": 1}, "bytes": 160}]})";
  try {
    read_costs(graph, "f.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "node 'big' fits no device: 60B are missing");
  }
}

}  // namespace
}  // namespace opscope
