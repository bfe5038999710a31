// Sweeps over a small transformer: polynomials equal captures to the last byte, what is none is captured, and
// what the model does not take has its reason.
#include "analyse/sweep/sweep.h"

#include <gtest/gtest.h>

#include "analyse/sweep/turns.h"
#include "analyse/swept_model.h"

namespace opscope {
namespace {

using test::attention_model;
using test::Captures;

std::vector<std::int64_t> from_to(std::int64_t from, std::int64_t to) {
  std::vector<std::int64_t> values;
  for (std::int64_t value = from; value <= to; ++value) values.push_back(value);
  return values;
}

void expect_equal(const SweepFigures& a, const SweepFigures& b) {
  EXPECT_EQ(a.totals.work, b.totals.work);
  EXPECT_EQ(a.totals.traffic, b.totals.traffic);
  EXPECT_EQ(a.totals.flops, b.totals.flops);
  EXPECT_EQ(a.totals.ops, b.totals.ops);
  EXPECT_EQ(a.totals.roofline_time, b.totals.roofline_time);
  EXPECT_EQ(a.parameters.total, b.parameters.total);
  EXPECT_EQ(a.peak_memory_bytes, b.peak_memory_bytes);
  EXPECT_EQ(a.at_peak, b.at_peak);
  EXPECT_EQ(a.attention_flops, b.attention_flops);
  EXPECT_EQ(a.linear_flops, b.linear_flops);
  EXPECT_EQ(a.compute_bound_flops, b.compute_bound_flops);
  EXPECT_EQ(a.totals.predicted_time, b.totals.predicted_time);
  ASSERT_EQ(a.times.size(), b.times.size());
  for (std::size_t i = 0; i < a.times.size(); ++i) {
    EXPECT_EQ(a.times[i].metrics.predicted_time, b.times[i].metrics.predicted_time);
    EXPECT_EQ(a.times[i].metrics.predicted_variance, b.times[i].metrics.predicted_variance);
  }
}

TEST(Sweep, a_point_is_what_a_profile_says) {
  const Graph graph = attention_model(3, 20);
  ProfileOptions options;
  options.hardware = load_device("l4", "test");
  const Profile profile = make_profile(graph, options);
  const SweepFigures figures = figures_of(sample_of(graph, options), options);
  EXPECT_EQ(figures.totals.work, profile.totals.work);
  EXPECT_EQ(figures.totals.traffic, profile.totals.traffic);
  EXPECT_EQ(figures.totals.roofline_time, profile.totals.roofline_time);
  EXPECT_EQ(figures.parameters.total, profile.parameters.total);
  EXPECT_EQ(figures.peak_memory_bytes, profile.memory().peak_memory_bytes());
  EXPECT_EQ(figures.at_peak, profile.memory().at_peak);
  EXPECT_EQ(figures.compute_bound_flops, profile.bottlenecks().compute_bound.flops);
  EXPECT_DOUBLE_EQ(figures.ridge, profile.roofline.ridge);
  ProfileOptions other = options;
  other.hardware = load_device("h200", "test");
  const auto times = times_of(graph, options, std::span(&other, 1));
  ASSERT_EQ(times.size(), 2u);
  EXPECT_EQ(times[0].metrics.predicted_time, profile.totals.predicted_time);
  EXPECT_EQ(times[1].metrics.predicted_time, make_profile(graph, other).totals.predicted_time);
}

TEST(Sweep, polynomials_equal_captures) {
  SweepOptions options;
  options.profile.hardware = load_device("l4", "test");
  options.others.resize(1);
  options.others[0].hardware = load_device("h200", "test");
  const std::vector<SweepAxis> axes{numeric_axis("batch", from_to(1, 12)),
                                    numeric_axis("seq_len", from_to(1, 40))};
  Captures few{test::tiny_transformer()}, all{test::tiny_transformer()};
  Sweep fitted(axes, options);
  EXPECT_TRUE(fitted.uses_polynomials());
  fitted.run(few.take());
  options.way = SweepWay::kCapture;
  Sweep captured(axes, options);
  captured.run(all.take());
  EXPECT_EQ(all.taken.size(), 480u);
  EXPECT_LT(few.taken.size(), 60u);
  EXPECT_GT(fitted.result().confirmed, 8u);
  ASSERT_EQ(fitted.result().points.size(), 480u);
  for (std::size_t i = 0; i < 480; ++i) {
    ASSERT_NE(fitted.result().points[i].state, SweepState::kNotDone) << i;
    expect_equal(fitted.result().points[i].figures, captured.result().points[i].figures);
  }
}

TEST(Sweep, what_is_no_polynomial_is_captured_whole) {
  Captures padded{[](const SweepPlace& place) {
    return attention_model(place[0], (place[1] + 7) / 8 * 8);  // as models do that pad to windows
  }};
  Sweep sweep({numeric_axis("batch", from_to(2, 5)), numeric_axis("seq_len", from_to(2, 80))},
              {.profile = {}, .way = SweepWay::kPolynomial});
  sweep.run(padded.take());
  EXPECT_EQ(sweep.result().count(SweepState::kFitted), 0u);
  EXPECT_EQ(sweep.result().count(SweepState::kCaptured), 4u * 79u);
  ASSERT_EQ(sweep.result().notes.size(), 1u);
  EXPECT_EQ(sweep.result().notes[0],
            "batch 2 to 5, seq_len 2 to 80: not a polynomial, so every point was captured");
}

// A convolution's workspace is the larger of its weights and its rows: two polynomials, each in its part.
TEST(Sweep, what_turns_once_is_told_in_parts) {
  const auto larger_of_two = [](const SweepPlace& place) {
    Graph graph = attention_model(place[0], place[1]);
    graph.ops.front().workspace =
        static_cast<std::uint64_t>(std::max<std::int64_t>(4000, 60 * place[0] * place[1]));
    return graph;
  };
  const std::vector<SweepAxis> axes{numeric_axis("batch", from_to(2, 40)),
                                    numeric_axis("seq_len", from_to(2, 40))};
  Captures few{larger_of_two}, all{larger_of_two};
  Sweep fitted(axes, {.profile = {}, .way = SweepWay::kPolynomial});
  fitted.run(few.take());
  Sweep captured(axes, {.profile = {}, .way = SweepWay::kCapture});
  captured.run(all.take());
  EXPECT_GT(fitted.result().count(SweepState::kFitted), 700u);
  EXPECT_EQ(fitted.result().notes.size(), 1u);
  for (std::size_t i = 0; i < all.taken.size(); ++i) {
    ASSERT_NE(fitted.result().points[i].state, SweepState::kNotDone) << i;
    expect_equal(fitted.result().points[i].figures, captured.result().points[i].figures);
  }
}

TEST(Sweep, past_the_models_limit_are_rows_with_the_reason) {
  const auto limited = [](const SweepPlace& place) {
    if (place[1] > 33) throw test::Refused{"it has 33 positions"};
    return attention_model(place[0], place[1]);
  };
  for (const SweepWay way : {SweepWay::kCapture, SweepWay::kPolynomial}) {
    Captures captures{limited};
    Sweep sweep({numeric_axis("batch", from_to(1, 8)), numeric_axis("seq_len", from_to(1, 60))},
                {.profile = {}, .way = way});
    sweep.run(captures.take());
    EXPECT_EQ(sweep.result().count(SweepState::kFailed), 8u * 27u);
    for (std::size_t i = 0; i < sweep.result().points.size(); ++i) {
      const bool past = sweep.result().place(i)[1] > 33;
      const SweepPoint& point = sweep.result().points[i];
      EXPECT_EQ(point.state == SweepState::kFailed, past) << i;
      EXPECT_EQ(point.problem, past ? "it has 33 positions" : "") << i;
    }
  }
}

TEST(Sweep, words_are_axes_too) {
  Captures captures{[](const SweepPlace& place) {
    return attention_model(place[1], 16, place[0] == 0 ? DType::kFloat32 : DType::kBFloat16);
  }};
  Sweep sweep({worded_axis("dtype", {"float32", "bfloat16"}), numeric_axis("batch", {1, 2, 4})}, {});
  sweep.run(captures.take());
  const SweepResult& result = sweep.result();
  EXPECT_EQ(result.text_of(result.place(4), 0), "bfloat16");
  EXPECT_EQ(result.points[4].figures.totals.memory_bytes() * Count{2},
            result.points[1].figures.totals.memory_bytes());
}

TEST(Sweep, too_many_points_are_refused) {
  EXPECT_THROW(
      Sweep({numeric_axis("batch", from_to(1, 2000)), numeric_axis("seq_len", from_to(1, 2000))}, {}), Error);
}

TEST(SweepTurns, are_found_to_the_unit_between_the_values) {
  Captures captures{test::tiny_transformer()};
  Sweep sweep({numeric_axis("batch", {2, 4, 8, 16}), numeric_axis("seq_len", {16, 32, 64, 128, 256, 512})},
              {});
  sweep.run(captures.take());
  EXPECT_FALSE(sweep.uses_polynomials());
  const SweepResult& result = sweep.result();
  ASSERT_EQ(result.surfaces.size(), 1u);
  const FiguresAt at = [&](const SweepPlace& place) { return result.at(place); };
  // By hand: linear 2 n (64 + 256 + 256) + biases, attention 4 n^2 * 8 + softmax, per row of the batch.
  std::int64_t expected = 16;
  const auto ratio = [](std::int64_t n) {
    return turn_ratio(TurnKind::kAttention, figures_of(sample_of(attention_model(2, n), {}), {}), {});
  };
  while (ratio(expected) <= 1) ++expected;
  bool found = false;
  for (const Turn& turn : find_turns(result, Count{100000}, at)) {
    if (turn.kind != TurnKind::kAttention) continue;
    found = true;
    ASSERT_EQ(turn.lines.size(), 4u);
    for (const TurnLine& line : turn.lines) {
      EXPECT_EQ(line.course, TurnLine::Course::kCrosses);
      EXPECT_EQ(line.after, expected);
      EXPECT_EQ(line.before, expected - 1);
      EXPECT_TRUE(line.upward);
    }
  }
  EXPECT_TRUE(found);
}

TEST(SweepTurns, memory_limits_hold_at_the_crossing) {
  Captures captures{test::tiny_transformer()};
  Sweep sweep({numeric_axis("batch", {1, 2, 4, 8, 16, 32, 64, 128})}, {});
  Captures one{[](const SweepPlace& place) { return attention_model(place[0], 50); }};
  sweep.run(one.take());
  const SweepResult& result = sweep.result();
  const Count limit{400000};
  const auto turns = find_turns(result, limit, [&](const SweepPlace& place) { return result.at(place); });
  const auto memory = std::ranges::find(turns, TurnKind::kMemory, &Turn::kind);
  ASSERT_NE(memory, turns.end());
  const TurnLine& line = memory->lines.front();
  ASSERT_EQ(line.course, TurnLine::Course::kCrosses);
  const auto peak = [](std::int64_t batch) {
    return make_profile(attention_model(batch, 50)).memory().peak_memory_bytes();
  };
  EXPECT_EQ(line.after, line.before + 1);
  EXPECT_LE(peak(line.before), limit);
  EXPECT_GT(peak(line.after), limit);
}

}  // namespace
}  // namespace opscope
