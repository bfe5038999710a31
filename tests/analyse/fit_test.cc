// What fits: the answer and the value above it, the model's own end, and memories that hold nothing.
#include <gtest/gtest.h>

#include "analyse/sweep/turns.h"
#include "analyse/swept_model.h"
#include "base/error.h"

namespace opscope {
namespace {

using End = FitAnswer::End;
using test::attention_model;

Count peak_of(std::int64_t batch) {
  return make_profile(attention_model(batch, 50)).memory().peak_memory_bytes();
}

FitAnswer fit_into(Count memory, std::int64_t limit = std::int64_t{1} << 40, Count reserve = {}) {
  FitQuestion question;
  question.memory = memory, question.reserve = {.by_default = false, .fixed = reserve};
  return find_fit(question, {}, [&](std::int64_t value, const auto& give) {
    if (value > limit) return give(nullptr, "no more than that");
    const Graph graph = attention_model(value, 50);
    give(&graph, "");
  });
}

TEST(Fit, the_answer_fits_and_one_more_does_not) {
  for (const std::int64_t batch : {1, 2, 3, 4, 7, 64, 1000}) {
    const FitAnswer answer = fit_into(peak_of(batch));
    ASSERT_TRUE(answer.best && answer.next) << batch;
    EXPECT_EQ(answer.end, End::kMemory);
    EXPECT_EQ(answer.best->value, batch);
    EXPECT_EQ(answer.best->figures.peak_memory_bytes, peak_of(batch));
    EXPECT_EQ(answer.next->value, batch + 1);
    EXPECT_LT(answer.captures, 30u);
  }
}

TEST(Fit, the_reserve_is_kept_free) {
  const Count memory = peak_of(64);
  EXPECT_EQ(fit_into(memory, 1 << 20, memory - peak_of(20)).best->value, 20);
}

TEST(Fit, the_models_own_end_comes_first) {
  const FitAnswer answer = fit_into(peak_of(1000), 37);
  EXPECT_EQ(answer.end, End::kModel);
  EXPECT_EQ(answer.best->value, 37);
  EXPECT_EQ(answer.problem_at, 38);
  EXPECT_EQ(answer.problem, "no more than that");
  EXPECT_FALSE(answer.next);
}

TEST(Fit, nothing_fits_or_nothing_runs) {
  const FitAnswer small = fit_into(Count{10});
  EXPECT_EQ(small.end, End::kNothing);
  EXPECT_FALSE(small.best);
  ASSERT_TRUE(small.next);
  EXPECT_EQ(small.next->value, 1);
  EXPECT_EQ(fit_into(Count{1} + peak_of(4), 0).end, End::kFails);
}

TEST(Fit, the_predicted_time_is_a_limit_too) {
  ProfileOptions options;
  options.hardware = load_device("h200", "test"), options.mode = RunMode::kGraph;
  const auto time_of = [&](std::int64_t batch) {
    return make_profile(attention_model(batch, 50), options).totals.predicted_time;
  };
  const auto within = [&](Count time, Count memory) {
    FitQuestion question;
    question.max_time = time, question.memory = memory;
    return find_fit(question, options, [&](std::int64_t value, const auto& give) {
      const Graph graph = attention_model(value, 50);
      give(&graph, "");
    });
  };
  const Count limit = time_of(150'000);
  const FitAnswer alone = within(limit, Count{}), both = within(limit, peak_of(400'000));
  for (const FitAnswer& answer : {alone, both}) {
    EXPECT_EQ(answer.end, End::kTime);
    ASSERT_TRUE(answer.best && answer.next);
    EXPECT_LE(answer.best->figures.totals.predicted_time, limit);
    EXPECT_GT(answer.next->figures.totals.predicted_time, limit);
    EXPECT_EQ(answer.best->figures.totals.predicted_time, time_of(answer.best->value));
    EXPECT_LT(answer.best->time.low, answer.best->figures.totals.predicted_seconds());
  }
  // Trees have edges, so the limit is crossed more than once; each search ends at one of these places.
  EXPECT_NEAR(static_cast<double>(alone.best->value), static_cast<double>(both.best->value), 300);
  EXPECT_EQ(alone.second.kind, FitSecond::Kind::kUnknown);
  EXPECT_EQ(both.second.kind, FitSecond::Kind::kMemory);
  EXPECT_EQ(both.second.at, 400'000);
  const FitAnswer memory_first = within(limit, peak_of(50'000));
  EXPECT_EQ(memory_first.end, End::kMemory);
  EXPECT_EQ(memory_first.second.kind, FitSecond::Kind::kTime);
  EXPECT_GT(memory_first.second.at, 50'000);
  EXPECT_EQ(within(Count{1}, Count{}).end, End::kNothing);
}

TEST(Fit, questions_from_words) {
  const FitQuestion plain = fit_question("", {"24GiB", "", ""}, std::nullopt, nullptr);
  EXPECT_EQ(plain.variable, "batch");
  EXPECT_EQ(plain.memory, Count{std::uint64_t{24} << 30});
  EXPECT_TRUE(plain.reserve.by_default);
  EXPECT_EQ(plain.reserve.fixed, Count{});
  const DevicePointer device = load_device("l4", "test");
  EXPECT_EQ(fit_question("seq-len", {}, std::nullopt, device.get()).reserve.fixed, kContextBytes);
  EXPECT_EQ(fit_question("image-size", {"1000", "", "10%"}, std::nullopt, nullptr).reserve.fixed, Count{100});
  EXPECT_FALSE(fit_question("image-size", {"1000", "", "0"}, std::nullopt, nullptr).reserve.by_default);
  EXPECT_EQ(fit_question("image-size", {"1000", "", ""}, std::nullopt, nullptr).step, 32);
  EXPECT_EQ(fit_question("", {"", "20ms", ""}, std::nullopt, device.get()).max_time, Count{20'000'000'000});
  EXPECT_THROW(fit_question("", {"1GiB", "20ms", ""}, std::nullopt, nullptr), Error);
  EXPECT_THROW(fit_question("", {"", "0", ""}, std::nullopt, device.get()), Error);
  EXPECT_THROW(fit_question("", {"", "abc", ""}, std::nullopt, device.get()), Error);
  EXPECT_THROW(fit_question("", {}, std::nullopt, nullptr), Error);
  EXPECT_THROW(fit_question("", {"24 cows", "", ""}, std::nullopt, nullptr), Error);
  EXPECT_THROW(fit_question("", {"1GiB", "", "2GiB"}, std::nullopt, nullptr), Error);
  EXPECT_THROW(fit_question("", {"1GiB", "", "x%"}, std::nullopt, nullptr), Error);
}

}  // namespace
}  // namespace opscope
