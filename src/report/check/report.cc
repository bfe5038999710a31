// Checks as a document, JSON and CSV, in sentences and as annotations; a budget as TOML.
#include "report/check/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/terminal_text.h"
#include "base/text.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

// What GitHub would take for the end of a property or a line.
std::string annotated(std::string_view text) {
  std::string out;
  for (const char c : text)
    out += c == '%' || c == '\r' || c == '\n' ? fmt::format("%{:02X}", static_cast<unsigned char>(c))
                                              : std::string(1, c);
  return out;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' || c == '\\' ? "\\" : "").push_back(c);
  return out + "\"";
}

// "layer1 flops", "conv2d ops", "flops"
std::string limit_name(const BudgetLimit& limit) {
  const std::string& of = limit.module.empty() ? limit.type : limit.module;
  return (of.empty() ? "" : of + " ") + std::string(limit.metric->key);
}

// "layer4 1.24G (34.1%)"; of an increase, how much it is of it.
std::string contributor_text(const LimitResult& result, const Contributor& one) {
  const Unit unit = result.limit.metric->unit;
  const bool change = result.limit.kind == LimitKind::kIncrease;
  const std::string amount =
      change ? change_text(unit, one.amount) : text(unit, amount_in(unit, Count{one.amount}));
  return fmt::format("{} {} ({})", one.path, amount, format_percent(one.share, 1.0));
}

// "flops is 3.64G, over 3.00G by 636M (21.2%)"
std::string limit_sentence(const LimitResult& result) {
  const Unit unit = result.limit.metric->unit;
  const std::string what = limit_name(result.limit);
  if (result.verdict == Verdict::kUnknown) return fmt::format("{} is not known: {}", what, result.reason);
  const std::string value = (result.at_least ? "at least " : "") + text(unit, *result.value);
  const std::string allowed = text(unit, result.allowed);
  const std::string_view word = result.verdict == Verdict::kKept         ? "within"
                                : result.limit.kind == LimitKind::kLeast ? "under"
                                                                         : "over";
  std::string by = change_text(unit, result.allowed, *result.value);
  if (!by.empty() && (by[0] == '+' || by[0] == '-')) by.erase(0, 1);
  const std::string percent = relative_change(result.allowed, *result.value);
  std::string text = fmt::format("{} is {}, {} {}", what, value, word, allowed);
  if (!by.empty()) text += fmt::format(" by {}{}", by, percent.empty() ? "" : " (" + percent + ")");
  if (result.base)
    text += fmt::format(
        "; it was {}{}", ::opscope::text(unit, *result.base),
        result.limit.percent ? fmt::format(", and {}% more is allowed", *result.limit.percent) : "");
  return text;
}

// "within budget: 3 limits kept", "over budget: 1 of 3 limits not met"
std::string check_summary(const CheckReport& report) {
  const std::size_t all = report.results.size(), broken = report.broken();
  if (broken == 0) return fmt::format("within budget: {} kept", plural(all, "limit"));
  const bool any_over = std::ranges::any_of(
      report.results, [](const LimitResult& result) { return result.verdict == Verdict::kBroken; });
  return fmt::format("{}: {} of {} not met", any_over ? "over budget" : "budget unknown", broken,
                     plural(all, "limit"));
}

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

Cell contributors_cell(const LimitResult& result) {
  const bool is_time = result.limit.metric->unit == Unit::kSeconds;
  const auto amount = [=](const Contributor& one) {
    return is_time ? Cell(static_cast<double>(one.amount) * kPicosecond) : Cell(one.amount);
  };
  const Columns<Contributor> columns{{"path", &Contributor::path},
                                     {"type", &Contributor::type},
                                     {"amount", amount},
                                     {"share", &Contributor::share}};
  return nested_rows(columns, result.contributors);
}

// A limit of a model, in every format.
struct LimitRow {
  const CheckReport& report;
  const LimitResult& result;
};

Columns<LimitRow> limit_columns() {
  using Row = const LimitRow&;
  const auto of_limit = [](auto member) { return [=](Row row) { return row.result.limit.*member; }; };
  const auto amount = [](const auto& read) {
    return [=](Row row) { return amount_cell(row.result.limit.metric->unit, read(row.result)); };
  };
  // What there is to say of a value that is known.
  const auto if_known = [](const auto& words) {
    return [=](Row row) { return row.result.value ? words(row.result) : std::string(); };
  };
  return {{words(""), [](Row row) { return verdict_cell(row.report, row.result); }},
          {words("Limit", 12, 24), [](Row row) { return limit_name(row.result.limit); }},
          {in_csv("model"), [](Row row) { return row.report.label; }},
          {"metric", [](Row row) { return row.result.limit.metric->key; }},
          {"kind", [](Row row) { return name(row.result.limit.kind); }},
          {"module", of_limit(&BudgetLimit::module)},
          {"type", of_limit(&BudgetLimit::type)},
          {"verdict", [](Row row) { return name(row.result.verdict); }},
          {"passes", [](Row row) { return !row.report.breaks(row.result); }},
          {"value", amount([](const LimitResult& result) { return result.value; })},
          {number("Value").strong(),
           [](Row row) {
             const auto& [limit, value] = std::tie(row.result.limit, row.result.value);
             return value ? (row.result.at_least ? "\u2265" : "") + text(*limit.metric, *value) : "?";
           }},
          {words("").quiet(), [](Row row) { return limit_words(row.result.limit); }},
          {"allowed", amount([](const LimitResult& result) { return std::optional(result.allowed); })},
          {number("Allowed"), [](Row row) { return text(*row.result.limit.metric, row.result.allowed); }},
          {number("Difference"), if_known([](const LimitResult& result) {
             return change_text(result.limit.metric->unit, result.allowed, *result.value);
           })},
          {number("").or_not().quiet(), if_known([](const LimitResult& result) {
             return relative_change(result.allowed, *result.value);
           })},
          {"base", amount([](const LimitResult& result) { return result.base; })},
          {in_json("is_lower_bound"), [](Row row) { return row.result.at_least; }},
          {"text", [](Row row) { return limit_sentence(row.result); }},
          {in_json("where"), of_limit(&BudgetLimit::where)},
          {in_json("contributors"), [](Row row) { return contributors_cell(row.result); }}};
}

std::vector<LimitRow> limit_rows(std::span<const CheckReport> reports) {
  std::vector<LimitRow> rows;
  for (const CheckReport& report : reports)
    for (const LimitResult& result : report.results) rows.push_back({report, result});
  return rows;
}

Entry entry_of(const CheckReport& report, const LimitResult& result) {
  const std::string what = limit_name(result.limit);
  Entry entry{what, {limit_sentence(result).substr(what.size() + 1)}};
  for (const Contributor& one : result.contributors)
    entry.lines.push_back("  " + contributor_text(result, one));
  if (result.limit.metric->need == kNeedsPeak && !report.figures.peak_at.empty())
    entry.lines.push_back("  the peak is at " + report.figures.peak_at);
  if (result.verdict == Verdict::kUnknown && !report.unknown_allowed)
    entry.lines.push_back("  a value that is not known does not pass: --allow-unknown accepts it");
  return entry;
}

Document check_document(const CheckReport& report, const TextOptions& options) {
  Document document{without_empty({{report.label, Style::kStrong},
                                   {report.figures.source, Style::kQuiet},
                                   {report.figures.inputs, Style::kQuiet},
                                   {report.against.empty() ? "" : "against " + report.against, Style::kQuiet},
                                   {check_summary(report), report.kept() ? Style::kGood : Style::kBad}}),
                    options.notes};
  document.sections.push_back({"Limits", table_of(limit_columns(), limit_rows({&report, 1}))});
  Section why{"Not kept"};
  for (const LimitResult& result : report.results)
    if (result.verdict != Verdict::kKept) why.entries.push_back(entry_of(report, result));
  document.add(std::move(why));
  return document;
}

void write_check(JsonWriter& json, std::span<const CheckReport> reports) {
  begin_report(json);
  json.field("kept", std::ranges::all_of(reports, [](const CheckReport& r) { return r.kept(); }));
  const auto write_model = [&](const CheckReport& report) {
    json.fields("label", report.label, "model", report.figures.model, "source", report.figures.source);
    json.fields("inputs", report.figures.inputs, "against", report.against, "kept", report.kept());
    write_rows(json, "limits", limit_columns(), limit_rows({&report, 1}));
  };
  json.objects("models", reports, write_model, JsonLayout::kLines);
}

}  // namespace

std::string to_format(std::span<const CheckReport> reports, Format format, const TextOptions& options) {
  if (!is_for_people(format))
    return to_format(Report{[&](JsonWriter& json) { write_check(json, reports); },
                            [&] { return table_of(limit_columns(), limit_rows(reports), In::kCsv); },
                            {}},
                     format, options);
  std::string out;
  for (const CheckReport& report : reports)
    out += (out.empty() ? "" : "\n") +
           to_format(Report{{}, {}, [&] { return check_document(report, options); }}, format, options);
  return out;
}

std::string check_annotations(std::span<const CheckReport> reports) {
  std::string out;
  for (const CheckReport& report : reports) {
    for (const LimitResult& result : report.results) {
      if (!report.breaks(result)) continue;
      std::string text = report.label + ": " + limit_sentence(result);
      for (const Contributor& one : result.contributors)
        text += (&one == result.contributors.data() ? "\nmostly " : ", ") + contributor_text(result, one);
      out += "::error title=opscope check::" + annotated(text) + "\n";
    }
    if (report.kept())
      out += "::notice title=opscope check::" + annotated(report.label + ": " + check_summary(report)) + "\n";
  }
  return out;
}

std::string budget_toml(const std::string& spec,
                        const std::vector<std::pair<std::string, std::string>>& flags,
                        const Figures& figures) {
  std::string out = "# What " + printable(figures.model) +
                    " costs now. Raise a number to allow more; remove a line to remove a limit.\n";
  out += "[[model]]\nspec = " + quoted(spec) + "\n";
  for (std::size_t i = 0, next = 0; i < flags.size(); i = next) {
    std::string values;
    for (next = i; next < flags.size() && flags[next].first == flags[i].first; ++next)
      values += (next > i ? ", " : "") + quoted(flags[next].second);
    out += flags[i].first + " = " + (next > i + 1 ? "[" + values + "]" : values) + "\n";
  }
  out += "\n[model.max]\n";
  for (const Metric& metric : metrics()) {
    const auto amount = amount_in(figures, metric);
    if (!amount || metric.is_detail || !is_whole(metric.unit)) continue;
    out += fmt::format("{} = {:<{}}  # {}\n", metric.key, amount->count.value(), 14, text(metric, *amount));
  }
  return out;
}

}  // namespace opscope
