// Where a model's behaviour turns within a sweep: its intensity passes the ridge, attention overtakes the
// linear layers, its memory passes a limit, squares dominate.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "analyse/sweep/sweep.h"

namespace opscope {

enum class TurnKind : std::uint8_t { kRidge, kAttention, kMemory, kQuadratic };
std::string_view name(TurnKind kind);  // "ridge", "attention", "memory", "quadratic"

// One line through the sweep, along its axis, with all others held.
struct TurnLine {
  enum class Course : std::uint8_t { kCrosses, kAbove, kBelow };
  SweepPlace held;  // the axis' own entry aside
  Course course = Course::kBelow;
  std::int64_t before = 0, after = 0;  // crosses: the last value on the one side, the first on the other
  bool upward = true;
  double nearest = 0;  // value over threshold where it comes closest, for lines that do not cross
  std::int64_t nearest_at = 0;

  bool is_exact(std::int64_t step) const { return after - before == step; }
};

struct Turn {
  TurnKind kind = TurnKind::kRidge;
  std::size_t axis = 0;
  std::int64_t step = 1;  // of the axis: sides of images go in steps of 32
  std::vector<TurnLine> lines;
};

// Figures at a place that is no point of the sweep; nullopt where nobody can tell.
using FiguresAt = std::function<std::optional<SweepFigures>(const SweepPlace&)>;

// `memory`: the limit, where there is one. Crossings are narrowed down by `at`.
std::vector<Turn> find_turns(const SweepResult& result, std::optional<Count> memory, const FiguresAt& at);

// By how much a point is past what the turn is about: above 1, it is.
double turn_ratio(TurnKind kind, const SweepFigures& figures, std::optional<Count> memory);

}  // namespace opscope
