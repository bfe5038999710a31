// What fits, in words, with what the peak is made of.
#include "base/json_writer.h"
#include "base/text.h"
#include "graph/writer.h"
#include "report/core/document.h"
#include "report/memory/report.h"
#include "report/sweep/sweep.h"

namespace opscope {
namespace {

using End = FitAnswer::End;

std::string_view name_of(End end) {
  switch (end) {
    case End::kMemory:
      return "memory";
    case End::kModel:
      return "model";
    case End::kNothing:
      return "nothing";
    case End::kFails:
      return "fails";
    case End::kUnlimited:
      return "unlimited";
  }
  return "";
}

std::string spoken(const FitAnswer& answer, std::int64_t value) {
  std::string text = answer.question.variable;
  for (char& letter : text) letter = letter == '_' ? ' ' : letter;
  return text + " " + format_exact(Count{value});
}

std::string limit_text(const FitQuestion& question) {
  if (!question.reserve) return binary_bytes(question.memory);
  return binary_bytes(question.memory) + " less " + binary_bytes(question.reserve) + " kept free";
}

std::string verdict(const FitAnswer& answer) {
  const FitQuestion& question = answer.question;
  switch (answer.end) {
    case End::kMemory:
      return spoken(answer, answer.best->value) + " is the largest that fits " + limit_text(question);
    case End::kModel:
      return spoken(answer, answer.best->value) + " fits " + limit_text(question) +
             ", and the model accepts no more: " + answer.problem;
    case End::kNothing:
      return "not even " + spoken(answer, answer.next->value) + " fits " + limit_text(question);
    case End::kFails:
      return "not even " + spoken(answer, answer.problem_at) + " can be captured: " + answer.problem;
    case End::kUnlimited:
      return spoken(answer, answer.best->value) + " still fits " + limit_text(question) +
             ", and nothing larger was tried";
  }
  return "";
}

void write_point(JsonWriter& json, std::string_view key, const std::optional<FitPoint>& point) {
  json.key(key);
  if (!point) return json.null();
  json.begin_object();
  json.field("value", point->value);
  json.field("peak_memory_bytes", point->figures.peak_memory_bytes);
  for (std::size_t kind = 0; kind < kMemoryKinds; ++kind)
    json.field(std::string(name(static_cast<MemoryKind>(kind))) + "_bytes",
               point->figures.at_peak.bytes[kind]);
  json.field("peak_at", point->peak_at);
  json.end_object();
}

void write_answer(JsonWriter& json, const FitAnswer& answer) {
  begin_report(json);
  json.field("model", answer.model);
  json.field("source", answer.source);
  json.field("variable", answer.question.variable);
  json.field("memory_bytes", answer.question.memory);
  json.field("reserve_bytes", answer.question.reserve);
  json.field("limited_by", name_of(answer.end));
  write_field(json, "largest", answer.best ? Cell(answer.best->value) : Cell());
  write_point(json, "best", answer.best);
  write_point(json, "next", answer.next);
  json.field("problem", answer.problem);
  json.field("verdict", verdict(answer));
  json.field("captures", answer.captures);
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
