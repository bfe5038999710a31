// Follows each line of a sweep from value to value, and halves the stretch where it turns. What fits: three
// captures give the peak as a polynomial of the size; where that says the limit is, captures decide. Where
// they disagree with it, captures alone do, by doubling and halving.
#include "analyse/sweep/turns.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>

#include "analyse/profile/figures.h"
#include "base/choices.h"
#include "base/error.h"
#include "base/text.h"
#include "hardware/device.h"
#include "metrics/unit.h"

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

class Search {
 public:
  Search(const FitQuestion& question, const ProfileOptions& options, const FitCapture& capture)
      : question_(question), options_(options), capture_(capture) {
    answer_.question = question;
  }

  FitAnswer run() {
    if (!fits(0)) return finish(-1, seen(0).point ? FitAnswer::End::kNothing : FitAnswer::End::kFails);
    std::int64_t good = 0, bad = 1;  // in steps above the first
    if (const auto guess = guessed()) {
      good = *guess, bad = *guess + 1;
      if (good > 0 && !fits(good)) good = 0, bad = *guess;
    }
    while (fits(bad)) {
      good = bad;
      if (value(good) >= question_.most) return finish(good, FitAnswer::End::kUnlimited);
      bad = std::min(bad * 2, most_steps());
      if (bad == good) return finish(good, FitAnswer::End::kUnlimited);
    }
    while (bad - good > 1) {
      const std::int64_t middle = good + (bad - good) / 2;
      (fits(middle) ? good : bad) = middle;
    }
    return finish(good, seen(bad).point ? FitAnswer::End::kMemory : FitAnswer::End::kModel);
  }

 private:
  struct Seen {
    std::optional<FitPoint> point;
    std::string problem, inputs;
  };

  std::int64_t value(std::int64_t steps) const { return question_.first + steps * question_.step; }

  std::int64_t most_steps() const { return (question_.most - question_.first) / question_.step; }

  const Seen& seen(std::int64_t steps) {
    const auto [found, is_new] = seen_.try_emplace(steps);
    if (!is_new) return found->second;
    ++answer_.captures;
    capture_(value(steps), [&](const Graph* graph, const std::string& problem) {
      found->second.problem = problem;
      if (graph == nullptr) return;
      answer_.model = graph->capture.model, answer_.source = graph->capture.source;
      const Profile profile = make_profile(*graph, options_);
      positions_ = static_cast<std::int64_t>(graph->capture.facts.positions);
      FitPoint point{value(steps), figures_of(sample_of(*graph, options_), options_), {}, ""};
      point.need = memory_need(profile.memory(), question_.reserve);
      if (const OpId op = profile.memory().peak_op; op != kNone)
        point.peak_at = profile.layers()[profile.layer_of()[op]].name;
      found->second.point = std::move(point), found->second.inputs = inputs_text(*graph);
    });
    return found->second;
  }

  bool fits(std::int64_t steps) {
    const auto& point = seen(steps).point;
    return point && point->need.total() <= question_.memory;
  }

  // The largest that a polynomial through captures says would fit; nullopt where there is none.
  std::optional<std::int64_t> guessed() {
    for (const std::int64_t steps : {1, 2, 3})
      if (!fits(steps)) return std::nullopt;
    return by_polynomial({1, 2, 3});
  }

  // The last that fits, by the kinds of memory at three captures' peaks.
  std::optional<std::int64_t> by_polynomial(const std::array<std::int64_t, 3>& at) {
    const Interpolation interpolation(Grid{{at.begin(), at.end()}});
    std::vector<Polynomial> kinds;
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
      std::vector<std::uint64_t> bytes;
      for (const std::int64_t steps : at)
        bytes.push_back(seen(steps).point->figures.at_peak.bytes[kind].value());
      auto fitted = interpolation.fit(bytes);
      if (!fitted) return std::nullopt;
      kinds.push_back(*std::move(fitted));
    }
    if (std::ranges::all_of(kinds, &Polynomial::is_constant)) return std::nullopt;
    const auto under = [&](std::int64_t steps) {
      MemorySplit split;
      for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) {
        const auto bytes = kinds[kind].at(std::span(&steps, 1));
        if (!bytes) return false;
        split.bytes[kind] = *bytes;
      }
      return memory_need(split, question_.reserve).total() <= question_.memory;
    };
    std::int64_t low = at.back(), high = std::max<std::int64_t>(most_steps(), at.back() + 1);
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (under(middle) ? low : high) = middle;
    }
    return low;
  }

  // `good`: the steps to the largest that fits; -1 where none does.
  FitAnswer finish(std::int64_t good, FitAnswer::End end) {
    answer_.end = end;
    answer_.inputs = seen(std::max<std::int64_t>(good, 0)).inputs;
    if (good >= 0) answer_.best = seen(good).point;
    if (end == FitAnswer::End::kUnlimited) return answer_;
    answer_.next = seen(good + 1).point;
    answer_.problem = seen(good + 1).problem, answer_.problem_at = value(good + 1);
    if (end == FitAnswer::End::kMemory) say_what_grows();
    if (end == FitAnswer::End::kMemory || end == FitAnswer::End::kModel) find_second(good, end);
    return answer_;
  }

  void say_what_grows() {
    const MemorySplit &best = answer_.best->figures.at_peak, &next = answer_.next->figures.at_peak;
    for (std::size_t k = 0; k < kMemoryKinds; ++k)
      if (const Count more = next.bytes[k] - best.bytes[k]; more > answer_.growth)
        answer_.grows = static_cast<MemoryKind>(k), answer_.growth = more;
  }

  // Past the memory's end: the positions, where the size is counted in them. Past the model's: the memory, by
  // the captures that were made.
  void find_second(std::int64_t good, FitAnswer::End end) {
    const bool is_past = question_.variable == "past_len";
    if (end == FitAnswer::End::kMemory) {
      if (positions_ > 0 && (is_past || question_.variable == "seq_len"))
        answer_.second = {FitSecond::Kind::kPositions, positions_ - (is_past ? 1 : 0)};
      return;
    }
    if (good < 3 || !fits(good / 2) || !fits(good / 4)) return;
    if (good / 4 == good / 2 || good / 2 == good) return;
    if (const auto steps = by_polynomial({good / 4, good / 2, good}); steps && *steps + 1 < most_steps())
      answer_.second = {FitSecond::Kind::kMemory, value(*steps)};
  }

  const FitQuestion& question_;
  const ProfileOptions& options_;
  const FitCapture& capture_;
  FitAnswer answer_;
  std::map<std::int64_t, Seen> seen_;
  std::int64_t positions_ = 0;  // of the model; 0: not known
};

}  // namespace

std::string_view name(TurnKind kind) {
  return choices<TurnKind, TurnKind::kQuadratic>("ridge", "attention", "memory", "quadratic")[kind];
}

std::string_view name(FitSecond::Kind kind) {
  return choices<FitSecond::Kind, FitSecond::Kind::kMemory>("unknown", "positions", "memory")[kind];
}

double turn_ratio(TurnKind kind, const SweepFigures& figures, std::optional<Count> memory) {
  switch (kind) {
    case TurnKind::kRidge:
      return figures.totals.arithmetic_intensity() / figures.ridge;
    case TurnKind::kAttention:
      return ratio(figures.attention_flops, figures.linear_flops);
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

FitAnswer find_fit(const FitQuestion& question, const ProfileOptions& options, const FitCapture& capture) {
  return Search(question, options, capture).run();
}

FitQuestion fit_question(std::string variable, const std::string& memory, const std::string& reserve,
                         std::optional<std::int64_t> step, const Device* device) {
  FitQuestion question;
  std::ranges::replace(variable, '-', '_');
  question.variable = variable.empty() ? "batch" : std::move(variable);
  question.step = step.value_or(question.variable == "image_size" ? kImageStep : 1);
  if (question.step < 1) throw Error("a step is 1 or more", "--step", "for example 8");
  question.first = question.step;
  if (!memory.empty())
    question.memory = parse_bytes("--memory", memory);
  else if (device != nullptr && device->memory_size)
    question.memory = Count{static_cast<std::uint64_t>(device->memory_size->value)};
  else
    throw Error("how much memory is there?", "--memory", "for example --memory 24GiB, or --hardware l4");
  question.reserve = Reserve::from(reserve, question.memory, memory.empty());
  return question;
}

}  // namespace opscope
