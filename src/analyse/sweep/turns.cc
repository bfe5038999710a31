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

bool is_of_time(TurnKind kind) { return kind == TurnKind::kHost || kind == TurnKind::kDevice; }

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
  std::size_t axis, device;
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
    if (!figures || (is_of_time(kind) && figures->times.size() <= device)) return std::nullopt;
    return turn_ratio(kind, *figures, memory, device);
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

bool applies(TurnKind kind, const SweepResult& result, std::optional<Count> memory, std::size_t device) {
  if (kind == TurnKind::kMemory) return memory.has_value();
  if (kind == TurnKind::kRidge) return true;
  if (kind == TurnKind::kDevice) return device > 0;
  if (kind == TurnKind::kHost)
    return std::ranges::any_of(result.points, [&](const SweepPoint& point) {
      return device < point.figures.times.size() && point.figures.times[device].metrics.predicted_wait;
    });
  return std::ranges::any_of(result.points, [](const SweepPoint& point) {
    return point.figures.attention_flops && point.figures.linear_flops;
  });
}

void add_time(FitPoint& point, const Profile& profile) {
  if (!profile.predicted.predictor) return;
  point.figures.take_prediction(profile.totals);
  point.time = range_of(profile.totals.predicted_seconds(), profile.totals.predicted_spread(),
                        profile.predicted.run_spread);
}

class Search {
 public:
  Search(const FitQuestion& question, const ProfileOptions& options, const FitCapture& capture)
      : question_(question), options_(options), capture_(capture) {
    answer_.question = question;
    if (!options.hardware) return;
    answer_.hardware = options.hardware->id, answer_.device_name = options.hardware->name;
    answer_.mode = name(options.mode);
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
    const auto& ends = seen(bad).point;
    return finish(good, !ends                ? FitAnswer::End::kModel
                        : fits_memory(*ends) ? FitAnswer::End::kTime
                                             : FitAnswer::End::kMemory);
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
      FitPoint point{value(steps), figures_of(sample_of(*graph, options_), options_), {}, {}, ""};
      point.need = memory_need(profile.memory(), question_.reserve);
      add_time(point, profile);
      if (profile.predicted.predictor) answer_.notes = prediction_notes(profile.predicted);
      if (const OpId op = profile.memory().peak_op; op != kNone)
        point.peak_at = profile.layers()[profile.layer_of()[op]].name;
      found->second.point = std::move(point), found->second.inputs = inputs_text(*graph);
    });
    return found->second;
  }

  bool fits_memory(const FitPoint& point) const {
    return !question_.memory || point.need.total() <= question_.memory;
  }
  bool fits_time(const FitPoint& point) const {
    return !question_.max_time || point.figures.totals.predicted_time <= question_.max_time;
  }
  bool fits(std::int64_t steps) {
    const auto& point = seen(steps).point;
    return point && fits_memory(*point) && fits_time(*point);
  }

  // The largest that a polynomial through captures says would fit; nullopt where there is none.
  std::optional<std::int64_t> guessed() {
    for (const std::int64_t steps : {1, 2, 3})
      if (!fits(steps)) return std::nullopt;
    if (!question_.memory) return std::nullopt;
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
    if (good >= 0 && end != FitAnswer::End::kFails) find_second(good, end);
    return answer_;
  }

  void say_what_grows() {
    const MemorySplit &best = answer_.best->figures.at_peak, &next = answer_.next->figures.at_peak;
    for (std::size_t k = 0; k < kMemoryKinds; ++k)
      if (const Count more = next.bytes[k] - best.bytes[k]; more > answer_.growth)
        answer_.grows = static_cast<MemoryKind>(k), answer_.growth = more;
  }

  // What would end it next, by the captures that were made: whichever comes first of the positions, where the
  // size is counted in them, the memory and the time.
  void find_second(std::int64_t good, FitAnswer::End end) {
    const auto offer = [&](FitSecond::Kind kind, std::int64_t at) {
      if (answer_.second.kind == FitSecond::Kind::kUnknown || at < answer_.second.at)
        answer_.second = {kind, at};
    };
    const bool is_past = question_.variable == "past_len";
    if (end != FitAnswer::End::kModel && positions_ > 0 && (is_past || question_.variable == "seq_len"))
      offer(FitSecond::Kind::kPositions, positions_ - (is_past ? 1 : 0));
    if (good < 2 || !fits(good / 2)) return;
    if (end != FitAnswer::End::kMemory && question_.memory && good >= 4 && fits(good / 4))
      if (const auto steps = by_polynomial({good / 4, good / 2, good}); steps && *steps + 1 < most_steps())
        offer(FitSecond::Kind::kMemory, value(*steps));
    if (end != FitAnswer::End::kTime && question_.max_time)
      if (const auto steps = by_time(good / 2, good); steps && *steps < most_steps())
        offer(FitSecond::Kind::kTime, value(*steps));
  }

  // As a straight line through two captures has it; nullopt where the time does not grow.
  std::optional<std::int64_t> by_time(std::int64_t low, std::int64_t high) {
    const auto seconds = [&](std::int64_t steps) {
      return seen(steps).point->figures.totals.predicted_seconds();
    };
    const double each = (seconds(high) - seconds(low)) / static_cast<double>(high - low);
    if (!(each > 0)) return std::nullopt;
    const double limit = static_cast<double>(question_.max_time) * kPicosecond;
    const double more = std::max((limit - seconds(high)) / each, 0.0);
    return high + static_cast<std::int64_t>(std::min(more, static_cast<double>(most_steps())));
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
  return choices<TurnKind, TurnKind::kDevice>("ridge", "attention", "memory", "quadratic", "host",
                                              "device")[kind];
}

std::string_view name(FitSecond::Kind kind) {
  return choices<FitSecond::Kind, FitSecond::Kind::kTime>("unknown", "positions", "memory", "time")[kind];
}

double turn_ratio(TurnKind kind, const SweepFigures& figures, std::optional<Count> memory,
                  std::size_t device) {
  constexpr double kFar = 1e9;  // in place of what has no limit
  switch (kind) {
    case TurnKind::kHost: {
      const Metrics& metrics = figures.times[device].metrics;
      const Count busy = metrics.predicted_time - metrics.predicted_wait;
      return metrics.predicted_wait ? std::min(ratio(busy, metrics.predicted_wait), kFar) : kFar;
    }
    case TurnKind::kDevice: {
      const double first = figures.times.front().metrics.predicted_seconds();
      return first > 0 ? std::min(figures.times[device].metrics.predicted_seconds() / first, kFar) : kFar;
    }
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
  std::vector<std::pair<TurnKind, std::size_t>> asked{
      {TurnKind::kRidge, 0}, {TurnKind::kAttention, 0}, {TurnKind::kQuadratic, 0}, {TurnKind::kMemory, 0}};
  for (const TurnKind kind : {TurnKind::kHost, TurnKind::kDevice})
    for (std::size_t device = 0; device < result.devices(); ++device) asked.emplace_back(kind, device);
  std::vector<Turn> turns;
  for (const auto& [kind, device] : asked) {
    if (!applies(kind, result, memory, device)) continue;
    const auto axis = axis_for(kind, result);
    if (!axis || result.points.size() / result.axes[*axis].size() > kMostLines) continue;
    Turn turn{
        .kind = kind, .axis = *axis, .device = device, .step = step_of(result.axes[*axis]), .lines = {}};
    Follower follower{result, kind, *axis, device, memory, at};
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

namespace {

Count time_limit(const std::string& text, const Device* device, bool flags) {
  const std::string where = flags ? "--max-time" : "max_time";
  if (device == nullptr)
    throw Error("a predicted time is of a device, and none is named", where,
                flags ? "add --hardware h200; `opscope devices` lists them"
                      : "add hardware='h200'; opscope.devices() lists them");
  const Count limit = parse_amount(Unit::kSeconds, text, where).count;
  if (!limit) throw Error("the limit must be above 0", where, "for example 20ms");
  return limit;
}

}  // namespace

FitAnswer find_fit(const FitQuestion& question, const ProfileOptions& options, const FitCapture& capture) {
  return Search(question, options, capture).run();
}

FitQuestion fit_question(std::string variable, const FitLimits& limits, std::optional<std::int64_t> step,
                         const Device* device, bool flags) {
  FitQuestion question;
  std::ranges::replace(variable, '-', '_');
  question.variable = variable.empty() ? "batch" : std::move(variable);
  question.step = step.value_or(question.variable == "image_size" ? kImageStep : 1);
  if (question.step < 1) throw Error("a step is 1 or more", "--step", "for example 8");
  question.first = question.step;
  if (!limits.max_time.empty()) question.max_time = time_limit(limits.max_time, device, flags);
  if (!limits.memory.empty())
    question.memory = parse_bytes("--memory", limits.memory);
  else if (device != nullptr && device->memory_size)
    question.memory = Count{static_cast<std::uint64_t>(device->memory_size->value)};
  else if (!question.max_time)
    throw Error("how much memory is there?", "--memory", "for example --memory 24GiB, or --hardware l4");
  if (question.memory)
    question.reserve = Reserve::from(limits.reserve, question.memory, limits.memory.empty());
  else if (!limits.reserve.empty())
    throw Error("a reserve is of a memory, and none is known", "--reserve", "add --memory 24GiB");
  return question;
}

}  // namespace opscope
