// Trees: what they learn, and their text.
#include "hardware/predict/forest.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace opscope {
namespace {

// Two traits that decide, one of them by an edge, and one that says nothing.
struct Rows {
  std::vector<Traits> rows;
  std::vector<double> targets;

  explicit Rows(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      Traits row{};
      row[3] = static_cast<float>(i % 17), row[40] = static_cast<float>(i / 3 % 5),
      row[7] = static_cast<float>(i * 37 % 101);
      rows.push_back(row), targets.push_back(of(row));
    }
  }
  static double of(const Traits& row) {
    return (row[3] > 8 ? 0.5 : -0.2) + 0.05 * static_cast<double>(row[40]);
  }
};

TEST(Forest, LearnsAnEdge) {
  const Rows given(600);
  const Forest forest = grow_forest(given.rows, given.targets);
  double worst = 0;
  for (const Traits& row : given.rows) worst = std::max(worst, std::abs(forest.told(row) - Rows::of(row)));
  EXPECT_LT(worst, 0.05);
}

TEST(Forest, TellsWhatItDidNotSee) {
  const Rows given(600);
  const std::vector<double> told = told_when_left_out(given.rows, given.targets);
  double sum = 0;
  for (std::size_t i = 0; i < told.size(); ++i) sum += std::abs(told[i] - given.targets[i]);
  EXPECT_LT(sum / static_cast<double>(told.size()), 0.03);
}

TEST(Forest, IsNotMadeOfNextToNothing) {
  const Rows few(5);
  EXPECT_TRUE(grow_forest(few.rows, few.targets).empty());
  EXPECT_EQ(Forest().told(few.rows[0]), 0);
  EXPECT_EQ(Forest().text(), "|0|");
}

TEST(Forest, IsReadAsItWasWritten) {
  const Rows given(300);
  const Forest grown = grow_forest(given.rows, given.targets);
  const std::string text = grown.text();
  const Forest read = Forest::read(text);
  EXPECT_EQ(read.text(), text);
  for (const Traits& row : given.rows) EXPECT_NEAR(read.told(row), grown.told(row), 0.01);
}

TEST(Forest, RefusesWhatIsNoForest) {
  const std::string text = grow_forest(Rows(300).rows, Rows(300).targets).text();
  const std::vector<std::string> all = {"no trees",         "|x|",       text.substr(0, text.size() - 1),
                                        text + "A",         text + "-A", "A 1|0.5|AB-AA-AA",
                                        "A 1|0.5|\"A-AA-AA"};
  for (const std::string& wrong : all) EXPECT_THROW(Forest::read(wrong), Error) << wrong.substr(0, 40);
}

}  // namespace
}  // namespace opscope
