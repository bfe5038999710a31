// The crossovers in sentences: equal answers of neighbouring lines are said once.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

using Course = TurnLine::Course;

std::string spoken(const std::string& axis) {
  std::string text = axis;
  std::ranges::replace(text, '_', ' ');
  return text;
}

std::string number(std::int64_t value) { return format_exact(Count{value}); }

class Words {
 public:
  Words(const SweepReport& report, const Turn& turn)
      : report_(report), result_(*report.result), turn_(turn), axis_(spoken(result_.axes[turn.axis].name)) {}

  std::vector<std::string> lines() const {
    const std::size_t crossing = count(Course::kCrosses), above = count(Course::kAbove);
    if (crossing == 0 && above == 0) return {never()};
    if (crossing == 0 && above == turn_.lines.size()) return {always()};
    std::string text = subject() + " " + crossings();
    if (above > 0) text += (crossing > 0 ? "; " + above_text() + " " : "") + where_above();
    if (const std::size_t below = count(Course::kBelow); below > 0) text += "; " + where_below();
    return {text};
  }

 private:
  std::size_t count(Course course) const {
    return static_cast<std::size_t>(std::ranges::count(turn_.lines, course, &TurnLine::course));
  }

  double ridge() const {
    for (const SweepPoint& point : result_.points)
      if (point.has_figures()) return point.figures.ridge;
    return 10;
  }

  std::string subject() const {
    switch (turn_.kind) {
      case TurnKind::kRidge:
        return "Intensity exceeds the ridge of " + ridge_text();
      case TurnKind::kAttention:
        return "Attention has more FLOPs than the linear layers";
      case TurnKind::kMemory:
        return "Peak memory exceeds " + report_.memory_text;
      case TurnKind::kQuadratic:
        return "The part that grows with the square of " + axis_ + " exceeds half of the FLOPs";
    }
    return "";
  }

  std::string ridge_text() const {
    std::string text = format_ratio(ridge()) + " FLOPs/byte";
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
  std::string above_text() const {
    return turn_.kind == TurnKind::kMemory ? "the limit is exceeded" : "it is above";
  }
  std::string where_above() const { return "at every " + axis_ + with(of(Course::kAbove)); }
  std::string where_below() const {
    return std::string(turn_.kind == TurnKind::kMemory ? "the limit is kept" : "it stays below") +
           with(of(Course::kBelow));
  }

  const TurnLine& nearest() const { return *std::ranges::max_element(turn_.lines, {}, &TurnLine::nearest); }
  std::string nearest_place() const {
    const TurnLine& line = nearest();
    const std::string others = held(line);
    return "at " + axis_ + " " + number(line.nearest_at) + (others.empty() ? "" : ", " + others);
  }

  std::string never() const {
    const double ratio = nearest().nearest;
    switch (turn_.kind) {
      case TurnKind::kRidge:
        return "Intensity stays below the ridge of " + ridge_text() + ": it reaches " +
               format_percent(ratio, 1) + " of it " + nearest_place();
      case TurnKind::kAttention:
        return "Attention has fewer FLOPs than the linear layers at every point: it reaches " +
               format_percent(ratio, 1) + " of their FLOPs " + nearest_place();
      case TurnKind::kMemory:
        return "Every point fits " + report_.memory_text + ": the largest peak is " +
               format_percent(ratio, 1) + " of it, " + nearest_place();
      case TurnKind::kQuadratic:
        return "The part that grows with the square of " + axis_ +
               " stays small: " + format_percent(ratio / 2, 1) + " of the FLOPs " + nearest_place();
    }
    return "";
  }

  std::string always() const {
    switch (turn_.kind) {
      case TurnKind::kRidge:
        return "Intensity is above the ridge of " + ridge_text() + " at every point";
      case TurnKind::kAttention:
        return "Attention has more FLOPs than the linear layers at every point";
      case TurnKind::kMemory:
        return "No point fits " + report_.memory_text;
      case TurnKind::kQuadratic:
        return "The part that grows with the square of " + axis_ +
               " is over half of the FLOPs at every point";
    }
    return "";
  }

  const SweepReport& report_;
  const SweepResult& result_;
  const Turn& turn_;
  std::string axis_;
};

}  // namespace

std::vector<std::string> turn_lines(const SweepReport& report) {
  std::vector<std::string> lines;
  for (const Turn& turn : report.turns)
    for (std::string& line : Words(report, turn).lines()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace opscope
