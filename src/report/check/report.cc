// Checks as a document, JSON and CSV.
#include "report/check/report.h"

#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/seconds.h"
#include "base/text.h"
#include "report/core/json_parts.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

Cell verdict_cell(const CheckReport& report, const LimitResult& result) {
  if (result.verdict == Verdict::kUnknown)
    return {"unknown", report.breaks(result) ? Style::kBad : Style::kWarning};
  if (result.verdict == Verdict::kKept) return {"kept", Style::kGood};
  return {result.limit.kind == LimitKind::kLeast ? "under" : "over", Style::kBad};
}

std::string limit_words(const BudgetLimit& limit) {
  if (limit.kind == LimitKind::kMost) return "at most";
  if (limit.kind == LimitKind::kLeast) return "at least";
  return limit.percent ? fmt::format("+{}%", *limit.percent) : "+" + text(*limit.metric, limit.amount);
}

std::vector<Cell> cells_of(const CheckReport& report, const LimitResult& result) {
  const Unit unit = result.limit.metric->unit;
  std::vector<Cell> cells{verdict_cell(report, result), {limit_name(result.limit)}};
  const std::string value =
      result.value ? (result.at_least ? "\u2265" : "") + text(unit, *result.value) : "?";
  cells.push_back({value, Style::kStrong});
  cells.push_back({limit_words(result.limit), Style::kQuiet});
  cells.push_back({text(unit, result.allowed)});
  const bool known = result.value.has_value();
  cells.push_back({known ? change_text(unit, result.allowed, *result.value) : ""});
  cells.push_back({known ? relative_change(result.allowed, *result.value) : "", Style::kQuiet});
  return cells;
}

void write_amount(JsonWriter& json, std::string_view key, const Metric& metric,
                  const std::optional<Amount>& amount) {
  json.key(key);
  if (!amount)
    json.null();
  else if (is_whole(metric.unit))
    json.value(amount->count);
  else
    json.value(amount->real);
}

void write_result(JsonWriter& json, const CheckReport& report, const LimitResult& result) {
  const BudgetLimit& limit = result.limit;
  json.begin_object(JsonLayout::kInline);
  json.field("metric", limit.metric->key);
  json.field("kind", name(limit.kind));
  json.field("module", limit.module);
  json.field("type", limit.type);
  json.field("verdict", name(result.verdict));
  json.field("passes", !report.breaks(result));
  write_amount(json, "value", *limit.metric, result.value);
  write_amount(json, "allowed", *limit.metric, result.allowed);
  write_amount(json, "base", *limit.metric, result.base);
  json.field("is_lower_bound", result.at_least);
  json.field("text", limit_sentence(result));
  json.field("where", limit.where);
  json.objects("contributors", result.contributors, [&](const Contributor& one) {
    json.field("path", one.path);
    json.field("type", one.type);
    if (limit.metric->unit == Unit::kSeconds)
      json.field("amount", static_cast<double>(one.amount) * kPicosecond);
    else
      json.field("amount", one.amount);
    json.field("share", one.share);
  });
  json.end_object();
}

}  // namespace

Document check_document(const CheckReport& report, const TextOptions& options) {
  Document document;
  document.header = {{report.label, Style::kStrong},
                     {report.figures.source, Style::kQuiet},
                     {report.figures.inputs, Style::kQuiet},
                     {report.against.empty() ? "" : "against " + report.against, Style::kQuiet},
                     {check_summary(report), report.kept() ? Style::kGood : Style::kBad}};
  std::erase_if(document.header, [](const Cell& cell) { return cell.text.empty(); });
  document.notes = options.notes;
  Section section{"Limits", {}, {}}, why{"Not kept", {}, {}};
  section.table.columns = {{"", Align::kLeft},
                           {"Limit", Align::kLeft, 12, false, 24},
                           {"Value"},
                           {"", Align::kLeft},
                           {"Allowed"},
                           {"Difference"},
                           {"", Align::kRight, 0, true}};
  for (const LimitResult& result : report.results) {
    section.table.rows.push_back(cells_of(report, result));
    if (result.verdict == Verdict::kKept) continue;
    const std::string what = limit_name(result.limit);
    Entry entry{what, {limit_sentence(result).substr(what.size() + 1)}};
    for (const Contributor& one : result.contributors)
      entry.lines.push_back("  " + contributor_text(result, one));
    if (result.limit.metric->need == kNeedsPeak && !report.figures.peak_at.empty())
      entry.lines.push_back("  the peak is at " + report.figures.peak_at);
    if (result.verdict == Verdict::kUnknown && !report.unknown_allowed)
      entry.lines.push_back("  a value that is not known does not pass: --allow-unknown accepts it");
    why.entries.push_back(std::move(entry));
  }
  document.sections.push_back(std::move(section));
  if (!why.entries.empty()) document.sections.push_back(std::move(why));
  return document;
}

std::string check_json(std::span<const CheckReport> reports) {
  std::string out;
  JsonWriter json(out);
  begin_report(json);
  json.field("kept", std::ranges::all_of(reports, [](const CheckReport& r) { return r.kept(); }));
  json.key("models");
  json.begin_array();
  for (const CheckReport& report : reports) {
    json.begin_object();
    json.field("label", report.label);
    json.field("model", report.figures.model);
    json.field("source", report.figures.source);
    json.field("inputs", report.figures.inputs);
    json.field("against", report.against);
    json.field("kept", report.kept());
    json.key("limits");
    json.begin_array();
    for (const LimitResult& result : report.results) write_result(json, report, result);
    json.end_array();
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out + "\n";
}

std::string check_csv(std::span<const CheckReport> reports) {
  std::string out = "model,metric,kind,module,type,verdict,passes,value,allowed,base,text\n";
  for (const CheckReport& report : reports)
    for (const LimitResult& result : report.results) {
      const auto number = [&](const std::optional<Amount>& amount) -> std::string {
        if (!amount) return "";
        const bool whole = is_whole(result.limit.metric->unit);
        return whole ? std::to_string(amount->count.value()) : fmt::format("{}", amount->real);
      };
      out +=
          fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(report.label), result.limit.metric->key,
                      name(result.limit.kind), csv_field(result.limit.module), csv_field(result.limit.type),
                      name(result.verdict), !report.breaks(result), number(result.value),
                      number(result.allowed), number(result.base), csv_field(limit_sentence(result)));
    }
  return out;
}

std::string to_format(std::span<const CheckReport> reports, Format format, const TextOptions& options) {
  if (format == Format::kJson) return check_json(reports);
  if (format == Format::kCsv) return check_csv(reports);
  std::string out;
  for (const CheckReport& report : reports) {
    const Document document = check_document(report, options);
    if (!out.empty()) out += "\n";
    out += format == Format::kText       ? to_text(document, options)
           : format == Format::kMarkdown ? to_markdown(document)
                                         : to_html(document);
  }
  return out;
}

}  // namespace opscope
