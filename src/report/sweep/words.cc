// The crossovers in sentences: equal answers of neighbouring lines are said once.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

using Course = TurnLine::Course;

// By TurnKind: where some lines cross, where none does and is below, where all are above.
struct TurnWords {
  std::string_view crosses, never, always;
};
constexpr std::array kWords{
    TurnWords{"Intensity exceeds the ridge of {limit}",
              "Intensity stays below the ridge of {limit}: it reaches {share} of it {place}",
              "Intensity is above the ridge of {limit} at every point"},
    TurnWords{
        "Attention has more FLOPs than the linear layers",
        "Attention has fewer FLOPs than the linear layers at every point: it reaches {share} of their FLOPs "
        "{place}",
        "Attention has more FLOPs than the linear layers at every point"},
    TurnWords{"Peak memory exceeds {limit}",
              "Every point fits {limit}: the largest peak is {share} of it, {place}",
              "No point fits {limit}"},
    TurnWords{"The part that grows with the square of {limit} exceeds half of the FLOPs",
              "The part that grows with the square of {limit} stays small: {share} of the FLOPs {place}",
              "The part that grows with the square of {limit} is over half of the FLOPs at every point"},
};

std::string number(std::int64_t value) { return format_exact(Count{value}); }

class Words {
 public:
  Words(const SweepReport& report, const Turn& turn)
      : report_(report), result_(*report.result), turn_(turn), axis_(spoken(result_.axes[turn.axis].name)) {}

  std::string line() const {
    const TurnWords& words = kWords[static_cast<std::size_t>(turn_.kind)];
    const std::size_t crossing = of(Course::kCrosses).size(), above = of(Course::kAbove).size();
    if (crossing == 0 && above == 0) return filled(words.never);
    if (crossing == 0 && above == turn_.lines.size()) return filled(words.always);
    const bool is_memory = turn_.kind == TurnKind::kMemory;
    std::string text = filled(words.crosses) + " " + crossings();
    if (above > 0) {
      if (crossing > 0) text += is_memory ? "; the limit is exceeded " : "; it is above ";
      text += "at every " + axis_ + with(of(Course::kAbove));
    }
    if (const auto below = of(Course::kBelow); !below.empty())
      text += (is_memory ? "; the limit is kept" : "; it stays below") + with(below);
    return text;
  }

 private:
  std::string filled(std::string_view words) const {
    const TurnLine& nearest = *std::ranges::max_element(turn_.lines, {}, &TurnLine::nearest);
    const double share = turn_.kind == TurnKind::kQuadratic ? nearest.nearest / 2 : nearest.nearest;
    const std::string others = held(nearest);
    return fmt::format(fmt::runtime(words), fmt::arg("limit", limit()),
                       fmt::arg("share", format_percent(share, 1)),
                       fmt::arg("place", "at " + axis_ + " " + number(nearest.nearest_at) +
                                             (others.empty() ? "" : ", " + others)));
  }

  // What is exceeded; for squares, what is squared.
  std::string limit() const {
    if (turn_.kind == TurnKind::kMemory) return report_.memory_text;
    if (turn_.kind != TurnKind::kRidge) return axis_;
    std::string text = format_ratio(ridge_of(result_).value_or(10)) + " FLOPs/byte";
    const auto& device = result_.options.profile.hardware;
    if (device && !result_.options.profile.ridge_is_given) text += " (" + device->id + ")";
    return text;
  }

  // "batch 1, dtype bfloat16"; "" where nothing else varies.
  std::string held(const TurnLine& line) const {
    std::string text;
    for (std::size_t a = 0; a < result_.axes.size(); ++a)
      if (a != turn_.axis && result_.axes[a].size() > 1)
        text +=
            (text.empty() ? "" : ", ") + spoken(result_.axes[a].name) + " " + result_.text_of(line.held, a);
    return text;
  }

  std::string with(const std::vector<const TurnLine*>& lines) const {
    if (lines.size() == turn_.lines.size()) return lines.size() == 1 ? "" : " for all other sizes";
    const std::string first = held(*lines.front());
    if (lines.size() == 1) return first.empty() ? "" : " with " + first;
    const std::string last = shortened(held(*lines.back()));
    return " with " + first + (lines.size() == 2 ? " and " : " to ") + last;
  }

  // Without the name where only one other axis varies: "seq len 32 to 512".
  static std::string shortened(const std::string& text) {
    if (text.find(',') != std::string::npos) return text;
    return text.substr(text.rfind(' ') + 1);
  }

  std::string at(const TurnLine& line) const {
    const std::string how = line.upward ? "" : ", downward";
    if (line.is_exact(turn_.step)) return "at " + axis_ + " " + number(line.after) + how;
    return "between " + axis_ + " " + number(line.before) + " and " + number(line.after) + how;
  }

  // Lines next to each other that say the same, together; at most a handful.
  std::string crossings() const {
    constexpr std::size_t kShown = 6;
    std::vector<std::pair<std::string, std::vector<const TurnLine*>>> groups;
    for (const TurnLine& line : turn_.lines) {
      if (line.course != Course::kCrosses) continue;
      const std::string text = at(line);
      if (groups.empty() || groups.back().first != text) groups.push_back({text, {}});
      groups.back().second.push_back(&line);
    }
    std::string text;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups.size() > kShown && i >= kShown - 1 && i + 1 < groups.size()) {
        if (i == kShown - 1) text += ", ...";
        continue;
      }
      text += (text.empty() ? "" : ", ") + groups[i].first + with(groups[i].second);
    }
    return text;
  }

  std::vector<const TurnLine*> of(Course course) const {
    std::vector<const TurnLine*> lines;
    for (const TurnLine& line : turn_.lines)
      if (line.course == course) lines.push_back(&line);
    return lines;
  }

  const SweepReport& report_;
  const SweepResult& result_;
  const Turn& turn_;
  std::string axis_;
};

}  // namespace

std::optional<double> ridge_of(const SweepResult& result) {
  const auto known = std::ranges::find_if(result.points, &SweepPoint::has_figures);
  return known == result.points.end() ? std::nullopt : std::optional(known->figures.ridge);
}

std::string spoken(std::string axis) {
  std::ranges::replace(axis, '_', ' ');
  return axis;
}

std::vector<std::string> turn_lines(const SweepReport& report) {
  std::vector<std::string> lines;
  for (const Turn& turn : report.turns) lines.push_back(Words(report, turn).line());
  return lines;
}

}  // namespace opscope
