// What fits, in words, with what the peak is made of.
#include <fmt/format.h>

#include <array>

#include "base/json_writer.h"
#include "base/text.h"
#include "report/core/document.h"
#include "report/memory/report.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

using End = FitAnswer::End;

// By End.
struct EndWords {
  std::string_view name, verdict;
};
constexpr std::array kEnds{
    EndWords{"memory", "{size} is the largest that fits {limit}"},
    EndWords{"model", "{size} fits {limit}, and the model accepts no more: {problem}"},
    EndWords{"nothing", "not even {size} fits {limit}"},
    EndWords{"fails", "not even {size} can be captured: {problem}"},
    EndWords{"unlimited", "{size} still fits {limit}, and nothing larger was tried"},
};
const EndWords& words_of(const FitAnswer& answer) { return kEnds[static_cast<std::size_t>(answer.end)]; }

std::string verdict(const FitAnswer& answer) {
  const FitQuestion& question = answer.question;
  const std::int64_t value = answer.end == End::kFails     ? answer.problem_at
                             : answer.end == End::kNothing ? answer.next->value
                                                           : answer.best->value;
  std::string limit = binary_bytes(question.memory);
  if (question.reserve) limit += " less " + binary_bytes(question.reserve) + " kept free";
  return fmt::format(fmt::runtime(words_of(answer).verdict),
                     fmt::arg("size", spoken(question.variable) + " " + format_exact(Count{value})),
                     fmt::arg("limit", limit), fmt::arg("problem", answer.problem));
}

void write_point(JsonWriter& json, std::string_view key, const std::optional<FitPoint>& point) {
  if (!point) return json.key(key), json.null();
  json.object(key, [&] {
    json.fields("value", point->value, "peak_memory_bytes", point->figures.peak_memory_bytes);
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind)
      json.field(std::string(name(static_cast<MemoryKind>(kind))) + "_bytes",
                 point->figures.at_peak.bytes[kind]);
    json.field("peak_at", point->peak_at);
  });
}

void write_answer(JsonWriter& json, const FitAnswer& answer) {
  begin_report(json);
  json.fields("model", answer.model, "source", answer.source, "variable", answer.question.variable);
  json.fields("memory_bytes", answer.question.memory, "reserve_bytes", answer.question.reserve);
  json.field("limited_by", words_of(answer).name);
  write_field(json, "largest", answer.best ? Cell(answer.best->value) : Cell());
  write_point(json, "best", answer.best);
  write_point(json, "next", answer.next);
  json.fields("problem", answer.problem, "verdict", verdict(answer), "captures", answer.captures);
}

// The largest that fits, and the next.
Columns<FitPoint> point_columns(const FitAnswer& answer) {
  using Row = const FitPoint&;
  const Count limit = answer.question.available();
  const auto peak = [](Row point) { return point.figures.peak_memory_bytes; };
  return {{{.title = answer.question.variable, .key = answer.question.variable},
           [](Row point) { return cell_of(Count{point.value}, Unit::kWhole, Style::kStrong); }},
          {{.key = "peak_memory_bytes"}, peak},
          {number("Peak"),
           [=](Row point) {
             return Cell(format_bytes(peak(point)), peak(point) <= limit ? Style::kPlain : Style::kWarning);
           }},
          {number("Of the memory"),
           [=](Row point) {
             const Count used = peak(point);
             return used <= limit ? Cell(format_bytes(limit - used) + " free", Style::kGood)
                                  : Cell(format_bytes(used - limit) + " too much", Style::kWarning);
           }},
          {{.key = "fits"}, [=](Row point) { return peak(point) <= limit ? "yes" : "no"; }},
          {keyed("peak_at", words("While", 12)), &FitPoint::peak_at}};
}

std::vector<FitPoint> points_of(const FitAnswer& answer) {
  std::vector<FitPoint> points;
  for (const auto* point : {&answer.best, &answer.next})
    if (*point) points.push_back(**point);
  return points;
}

Document document_of(const FitAnswer& answer, const TextOptions& options) {
  Document document{.header = {{answer.model, Style::kStrong}}, .notes = options.notes, .sections = {}};
  if (!answer.source.empty()) document.header.push_back({answer.source});
  if (!answer.inputs.empty()) document.header.push_back({answer.inputs});
  document.header.push_back({"peaks of " + plural(answer.captures, "capture"), Style::kQuiet});
  Section section{"", table_of(point_columns(answer), points_of(answer))};
  std::string said = verdict(answer);
  if (!said.empty() && said[0] >= 'a' && said[0] <= 'z') said[0] = static_cast<char>(said[0] - 'a' + 'A');
  section.remarks.push_back(said);
  if (const auto& shown = answer.best ? answer.best : answer.next)
    section.remarks.push_back("Its peak is " + split_text(shown->figures.at_peak));
  // Measured on a GPU: docs/sweep.md.
  if (answer.end == End::kMemory && !answer.question.reserve)
    section.remarks.push_back(
        "This counts tensors only. The allocator's fragmentation and the driver need more: --reserve 10% "
        "keeps memory free for them");
  document.sections.push_back(std::move(section));
  return document;
}

}  // namespace

std::string to_format(const FitAnswer& answer, Format format, const TextOptions& options) {
  return to_format(Report{[&](JsonWriter& json) { write_answer(json, answer); },
                          [&] { return table_of(point_columns(answer), points_of(answer), In::kCsv); },
                          [&] { return document_of(answer, options); }},
                   format, options);
}

}  // namespace opscope
