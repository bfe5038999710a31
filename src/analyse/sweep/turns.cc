// Follows each line of a sweep from value to value, and halves the stretch where it turns.
#include "analyse/sweep/turns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/choices.h"

namespace opscope {
namespace {

using Course = TurnLine::Course;

// The axes along which a turn is looked for, the first that the sweep has.
std::optional<std::size_t> axis_for(TurnKind kind, const SweepResult& result) {
  static constexpr std::array<std::string_view, 4> kLengths{"seq_len", "image_size", "past_len", ""};
  static constexpr std::array<std::string_view, 4> kSizes{"batch", "seq_len", "image_size", "past_len"};
  const bool by_length = kind == TurnKind::kAttention || kind == TurnKind::kQuadratic;
  const auto usable = [&](std::size_t a) { return result.axes[a].numeric && result.axes[a].size() > 1; };
  for (const std::string_view wanted : by_length ? kLengths : kSizes)
    for (std::size_t a = 0; a < result.axes.size(); ++a)
      if (usable(a) && result.axes[a].name == wanted) return a;
  for (std::size_t a = 0; a < result.axes.size(); ++a)
    if (usable(a) && (!by_length || result.axes[a].name != "batch")) return a;
  return std::nullopt;
}

std::int64_t step_of(const SweepAxis& axis) {
  if (axis.name != "image_size") return 1;
  std::int64_t step = 0;
  for (const std::int64_t each : axis.numbers) step = std::gcd(step, each - axis.numbers.front());
  return std::gcd(step, kImageStep);
}

// What share of the FLOPs grows with the square of a length: from three values next to each other.
std::optional<double> quadratic_share(SweepPlace place, std::size_t axis, const SweepResult& result) {
  const std::int64_t n = place[axis];
  std::array<double, 4> flops{};
  for (std::size_t i = 0; i < flops.size(); ++i) {
    place[axis] = n - 3 + static_cast<std::int64_t>(i);
    const auto figures = place[axis] < 2 ? std::nullopt : result.at(place);
    if (!figures) return std::nullopt;
    flops[i] = static_cast<double>(figures->totals.flops);
  }
  const double first = flops[2] - 2 * flops[1] + flops[0], second = flops[3] - 2 * flops[2] + flops[1];
  if (std::fabs(first - second) > 1e-9 * flops[3] || flops[3] <= 0) return std::nullopt;  // no square
  const double squared = second / 2 * static_cast<double>(n) * static_cast<double>(n);
  return squared / flops[3];
}

// Follows lines along one axis.
struct Follower {
  const SweepResult& result;
  TurnKind kind;
  std::size_t axis;
  std::optional<Count> memory;
  const FiguresAt& at;
  std::vector<std::int64_t> values = result.axes[axis].numbers;  // sorted before use

  std::optional<TurnLine> follow(const SweepPlace& held) const {
    TurnLine line{.held = held};
    std::optional<std::int64_t> last;
    for (const std::int64_t value : values) {
      const auto ratio = ratio_at(held, value, true);
      if (!ratio) continue;
      if (!last || std::fabs(*ratio - 1) < std::fabs(line.nearest - 1))
        line.nearest = *ratio, line.nearest_at = value;
      const bool above = *ratio > 1;
      if (last && line.course == (above ? Course::kBelow : Course::kAbove)) {
        line.upward = above, line.course = Course::kCrosses;
        narrow(line, *last, value);
      } else if (line.course != Course::kCrosses) {
        line.course = above ? Course::kAbove : Course::kBelow;
      }
      last = value;
    }
    return last ? std::optional(std::move(line)) : std::nullopt;
  }

  std::optional<double> ratio_at(SweepPlace place, std::int64_t value, bool listed) const {
    place[axis] = value;
    if (kind == TurnKind::kQuadratic) {
      const auto share = quadratic_share(place, axis, result);
      return share ? std::optional(2 * *share) : std::nullopt;
    }
    const auto figures = listed ? result.at(place) : at(place);
    return figures ? std::optional(turn_ratio(kind, *figures, memory)) : std::nullopt;
  }

  void narrow(TurnLine& line, std::int64_t low, std::int64_t high) const {
    const std::int64_t step = step_of(result.axes[axis]);
    while (high - low > step) {
      const std::int64_t middle = low + std::max<std::int64_t>((high - low) / step / 2, 1) * step;
      const auto ratio = ratio_at(line.held, middle, false);
      if (!ratio) break;
      ((*ratio > 1) == line.upward ? high : low) = middle;
    }
    line.before = low, line.after = high;
  }
};

bool applies(TurnKind kind, const SweepResult& result, std::optional<Count> memory) {
  if (kind == TurnKind::kMemory) return memory.has_value();
  if (kind == TurnKind::kRidge) return true;
  return std::ranges::any_of(result.points, [](const SweepPoint& point) {
    return point.figures.attention_flops && point.figures.linear_flops;
  });
}

}  // namespace

std::string_view name(TurnKind kind) {
  return choices<TurnKind, TurnKind::kQuadratic>("ridge", "attention", "memory", "quadratic")[kind];
}

double turn_ratio(TurnKind kind, const SweepFigures& figures, std::optional<Count> memory) {
  switch (kind) {
    case TurnKind::kRidge:
      return figures.totals.arithmetic_intensity() / figures.ridge;
    case TurnKind::kAttention:
      return figures.linear_flops
                 ? static_cast<double>(figures.attention_flops) / static_cast<double>(figures.linear_flops)
                 : 0;
    case TurnKind::kMemory:
      return static_cast<double>(figures.peak_memory_bytes) / static_cast<double>(*memory);
    case TurnKind::kQuadratic:
      break;
  }
  return 0;
}

std::vector<Turn> find_turns(const SweepResult& result, std::optional<Count> memory, const FiguresAt& at) {
  constexpr std::size_t kMostLines = 4096;
  std::vector<Turn> turns;
  for (const TurnKind kind :
       {TurnKind::kRidge, TurnKind::kAttention, TurnKind::kQuadratic, TurnKind::kMemory}) {
    if (!applies(kind, result, memory)) continue;
    const auto axis = axis_for(kind, result);
    if (!axis || result.points.size() / result.axes[*axis].size() > kMostLines) continue;
    Turn turn{.kind = kind, .axis = *axis, .step = step_of(result.axes[*axis]), .lines = {}};
    Follower follower{result, kind, *axis, memory, at};
    std::ranges::sort(follower.values);
    std::vector<std::vector<std::int64_t>> held_values;  // of the other axes
    for (const SweepAxis& each : result.axes) held_values.push_back(each.numbers);
    held_values[*axis] = {0};
    for (const SweepPlace& held : combinations(held_values))
      if (auto line = follower.follow(held)) turn.lines.push_back(*std::move(line));
    if (!turn.lines.empty()) turns.push_back(std::move(turn));
  }
  return turns;
}

}  // namespace opscope
