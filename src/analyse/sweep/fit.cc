// Three captures give the peak as a polynomial of the size; where that says the limit is, captures decide.
// Where they disagree with it, captures alone do, by doubling and halving.
#include "analyse/sweep/fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "analyse/profile/figures.h"
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
      FitPoint point{value(steps), figures_of(sample_of(*graph, options_.convention), options_), ""};
      if (const OpId op = profile.memory().peak_op; op != kNone)
        point.peak_at = profile.layers()[profile.layer_of()[op]].name;
      found->second.point = std::move(point), found->second.inputs = inputs_text(*graph);
    });
    return found->second;
  }

  bool fits(std::int64_t steps) {
    const auto& point = seen(steps).point;
    return point && point->figures.peak_memory_bytes <= question_.available();
  }

  // The largest that a polynomial through captures says would fit; nullopt where there is none.
  std::optional<std::int64_t> guessed() {
    const std::array<std::int64_t, 3> at{1, 2, 3};
    std::vector<std::uint64_t> peaks;
    for (const std::int64_t steps : at) {
      if (!fits(steps)) return std::nullopt;
      peaks.push_back(seen(steps).point->figures.peak_memory_bytes.value());
    }
    const auto peak = Interpolation(Grid{{at.begin(), at.end()}}).fit(peaks);
    if (!peak || peak->is_constant()) return std::nullopt;
    std::int64_t low = 3, high = std::max<std::int64_t>(most_steps(), 4);
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

  // `good`: the steps to the largest that fits; -1 where none does.
  FitAnswer finish(std::int64_t good, FitAnswer::End end) {
    answer_.end = end;
    answer_.inputs = seen(std::max<std::int64_t>(good, 0)).inputs;
    if (good >= 0) answer_.best = seen(good).point;
    if (end == FitAnswer::End::kUnlimited) return answer_;
    answer_.next = seen(good + 1).point;
    answer_.problem = seen(good + 1).problem, answer_.problem_at = value(good + 1);
    return answer_;
  }

  const FitQuestion& question_;
  const ProfileOptions& options_;
  const FitCapture& capture_;
  FitAnswer answer_;
  std::map<std::int64_t, Seen> seen_;
};

Count parse_reserve(const std::string& text, Count whole) {
  if (!text.ends_with('%')) return parse_bytes("--reserve", text);
  const double share = number_from<double>(text.substr(0, text.size() - 1)).value_or(-1);
  if (!(share >= 0 && share < 100))
    throw Error("'" + text + "' is not a part of the memory", "--reserve", "for example 1GiB or 10%");
  return Count{static_cast<std::uint64_t>(std::ceil(static_cast<double>(whole) * share / 100))};
}

}  // namespace

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
  if (!reserve.empty())
    question.reserve = parse_reserve(reserve, question.memory);
  else if (memory.empty())
    question.reserve = Count{std::uint64_t{1} << 30};
  if (question.reserve >= question.memory)
    throw Error("the reserve is all of the memory", "--reserve", "for example 1GiB or 10%");
  return question;
}

}  // namespace opscope
