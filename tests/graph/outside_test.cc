// What passes outside of ops, on runs made by hand.
#include "graph/outside.h"

#include <gtest/gtest.h>

namespace opscope {
namespace {

struct Piece {
  ScopeId scope;
  OpId after, before;
  Nanoseconds begin, end;
  bool operator==(const Piece&) const = default;
};

std::vector<Piece> pieces(const HostRun& run) {
  std::vector<Piece> found;
  each_outside(run, [&](const OutsidePiece& p) {
    found.push_back({p.scope, p.after, p.before, p.begin, p.end});
  });
  return found;
}

// The model calls scope 1, which runs op 0, sleeps and runs op 1; then it runs op 2 itself.
HostRun sleepy() {
  return {.began = 100,
          .ended = 1000,
          .calls = {{0, 110, 990}, {1, 150, 800}},
          .ops = {{0, 200, 250}, {1, 700, 750}, {2, 900, 950}}};
}

TEST(Outside, IsOfTheInnermostCall) {
  const std::vector<Piece> expected{{0, kNone, 0, 100, 110}, {0, kNone, 0, 110, 150}, {1, kNone, 0, 150, 200},
                                    {1, 0, 1, 250, 700},     {1, 1, 2, 750, 800},     {0, 1, 2, 800, 900},
                                    {0, 2, kNone, 950, 990}, {0, 2, kNone, 990, 1000}};
  EXPECT_EQ(pieces(sleepy()), expected);
}

TEST(Outside, AndOpsAreTheWholeRun) {
  Nanoseconds sum = 50 + 50 + 50;
  for (const Piece& piece : pieces(sleepy())) sum += piece.end - piece.begin;
  EXPECT_EQ(sum, 900u);
}

TEST(Outside, HasNoTimeInWhichAnyThreadRunsAnOp) {
  const HostRun run{.began = 0, .ended = 100, .calls = {{0, 0, 100}}, .ops = {{0, 10, 60}, {1, 40, 80}}};
  const std::vector<Piece> expected{{0, kNone, 0, 0, 10}, {0, 1, kNone, 80, 100}};
  EXPECT_EQ(pieces(run), expected);
}

TEST(Outside, OfAnUnknownModuleIsOfWhoCallsIt) {
  const HostRun run{
      .began = 0, .ended = 100, .calls = {{0, 0, 100}, {2, 10, 90}, {kNone, 20, 80}}, .ops = {}};
  for (const Piece& piece : pieces(run))
    EXPECT_EQ(piece.scope, piece.begin >= 10 && piece.end <= 90 ? 2u : 0u);
}

TEST(Outside, CallsOfThreadsNeedNotNest) {
  const HostRun run{.began = 0, .ended = 50, .calls = {{0, 0, 50}, {1, 10, 30}, {2, 20, 40}}, .ops = {}};
  const std::vector<Piece> expected{{0, kNone, kNone, 0, 10},
                                    {1, kNone, kNone, 10, 20},
                                    {2, kNone, kNone, 20, 30},
                                    {2, kNone, kNone, 30, 40},
                                    {0, kNone, kNone, 40, 50}};
  EXPECT_EQ(pieces(run), expected);
}

TEST(Outside, OfCallsThatNeverEndedIsOfWhoCallsThem) {
  const HostRun run{.began = 10, .ended = 50, .calls = {{0, 10, 50}, {1, 20, 0}}, .ops = {{0, 30, 0}}};
  for (const Piece& piece : pieces(run)) EXPECT_EQ(piece.scope, 0u);
}

TEST(OutsideLines, AreThoseThatRanInBetween) {
  HostRun run = sleepy();
  for (auto* spans : {&run.calls})
    for (auto& call : *spans) call.begin *= 1000, call.end *= 1000;
  for (auto& op : run.ops) op.begin *= 1000, op.end *= 1000;
  run.began *= 1000, run.ended *= 1000;
  const LineSteps steps{.lines = {"m.py:1", "m.py:2", "m.py:3"},
                        .steps = {{150'000, 0}, {260'000, 1}, {690'000, 2}, {760'000, kNone}}};
  const auto lines = outside_lines(run, steps);
  ASSERT_GE(lines.size(), 3u);
  EXPECT_EQ(lines[0].source, "m.py:2");
  EXPECT_EQ(lines[0].scope, 1u);
  EXPECT_EQ(lines[0].time, 430'000u);
  EXPECT_EQ(lines[0].after, 0u);
  EXPECT_EQ(lines[0].before, 1u);
  EXPECT_EQ(lines[0].count, 1u);
  Nanoseconds sum = 0;
  for (const auto& line : lines) sum += line.time;
  EXPECT_EQ(sum, 750'000u);
}

TEST(OutsideLines, ThatWaitForTheDeviceAreKeptApart) {
  const HostRun run{.began = 0, .ended = 90'000, .calls = {{0, 0, 90'000}}, .ops = {}};
  const LineSteps steps{.lines = {"m.py:1"}, .steps = {{0, 0}, {10'000, 0, true}, {80'000, 0}}};
  const auto lines = outside_lines(run, steps);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].waits);
  EXPECT_EQ(lines[0].time, 70'000u);
  EXPECT_FALSE(lines[1].waits);
  EXPECT_EQ(lines[1].time, 20'000u);
}

TEST(OutsideLines, AreNoneWithoutSteps) { EXPECT_TRUE(outside_lines(sleepy(), {}).empty()); }

}  // namespace
}  // namespace opscope
