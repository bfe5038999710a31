// A sweep's answers in words: the crossovers, equal ones of neighbouring lines said once; and what fits, with
// what its peak is made of.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "report/memory/report.h"
#include "report/predict/cells.h"
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
    TurnWords{"{limit} is predicted to be busy for more than half of the time",
              "{limit} is predicted to wait for the host more than to work at every point",
              "{limit} is predicted to be busy for more than half of the time at every point"},
    TurnWords{"{limit}", "{limit} at no point: it comes closest with {share} of its time {place}",
              "{limit} at every point"},
};

std::string exact(std::int64_t value) { return format_exact(Count{value}); }

struct Words {
  const SweepReport& report;
  const Turn& turn;
  const SweepResult& result = *report.result;
  std::string axis = spoken(result.axes[turn.axis].name);

  std::string line() const {
    const TurnWords& words = kWords[static_cast<std::size_t>(turn.kind)];
    const std::size_t crossing = of(Course::kCrosses).size(), above = of(Course::kAbove).size();
    if (crossing == 0 && above == 0) return filled(words.never);
    if (crossing == 0 && above == turn.lines.size()) return filled(words.always);
    const bool is_memory = turn.kind == TurnKind::kMemory;
    std::string text = filled(words.crosses) + " " + crossings();
    if (above > 0) {
      if (crossing > 0) text += is_memory ? "; the limit is exceeded " : "; it is above ";
      text += "at every " + axis + with(of(Course::kAbove));
    }
    if (const auto below = of(Course::kBelow); !below.empty())
      text += (is_memory ? "; the limit is kept" : "; it stays below") + with(below);
    return text;
  }

  std::string filled(std::string_view words) const {
    const TurnLine& nearest = *std::ranges::max_element(turn.lines, {}, &TurnLine::nearest);
    const double share = turn.kind == TurnKind::kQuadratic ? nearest.nearest / 2 : nearest.nearest;
    const std::string others = held(nearest);
    return fmt::format(fmt::runtime(words), fmt::arg("limit", limit()),
                       fmt::arg("share", format_percent(share, 1)),
                       fmt::arg("place", "at " + axis + " " + exact(nearest.nearest_at) +
                                             (others.empty() ? "" : ", " + others)));
  }

  // What is exceeded; for squares, what is squared.
  std::string limit() const {
    if (turn.kind == TurnKind::kMemory) return report.memory_text;
    if (turn.kind == TurnKind::kHost) return result.device(turn.device).id;
    if (turn.kind == TurnKind::kDevice)
      return result.device(0).id + " is predicted to be faster than " + result.device(turn.device).id;
    if (turn.kind != TurnKind::kRidge) return axis;
    std::string text = format_ratio(ridge_of(result).value_or(10)) + " FLOPs/byte";
    const auto& device = result.options.profile.hardware;
    if (device && !result.options.profile.ridge_is_given) text += " (" + device->id + ")";
    return text;
  }

  // "batch 1, dtype bfloat16"; "" where nothing else varies.
  std::string held(const TurnLine& line) const {
    std::string text;
    for (std::size_t a = 0; a < result.axes.size(); ++a)
      if (a != turn.axis && result.axes[a].size() > 1)
        text += (text.empty() ? "" : ", ") + spoken(result.axes[a].name) + " " + result.text_of(line.held, a);
    return text;
  }

  std::string with(const std::vector<const TurnLine*>& lines) const {
    if (lines.size() == turn.lines.size()) return lines.size() == 1 ? "" : " for all other sizes";
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
    if (line.is_exact(turn.step)) return "at " + axis + " " + exact(line.after) + how;
    return "between " + axis + " " + exact(line.before) + " and " + exact(line.after) + how;
  }

  // Lines next to each other that say the same, together; at most a handful.
  std::string crossings() const {
    constexpr std::size_t kShown = 6;
    std::vector<std::pair<std::string, std::vector<const TurnLine*>>> groups;
    for (const TurnLine& line : turn.lines) {
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
    for (const TurnLine& line : turn.lines)
      if (line.course == course) lines.push_back(&line);
    return lines;
  }
};

using End = FitAnswer::End;

// By End.
struct EndWords {
  std::string_view name, verdict;
};
constexpr std::array kEnds{
    EndWords{"memory", "{size} is the largest that {within}"},
    EndWords{"time", "{size} is the largest that {within}"},
    EndWords{"model", "{size} {within}, and the model accepts no more: {problem}"},
    EndWords{"nothing", "not even {size} {within}"},
    EndWords{"fails", "not even {size} can be captured: {problem}"},
    EndWords{"unlimited", "{size} still {within}, and nothing larger was tried"},
};
const EndWords& words_of(const FitAnswer& answer) { return kEnds[static_cast<std::size_t>(answer.end)]; }

std::string memory_text(const FitQuestion& question) {
  std::string text = binary_bytes(question.memory);
  if (!question.reserve.by_default && question.reserve.fixed)
    text += " less " + binary_bytes(question.reserve.fixed) + " kept free";
  return text;
}
std::string time_text(const FitQuestion& question) {
  return format_time(static_cast<double>(question.max_time) * kPicosecond);
}

bool fits_memory(const FitQuestion& question, const FitPoint& point) {
  return !question.memory || point.need.total() <= question.memory;
}
bool fits_time(const FitQuestion& question, const FitPoint& point) {
  return !question.max_time || point.figures.totals.predicted_time <= question.max_time;
}

// The limits that the verdict is about: the one that ends it, those that not even the smallest keeps, or all.
std::string within_text(const FitAnswer& answer) {
  const FitQuestion& question = answer.question;
  bool memory = bool(question.memory), time = bool(question.max_time);
  if (answer.end == End::kMemory) time = false;
  if (answer.end == End::kTime) memory = false;
  if (answer.end == End::kNothing) {
    memory = memory && !fits_memory(question, *answer.next);
    time = time && !fits_time(question, *answer.next);
  }
  std::string text = memory ? "fits " + memory_text(question) : "";
  if (time)
    text.append(memory ? " and " : "").append("is predicted to take at most ").append(time_text(question));
  return text;
}

std::string verdict(const FitAnswer& answer) {
  const FitQuestion& question = answer.question;
  const std::int64_t value = answer.end == End::kFails     ? answer.problem_at
                             : answer.end == End::kNothing ? answer.next->value
                                                           : answer.best->value;
  return fmt::format(fmt::runtime(words_of(answer).verdict),
                     fmt::arg("size", spoken(question.variable) + " " + exact(value)),
                     fmt::arg("within", within_text(answer)), fmt::arg("problem", answer.problem));
}

// Beside the tensors.
Count reserved(const FitPoint& point) { return point.need.library + point.need.allocator + point.need.fixed; }

bool is_timed(const FitPoint& point) { return point.time.high > 0; }

void write_point(JsonWriter& json, std::string_view key, const std::optional<FitPoint>& point) {
  if (!point) return json.key(key), json.null();
  json.object(key, [&] {
    json.fields("value", point->value, "peak_memory_bytes", point->figures.peak_memory_bytes);
    json.fields("reserved_bytes", reserved(*point), "needed_bytes", point->need.total());
    write_fields(json, split_columns(), point->figures.at_peak);
    json.field("peak_at", point->peak_at);
    if (!is_timed(*point)) return;
    json.fields("predicted_seconds", point->figures.totals.predicted_seconds(), "predicted_p10_seconds",
                point->time.low, "predicted_p90_seconds", point->time.high);
    json.field("predicted_unknown_ops", point->figures.totals.predicted_unknown);
  });
}

void write_answer(JsonWriter& json, const FitAnswer& answer) {
  begin_report(json);
  json.fields("model", answer.model, "source", answer.source, "variable", answer.question.variable);
  const auto given = [](Count limit, const auto& value) { return limit ? Cell(value) : Cell(); };
  write_field(json, "memory_bytes", given(answer.question.memory, answer.question.memory));
  json.field("reserve_bytes", answer.question.reserve.fixed);
  write_field(json, "max_time_seconds",
              given(answer.question.max_time, static_cast<double>(answer.question.max_time) * kPicosecond));
  json.fields("hardware", answer.hardware, "mode", answer.mode);
  json.list("prediction_notes", answer.notes);
  json.field("reserve", answer.question.reserve.by_default ? "default" : "given");
  json.field("limited_by", words_of(answer).name);
  write_field(json, "largest", answer.best ? Cell(answer.best->value) : Cell());
  write_point(json, "best", answer.best);
  write_point(json, "next", answer.next);
  json.key("grows");
  answer.grows ? json.value(name(*answer.grows)) : json.null();
  json.field("growth_bytes", answer.growth);
  json.inline_object("second_limit", [&] {
    json.field("kind", name(answer.second.kind));
    write_field(json, "at", answer.second.at > 0 ? Cell(answer.second.at) : Cell());
  });
  json.fields("problem", answer.problem, "verdict", verdict(answer), "captures", answer.captures);
}

// The largest that fits, and the next.
Columns<FitPoint> memory_columns(const FitQuestion& question) {
  using Row = const FitPoint&;
  const Count limit = question.memory;
  const auto peak = [](Row point) { return point.figures.peak_memory_bytes; };
  Columns<FitPoint> columns{{{.key = "peak_memory_bytes"}, peak},
                            {number("Peak"), [=](Row point) {
                               return Cell(format_bytes(peak(point)),
                                           fits_memory(question, point) ? Style::kPlain : Style::kWarning);
                             }}};
  if (limit)
    columns += {{number("Reserved", Unit::kBytes).quiet(), reserved},
                {{.key = "reserved_bytes"}, reserved},
                {number("Of the memory"), [=](Row point) {
                   const Count used = point.need.total();
                   return used <= limit ? Cell(format_bytes(limit - used) + " free", Style::kGood)
                                        : Cell(format_bytes(used - limit) + " too much", Style::kWarning);
                 }}};
  return columns;
}

Columns<FitPoint> time_columns(const FitQuestion& question) {
  using Row = const FitPoint&;
  const auto seconds = [](Row point) { return point.figures.totals.predicted_seconds(); };
  Columns<FitPoint> columns = real_column<FitPoint>("predicted_seconds", seconds);
  columns += real_column<FitPoint>("predicted_p10_seconds", [](Row point) { return point.time.low; });
  columns += real_column<FitPoint>("predicted_p90_seconds", [](Row point) { return point.time.high; });
  columns += {{number("Predicted"),
               [=](Row point) {
                 return Cell(predicted_text(point.figures.totals),
                             fits_time(question, point) ? Style::kPlain : Style::kWarning);
               }},
              {number("p10 to p90").quiet().or_not(), [](Row point) {
                 return format_time(point.time.low) + " to " + format_time(point.time.high);
               }}};
  if (const double limit = static_cast<double>(question.max_time) * kPicosecond; limit > 0)
    columns += {{number("Of the time"), [=](Row point) {
                   const double left = limit - seconds(point);
                   return left >= 0 ? Cell(format_time(left) + " left", Style::kGood)
                                    : Cell(format_time(-left) + " too long", Style::kWarning);
                 }}};
  return columns;
}

Columns<FitPoint> point_columns(const FitAnswer& answer) {
  using Row = const FitPoint&;
  const FitQuestion& question = answer.question;
  Columns<FitPoint> columns{{{.title = question.variable, .key = question.variable}, [](Row point) {
                               return cell_of(Count{point.value}, Unit::kWhole, Style::kStrong);
                             }}};
  columns += memory_columns(question);
  if (!answer.hardware.empty()) columns += time_columns(question);
  return columns += {{{.key = "fits"},
                      [=](Row point) {
                        return fits_memory(question, point) && fits_time(question, point) ? "yes" : "no";
                      }},
                     {keyed("peak_at", words("While", 12)), &FitPoint::peak_at}};
}

std::vector<FitPoint> points_of(const FitAnswer& answer) {
  std::vector<FitPoint> points;
  for (const auto* point : {&answer.best, &answer.next})
    if (*point) points.push_back(**point);
  return points;
}

// What one more adds, and the limit after this one.
std::vector<std::string> next_lines(const FitAnswer& answer) {
  const std::string variable = spoken(answer.question.variable);
  std::vector<std::string> lines;
  if (answer.end == End::kMemory && answer.grows)
    lines.push_back(fmt::format("Next: {} {} needs {} more, {} of it {}", variable, exact(answer.next->value),
                                format_bytes(answer.next->need.total() - answer.best->need.total()),
                                format_bytes(answer.growth), title(*answer.grows)));
  if (answer.end == End::kTime)
    lines.push_back(fmt::format("Next: {} {} is predicted to take {} more", variable,
                                exact(answer.next->value),
                                format_time(answer.next->figures.totals.predicted_seconds() -
                                            answer.best->figures.totals.predicted_seconds())));
  const std::string lifted = answer.end == End::kTime    ? "With more time"
                             : answer.end == End::kModel ? "If the model took more"
                                                         : "With more memory";
  const std::string at = fmt::format("{} {}", variable, exact(answer.second.at));
  switch (answer.second.kind) {
    case FitSecond::Kind::kPositions:
      lines.push_back(fmt::format("{}, the model's positions end at {}", lifted, at));
      break;
    case FitSecond::Kind::kMemory:
      lines.push_back(fmt::format("{}, memory would end at about {}", lifted, at));
      break;
    case FitSecond::Kind::kTime:
      lines.push_back(fmt::format("{}, the predicted time would end at about {}", lifted, at));
      break;
    case FitSecond::Kind::kUnknown:
      if (answer.end == End::kMemory && answer.question.variable == "batch" && !answer.question.max_time)
        lines.push_back("With more memory no other limit is known: a batch ends with the memory");
      break;
  }
  if (const auto& best = answer.best; best && best->figures.totals.roofline_time) {
    const Metrics& totals = best->figures.totals;
    const double share = ratio(totals.compute_bound_time, totals.roofline_time);
    lines.push_back(fmt::format(
        "At {} {} the roofline is {}, {} of it compute-bound: {}", variable, exact(best->value),
        format_time(totals.roofline_seconds()), format_percent(share, 1.0),
        share > 0.5 ? "more at once takes as much longer" : "more at once would use the device better"));
  }
  return lines;
}

Document document_of(const FitAnswer& answer, const TextOptions& options) {
  Document document{{{answer.model, Style::kStrong}}, options.notes};
  if (!answer.source.empty()) document.header.push_back(answer.source);
  if (!answer.inputs.empty()) document.header.push_back(answer.inputs);
  if (!answer.hardware.empty()) document.header.push_back(answer.device_name + ", " + answer.mode);
  document.header.push_back(
      {(answer.hardware.empty() ? "peaks of " : "peaks and times of ") + plural(answer.captures, "capture"),
       Style::kQuiet});
  std::string said = verdict(answer);
  if (!said.empty() && said[0] >= 'a' && said[0] <= 'z') said[0] = static_cast<char>(said[0] - 'a' + 'A');
  Section section{"", table_of(point_columns(answer), points_of(answer)), {said}};
  if (const auto& shown = answer.best ? answer.best : answer.next)
    section.remarks.push_back("Its peak is " + split_text(shown->figures.at_peak));
  for (std::string& line : next_lines(answer)) section.remarks.push_back(std::move(line));
  for (const std::string& note : answer.notes) section.remarks.push_back("Predicted: " + note);
  // Measured on a GPU: docs/sweep.md.
  if (answer.question.memory && answer.question.reserve.by_default)
    section.remarks.push_back(fmt::format(
        "Reserved: {:.0f}% of what comes and goes, for the allocator's gaps{}; --reserve says another amount",
        100 * kAllocatorShare,
        answer.question.reserve.fixed
            ? ", and " + binary_bytes(answer.question.reserve.fixed) + " for the driver"
            : ""));
  document.sections.push_back(std::move(section));
  return document;
}

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
  for (const Turn& turn : report.turns) lines.push_back(Words{report, turn}.line());
  return lines;
}

std::string to_format(const FitAnswer& answer, Format format, const TextOptions& options) {
  return to_format(Report{[&](JsonWriter& json) { write_answer(json, answer); },
                          [&] { return table_of(point_columns(answer), points_of(answer), In::kCsv); },
                          [&] { return document_of(answer, options); }},
                   format, options);
}

}  // namespace opscope
