// A profile saved and read back says what it said; older ones say what they do not know.
#include "readers/results/profile_reader.h"

#include <gtest/gtest.h>

#include "analyse/figures_text.h"
#include "analyse/measured_models.h"
#include "analyse/traced_models.h"
#include "base/error.h"
#include "graph/graph.h"
#include "graph/random_graph.h"
#include "readers/capture/capture_reader.h"
#include "readers/files/model_file.h"
#include "report/compare/report.h"

namespace opscope {
namespace {

ProfileOptions on(const char* device) {
  ProfileOptions options;
  options.hardware = find_device(device);
  return options;
}

void expect_same(const Graph& graph, const ProfileOptions& options = {}) {
  const Profile profile = make_profile(graph, options);
  const std::string json = to_json(profile);
  EXPECT_TRUE(looks_like_profile(json));
  EXPECT_EQ(classify_bytes(json), FileKind::kProfile);
  const Figures read = read_profile(json, "saved");
  EXPECT_EQ(test::text_of(read), test::text_of(figures_of(profile)));
  EXPECT_TRUE(read.is_saved);
}

TEST(ProfileReader, GivesTheFiguresThatWereSaved) {
  for (const ProfileOptions& options : {ProfileOptions(), on("h100-sxm"), on("l4")}) {
    expect_same(test::ResNet18::make(4), options);
    expect_same(test::shared_and_unknown(), options);
    expect_same(test::training_step(), options);
    expect_same(test::cut_in_three(), options);
    expect_same(test::measured_resnet18(false), options);
    expect_same(test::measured_training_step(true), options);
  }
  ProfileOptions fvcore;
  fvcore.convention = Convention::kFvcore;
  fvcore.ridge = 33.3;
  expect_same(test::ResNet18::make(), fvcore);
}

TEST(ProfileReader, GivesTheFiguresOfRandomGraphs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto graph = test::RandomGraph(seed).make(seed % 40);
    const Profile profile = make_profile(graph);
    ASSERT_EQ(test::text_of(read_profile(to_json(profile), "saved")), test::text_of(figures_of(profile)))
        << "seed " << seed;
  }
}

TEST(ProfileReader, KnowsWhatIsATrainingStepAndAMeasurement) {
  const auto step = test::measured_training_step(true);
  const Figures read = read_profile(to_json(make_profile(step)), "saved");
  EXPECT_TRUE(read.is_training);
  EXPECT_EQ(read.measured_on, "Some GPU");
  EXPECT_GT(read.totals.time_seconds(), 0);
}

TEST(ProfileReader, SaysWhatAnOlderProfileLacks) {
  const Figures read = read_profile(
      R"({"schema_version": 1, "opscope_version": "0.1.0", "model": "net",
          "totals": {"params": 3, "flops": 8, "macs": 4, "memory_bytes": 12, "input_bytes": 12, "ops": 1}})",
      "old.json");
  EXPECT_EQ(read.model, "net");
  EXPECT_EQ(read.totals.flops, Count(8));
  EXPECT_EQ(read.totals.memory_bytes(), Count(12));
  EXPECT_EQ(read.convention, "opscope");
  for (const char* field : {"peak_memory_bytes", "subgraphs", "fused_bytes", "coverage", "types", "layers"})
    EXPECT_FALSE(read.has(field)) << field;
  EXPECT_TRUE(read.has("flops"));
}

void expect_refused(std::string_view json, const std::string& why) {
  try {
    read_profile(json, "x.json");
    FAIL() << json;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    EXPECT_EQ(error.where(), "x.json");
    EXPECT_FALSE(error.hint().empty());
  }
}

// Damaged files end in an Error, or in figures that everything behind them can work with.
TEST(ProfileReader, DamagedProfilesDoNoHarm) {
  const std::string whole = to_json(make_profile(test::measured_training_step(true), on("l4")));
  test::Random random(7);
  for (int i = 0; i < 2000; ++i) {
    std::string damaged = whole;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n) {
      const std::size_t at = random.below(damaged.size());
      random.chance(3) ? void(damaged.erase(at, random.below(40)))
                       : void(damaged[at] = "0123456789-.,:\"{}[]eEn"[random.below(22)]);
    }
    try {
      const Figures figures = read_profile(damaged, "damaged");
      const auto compared = compare_models({{"a", figures, {}}, {"b", figures, {}}});
      to_format(compared, std::nullopt, Format::kText, {});
      to_format(compared, compare_parts(compared, CompareBy::kModule, metric_at("flops"), 9), Format::kJson,
                {});
    } catch (const Error&) {
      continue;
    }
  }
}

TEST(ProfileReader, RefusesWhatIsNoProfile) {
  const std::string profile = to_json(make_profile(test::ResNet18::make()));
  expect_refused("", "not JSON");
  expect_refused(profile.substr(0, profile.size() / 2), "not all of it");
  expect_refused("[1, 2]", "not JSON");
  expect_refused("{}", "no schema_version");
  expect_refused(R"({"schema_version": 99, "totals": {}})", "another version");
  expect_refused(write_json(test::ResNet18::make()), "a capture, not a profile");
  expect_refused(R"({"schema_version": 1, "opscope_version": "0.1.0", "lifetimes": "captured"})",
                 "not a profile");
  expect_refused(R"({"schema_version": 1, "totals": {"params": 3}})", "without total flops");
  expect_refused(R"({"schema_version": 1, "totals": {"params": "3"}})", "without total flops");
  expect_refused(
      R"({"schema_version": 1, "totals": {"params": "3", "flops": 1, "macs": 1, "memory_bytes": 1, "ops": 1}})",
      "'params' is not a whole number");
  expect_refused(
      R"({"schema_version": 1, "totals": {"params": 3, "flops": 1, "macs": 1, "memory_bytes": 1, "ops": 1,
          "time_seconds": -1.0}})",
      "'time_seconds' is not a time");
}

}  // namespace
}  // namespace opscope
