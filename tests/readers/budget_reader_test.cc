// Budget files, and what is wrong with some.
#include "readers/results/budget_reader.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace opscope {
namespace {

TEST(BudgetFile, HasLimitsOfTheWholeAndOfParts) {
  const auto models = read_budget(
      "[max]\nflops = \"4.2G\"\nparams = 12_000_000\n[min]\narithmetic_intensity = 20.5\n"
      "[modules.\"layer1.0\"]\nparams = \"74K\"\n[modules.\"layer1.0\".min]\nflops = 1\n[types.conv2d]\nops "
      "= 20\n"
      "[max_increase]\nflops = \"2%\"\n",
      "b.toml");
  ASSERT_EQ(models.size(), 1U);
  EXPECT_EQ(models[0].spec, "");
  ASSERT_EQ(models[0].limits.size(), 7U);
  const auto find = [&](const std::string& module, LimitKind kind) {
    return std::ranges::find_if(models[0].limits,
                                [&](const BudgetLimit& l) { return l.module == module && l.kind == kind; });
  };
  EXPECT_EQ(find("layer1.0", LimitKind::kMost)->amount.count, Count{74'000});
  EXPECT_EQ(find("layer1.0", LimitKind::kLeast)->where, "b.toml:9");
  EXPECT_EQ(find("", LimitKind::kIncrease)->percent, 2.0);
  EXPECT_EQ(find("", LimitKind::kLeast)->amount.real, 20.5);
}

TEST(BudgetFile, HasModelsWithTheirFlags) {
  const auto models = read_budget(
      "[max]\nops = 1000\n[[model]]\nspec = \"resnet18\"\nbatch = 8\nimage_size = [224, 224]\n"
      "max = { flops = \"30G\" }\n[[model]]\nspec = \"gpt2\"\n[model.max]\nparams = \"125M\"\n",
      "b.toml");
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].spec, "resnet18");
  EXPECT_EQ(models[0].limits.size(), 2U);
  EXPECT_EQ(models[1].limits.size(), 2U);
  using Flags = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(models[0].flags, (Flags{{"batch", "8"}, {"image_size", "224,224"}}));
}

TEST(BudgetFile, AListOfTextsIsAFlagGivenSeveralTimes) {
  const auto models = read_budget(
      "[[model]]\nspec = \"net.py:make\"\ninput_shape = [\"x=1,3\", \"y=2\"]\ntraining = true\n", "b.toml");
  using Flags = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(models[0].flags, (Flags{{"input_shape", "x=1,3"}, {"input_shape", "y=2"}, {"training", "true"}}));
}

struct Wrong {
  const char* toml;
  const char* where;
};

TEST(BudgetFile, SaysWhereItIsWrong) {
  for (const Wrong& wrong :
       {Wrong{"[max]\nflops = \n", "b.toml:2"}, Wrong{"[max]\nflop = 1\n", "b.toml:2"},
        Wrong{"[max]\nflops = \"4Q\"\n", "b.toml:2"}, Wrong{"[maxx]\nflops = 1\n", "b.toml:1"},
        Wrong{"max = 3\n", "b.toml:1"}, Wrong{"[[model]]\nbatch = 1\n", "b.toml:1"},
        Wrong{"[model]\nspec = \"x\"\n", "b.toml:1"},
        Wrong{"[modules.layer1.conv1]\nflops = 1\n", "b.toml:1"}, Wrong{"[max]\nflops = -1\n", "b.toml:2"},
        Wrong{"[max_increase]\nflops = \"x%\"\n", "b.toml:2"}}) {
    try {
      read_budget(wrong.toml, "b.toml");
      ADD_FAILURE() << wrong.toml;
    } catch (const Error& error) {
      EXPECT_EQ(error.where(), wrong.where) << wrong.toml << error.what();
    }
  }
}

}  // namespace
}  // namespace opscope
