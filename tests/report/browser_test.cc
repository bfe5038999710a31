// The browser without a terminal: keys in, lines out.
#include "report/browser/browser.h"

#include <gtest/gtest.h>

#include <numeric>

#include "analyse/small_models.h"
#include "base/text.h"

namespace opscope {
namespace {

std::string text_of(const ScreenLine& line) {
  std::string text;
  for (const Piece& piece : line) text += piece.text;
  return text;
}

class BrowserTest : public ::testing::Test {
 protected:
  void type(std::string_view keys) {
    for (const char c : keys) EXPECT_TRUE(browser.press({Key::kText, std::string(1, c)}));
  }
  void press(Key key) { EXPECT_TRUE(browser.press({key, {}})); }
  std::string screen(int width = 100, int height = 30) {
    std::string text;
    for (const ScreenLine& line : browser.draw(width, height).lines) text += text_of(line) + "\n";
    return text;
  }
  bool shows(std::string_view text) { return screen().find(text) != std::string::npos; }

  const Graph graph = test::ResNet18::make();
  const Profile profile = make_profile(graph);
  Browser browser{profile};
};

TEST_F(BrowserTest, LinesFillTheScreenExactly) {
  for (const auto& [width, height] : {std::pair(80, 24), std::pair(40, 10), std::pair(200, 60)}) {
    for (const char* keys : {"", "e", "m", "b", "?"}) {
      type(keys);
      const Screen drawn = browser.draw(width, height);
      ASSERT_EQ(drawn.lines.size(), static_cast<std::size_t>(height));
      for (const ScreenLine& line : drawn.lines)
        EXPECT_EQ(display_width(text_of(line)), width) << text_of(line);
    }
    type(" ");
  }
}

TEST_F(BrowserTest, BeginsWithTheModelAndItsModulesInTheOrderTheyRun) {
  const std::string text = screen();
  EXPECT_LT(text.find("conv1"), text.find("layer1"));
  EXPECT_LT(text.find("layer4"), text.find("flatten"));
  EXPECT_LT(text.find("flatten"), text.find("fc  Linear"));
  EXPECT_EQ(browser.chosen().name, "resnet18");
  EXPECT_TRUE(shows("11.69M params"));
}

TEST_F(BrowserTest, FoldsAndUnfolds) {
  const std::size_t rows = browser.row_count();
  press(Key::kLeft);
  EXPECT_EQ(browser.row_count(), 1u);
  press(Key::kRight);
  EXPECT_EQ(browser.row_count(), rows);
  press(Key::kRight);
  EXPECT_EQ(browser.chosen().name, "conv1");
  press(Key::kEnter);
  EXPECT_EQ(browser.row_count(), rows + 1);
  press(Key::kDown);
  EXPECT_EQ(browser.chosen().type, "aten::conv2d");
  EXPECT_TRUE(shows("MACs"));
  EXPECT_TRUE(shows("Subgraph #1"));
  press(Key::kLeft);
  EXPECT_EQ(browser.chosen().name, "conv1");
  press(Key::kHome);
  type("e");
  EXPECT_EQ(browser.row_count(), 68u + 16u + 69u);  // modules, two calls of each block's relu, ops
  type("c");
  EXPECT_EQ(browser.row_count(), 1u);
}

TEST_F(BrowserTest, Searches) {
  type("/DOWNSAMPLE");
  EXPECT_TRUE(shows("/DOWNSAMPLE"));
  press(Key::kEnter);
  EXPECT_EQ(browser.chosen().path, "layer2.0.downsample");
  type("n");
  EXPECT_EQ(browser.chosen().path, "layer2.0.downsample.0");
  type("NN");
  EXPECT_EQ(browser.chosen().parent == kNone ? "" : browser.chosen().path.substr(0, 17), "layer4.0.downsamp");
  type("/nowhere");
  press(Key::kBackspace);
  press(Key::kEnter);
  EXPECT_TRUE(shows("nothing has 'nowher'"));
  type("/");
  press(Key::kEscape);
  type("n");
  EXPECT_TRUE(shows("/ looks for"));
}

TEST_F(BrowserTest, SortsByWhatCosts) {
  type("s");
  const std::string text = screen();
  EXPECT_TRUE(shows("order: FLOPs"));
  EXPECT_LT(text.find("layer3"), text.find("maxpool"));
  type("ssssss");  // memory, ops, intensity, parameters, MACs
  EXPECT_TRUE(shows("order: run"));
}

TEST_F(BrowserTest, LeavesOutWhatCostsLittle) {
  EXPECT_TRUE(shows("maxpool"));
  type("b");
  EXPECT_FALSE(shows("maxpool"));
  EXPECT_TRUE(shows("1% or more"));
  type("/maxpool");
  press(Key::kEnter);
  EXPECT_EQ(browser.chosen().name, "maxpool");
  EXPECT_TRUE(shows("maxpool"));
}

TEST_F(BrowserTest, MeasuresMemoryParametersAndIntensity) {
  type("m");
  EXPECT_TRUE(shows("by bytes moved"));
  type("mm");
  EXPECT_TRUE(shows("by FLOPs per byte"));
  type("m");
  EXPECT_TRUE(shows("by parameters"));
  EXPECT_TRUE(shows("513.00K"));
  type("mm");
  EXPECT_TRUE(shows("by FLOPs"));
}

TEST_F(BrowserTest, HelpsAndLeaves) {
  type("?");
  EXPECT_TRUE(shows("any key goes back"));
  type("q");  // closes the help
  EXPECT_FALSE(shows("any key goes back"));
  type("x");
  EXPECT_TRUE(shows("no such key"));
  EXPECT_FALSE(browser.press({Key::kText, "q"}));
}

TEST_F(BrowserTest, KeepsTheChosenItemInSight) {
  press(Key::kHome);
  type("e");
  press(Key::kEnd);
  EXPECT_NE(screen(80, 24).find("linear"), std::string::npos);
  press(Key::kPageUp);
  press(Key::kHome);
  EXPECT_NE(screen(80, 24).find("resnet18"), std::string::npos);
}

TEST(BrowserTree, HoldsEveryOpOnce) {
  const Graph graph = test::shared_and_unknown();
  const Profile profile = make_profile(graph);
  const BrowserTree tree(profile);
  std::vector<OpId> all(graph.ops.size());
  std::iota(all.begin(), all.end(), OpId{0});
  EXPECT_EQ(tree.ops_below(0), all);
}

}  // namespace
}  // namespace opscope
