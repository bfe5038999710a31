// What fits, in words, with what the peak is made of.
#include "base/json_writer.h"
#include "base/text.h"
#include "graph/writer.h"
#include "report/core/json_parts.h"
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

void add_row(Table& table, const FitAnswer& answer, const FitPoint& point) {
  const Count limit = answer.question.available(), peak = point.figures.peak_memory_bytes;
  const bool fits = peak <= limit;
  std::vector<Cell> cells{{format_exact(Count{point.value}), Style::kStrong}};
  cells.push_back({format_bytes(peak), fits ? Style::kPlain : Style::kWarning});
  cells.push_back({fits ? format_bytes(limit - peak) + " free" : format_bytes(peak - limit) + " too much",
                   fits ? Style::kGood : Style::kWarning});
  cells.push_back({point.peak_at});
  table.rows.push_back(std::move(cells));
}

Document document_of(const FitAnswer& answer, const TextOptions& options) {
  Document document{.header = {{answer.model, Style::kStrong}}, .notes = options.notes, .sections = {}};
  if (!answer.source.empty()) document.header.push_back({answer.source});
  if (!answer.inputs.empty()) document.header.push_back({answer.inputs});
  document.header.push_back({"peaks of " + plural(answer.captures, "capture"), Style::kQuiet});
  Section section{.title = "", .table = {}, .remarks = {}};
  section.table.columns = {{.title = answer.question.variable},
                           {.title = "Peak"},
                           {.title = "Of the memory"},
                           {.title = "While", .align = Align::kLeft, .min_width = 12}};
  if (answer.best) add_row(section.table, answer, *answer.best);
  if (answer.next) add_row(section.table, answer, *answer.next);
  std::string words = verdict(answer);
  if (!words.empty() && words[0] >= 'a' && words[0] <= 'z')
    words[0] = static_cast<char>(words[0] - 'a' + 'A');
  section.remarks.push_back(words);
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

std::string json_of(const FitAnswer& answer) {
  std::string out;
  JsonWriter json(out);
  begin_report(json);
  json.field("model", answer.model);
  json.field("source", answer.source);
  json.field("variable", answer.question.variable);
  json.field("memory_bytes", answer.question.memory);
  json.field("reserve_bytes", answer.question.reserve);
  json.field("limited_by", name_of(answer.end));
  json.key("largest");
  answer.best ? json.value(answer.best->value) : json.null();
  write_point(json, "best", answer.best);
  write_point(json, "next", answer.next);
  json.field("problem", answer.problem);
  json.field("verdict", verdict(answer));
  json.field("captures", answer.captures);
  json.end_object();
  return out + "\n";
}

std::string csv_of(const FitAnswer& answer) {
  std::string out = answer.question.variable + ",peak_memory_bytes,fits,peak_at\n";
  for (const auto* point : {&answer.best, &answer.next}) {
    if (!*point) continue;
    const FitPoint& row = **point;
    out += std::to_string(row.value) + "," + std::to_string(row.figures.peak_memory_bytes.value()) + ",";
    out += std::string(row.figures.peak_memory_bytes <= answer.question.available() ? "yes" : "no") + "," +
           csv_field(row.peak_at) + "\n";
  }
  return out;
}

}  // namespace

std::string to_format(const FitAnswer& answer, Format format, const TextOptions& options) {
  return in_format(
      format, options, [&] { return json_of(answer); }, [&] { return csv_of(answer); },
      [&] { return document_of(answer, options); });
}

}  // namespace opscope
