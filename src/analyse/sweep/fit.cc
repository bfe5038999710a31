// Three captures give the peak as a polynomial of the size; where that says the limit is, captures decide.
// Where they disagree with it, captures alone do, by doubling and halving.
#include "analyse/sweep/fit.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "hardware/device.h"
#include "metrics/unit.h"

namespace opscope {
namespace {

class Search {
 public:
  Search(const FitQuestion& question, const ProfileOptions& options, const FitCapture& capture)
      : question_(question), options_(options), capture_(capture) {
    answer_.question = question;
  }

  FitAnswer run() {
    if (!fits(0)) return end_at_first();
    std::int64_t good = 0, bad = 1;  // in steps above the first
    if (const auto guess = guessed()) {
      good = *guess, bad = *guess + 1;
      if (good > 0 && !fits(good)) good = 0, bad = *guess;
    }
    while (fits(bad)) {
      good = bad;
      if (value(good) >= question_.most) return finish(good, FitAnswer::End::kUnlimited);
      bad = std::min(bad * 2, (question_.most - question_.first) / question_.step);
      if (bad == good) return finish(good, FitAnswer::End::kUnlimited);
    }
    while (bad - good > 1) {
      const std::int64_t middle = good + (bad - good) / 2;
      (fits(middle) ? good : bad) = middle;
    }
    const bool by_model = !seen_.at(bad).figures;
    return finish(good, by_model ? FitAnswer::End::kModel : FitAnswer::End::kMemory);
  }

 private:
  struct Seen {
    std::optional<SweepFigures> figures;
    std::string peak_at, problem, inputs;
  };

  std::int64_t value(std::int64_t steps) const { return question_.first + steps * question_.step; }

  const Seen& seen(std::int64_t steps) {
    const auto [found, is_new] = seen_.try_emplace(steps);
    if (!is_new) return found->second;
    ++answer_.captures;
    capture_(value(steps), [&](const Graph* graph, const std::string& problem) {
      found->second.problem = problem;
      if (graph != nullptr) note(*graph, found->second);
    });
    return found->second;
  }

  void note(const Graph& graph, Seen& into) {
    answer_.model = graph.capture.model, answer_.source = graph.capture.source;
    const Profile profile = make_profile(graph, options_);
    into.figures = figures_of(sample_of(graph, options_.convention), options_);
    into.inputs = inputs_text(graph);
    if (profile.memory().peak_op != kNone)
      into.peak_at = std::string(profile.layers()[profile.layer_of()[profile.memory().peak_op]].name);
  }

  bool fits(std::int64_t steps) {
    const Seen& here = seen(steps);
    return here.figures && here.figures->peak_memory_bytes <= question_.available();
  }

  // The largest that a polynomial through captures says would fit; nullopt where there is none.
  std::optional<std::int64_t> guessed() {
    const std::array<std::int64_t, 3> at{1, 2, 3};
    std::vector<std::uint64_t> peaks;
    for (const std::int64_t steps : at) {
      if (!fits(steps)) return std::nullopt;
      peaks.push_back(seen(steps).figures->peak_memory_bytes.value());
    }
    const auto peak = Interpolation(Grid{{at.begin(), at.end()}}).fit(peaks);
    if (!peak || peak->is_constant()) return std::nullopt;
    std::int64_t low = 3,
                 high = std::max<std::int64_t>((question_.most - question_.first) / question_.step, 4);
    const auto under = [&](std::int64_t steps) {
      const auto bytes = peak->at(std::span(&steps, 1));
      return bytes && Count{*bytes} <= question_.available();
    };
    while (high - low > 1) {
      const std::int64_t middle = low + (high - low) / 2;
      (under(middle) ? low : high) = middle;
    }
    return low;
  }

  FitAnswer end_at_first() {
    const Seen& here = seen(0);
    answer_.problem = here.problem, answer_.problem_at = value(0);
    answer_.inputs = here.inputs;
    answer_.end = here.figures ? FitAnswer::End::kNothing : FitAnswer::End::kFails;
    if (here.figures) answer_.next = FitPoint{value(0), *here.figures, here.peak_at};
    return answer_;
  }

  FitAnswer finish(std::int64_t good, FitAnswer::End end) {
    answer_.end = end;
    const Seen& best = seen(good);
    answer_.best = FitPoint{value(good), *best.figures, best.peak_at};
    answer_.inputs = best.inputs;
    if (end == FitAnswer::End::kUnlimited) return answer_;
    const Seen& next = seen(good + 1);
    if (next.figures) answer_.next = FitPoint{value(good + 1), *next.figures, next.peak_at};
    answer_.problem = next.problem, answer_.problem_at = value(good + 1);
    return answer_;
  }

  const FitQuestion& question_;
  const ProfileOptions& options_;
  const FitCapture& capture_;
  FitAnswer answer_;
  std::map<std::int64_t, Seen> seen_;
};

}  // namespace

FitAnswer find_fit(const FitQuestion& question, const ProfileOptions& options, const FitCapture& capture) {
  return Search(question, options, capture).run();
}

// A question about what fits, from words.

namespace {

constexpr std::uint64_t kDeviceReserve = std::uint64_t{1} << 30;

Count parse_reserve(const std::string& text, Count whole) {
  if (!text.ends_with('%')) return parse_bytes("--reserve", text);
  double share = -1;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size() - 1, share);
  if (bad != std::errc{} || end != text.data() + text.size() - 1 || !(share >= 0 && share < 100))
    throw Error("'" + text + "' is not a part of the memory", "--reserve", "for example 1GiB or 10%");
  return Count{static_cast<std::uint64_t>(std::ceil(static_cast<double>(whole) * share / 100))};
}

}  // namespace

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
  if (!reserve.empty())
    question.reserve = parse_reserve(reserve, question.memory);
  else if (memory.empty())
    question.reserve = Count{kDeviceReserve};
  if (question.reserve >= question.memory)
    throw Error("the reserve is all of the memory", "--reserve", "for example 1GiB or 10%");
  return question;
}

}  // namespace opscope
