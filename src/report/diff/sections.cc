// The diff as tables: totals, op types, and the outline of what changed.
#include <fmt/format.h>

#include "base/text.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

constexpr std::size_t kMostTypes = 8;

Cell change_cell(std::string text, Style more = Style::kPlain) {
  if (text.empty()) return {"-", Style::kQuiet};
  return {std::move(text), more};
}

Style style_of_change(const TotalChange& total) {
  if (total.metric->better != Better::kLess) return Style::kPlain;
  if (is_more(total.metric->unit, total.after, total.before)) return Style::kWarning;
  return is_more(total.metric->unit, total.before, total.after) ? Style::kGood : Style::kPlain;
}

// The lines before a row's name; `open`: by depth, whether more rows of that level come.
std::string guides_of(const OutlineRow& row, std::vector<bool>& open) {
  open.resize(row.depth);
  open[row.depth - 1] = !row.is_last;
  std::string guides;
  for (std::size_t d = 0; d + 1 < row.depth; ++d) guides += open[d] ? "│  " : "   ";
  return guides + (row.is_last ? "└─ " : "├─ ");
}

std::string times(const OutlineRow& row) {
  return row.nodes.size() > 1 && !row.follow ? " x" + std::to_string(row.nodes.size()) : "";
}

OutlineOptions outline_options(const TextOptions& options) {
  OutlineOptions outline;
  outline.depth = options.verbose ? 1000 : options.depth;
  outline.fold = options.fold;
  return outline;
}

}  // namespace

Section diff_totals_section(const ModelDiff& diff) {
  using Row = const TotalChange&;
  Column before = number(diff.base_label), after = number(diff.new_label);
  before.min_width = after.min_width = 8;
  const Columns<TotalChange> columns{
      {words("Total"), [](Row total) { return heading(*total.metric); }},
      {before, [](Row total) { return text(*total.metric, total.before); }},
      {after, [](Row total) { return text(*total.metric, total.after); }},
      {number("Change"),
       [](Row total) {
         return change_cell(change_text(total.metric->unit, total.before, total.after),
                            style_of_change(total));
       }},
      {number(""), [](Row total) { return relative_change(total.before, total.after); }}};
  return {"Totals", table_of(columns, diff.totals)};
}

Section diff_types_section(const ModelDiff& diff, const TextOptions& options) {
  Columns<TypeChange> columns{{words("Op type", 10), &TypeChange::type}};
  const auto add = [&](const char* title, Unit unit, std::int64_t Amounts::*amount, bool optional) {
    Column now = number(title), change = number("");
    now.optional = change.optional = optional;
    columns += {{now, [=](const TypeChange& type) { return text(unit, counted(Count{type.after.*amount})); }},
                {change, [=](const TypeChange& type) {
                   return change_cell(change_text(unit, (type.after - type.before).*amount));
                 }}};
  };
  add("Ops", Unit::kWhole, &Amounts::ops, false);
  add("FLOPs", Unit::kCount, &Amounts::flops, false);
  add("Bytes", Unit::kBytes, &Amounts::memory_bytes, true);
  const std::size_t shown = options.verbose ? diff.types.size() : std::min(diff.types.size(), kMostTypes);
  Section section{"By op type", table_of(columns, std::span(diff.types).first(shown))};
  if (shown < diff.types.size())
    section.remarks.push_back(plural(diff.types.size() - shown, "more type") + " changed: -v shows all");
  return section;
}

Section diff_changes_section(const ModelDiff& diff, const TextOptions& options) {
  Section section{"Changes", {}, {}};
  section.table.columns = {{"", Align::kLeft},
                           {"Module", Align::kLeft, 14, false, 26},
                           {"Type", Align::kLeft, 6, false, 11},
                           {"What changed", Align::kLeft, 12, false, 24},
                           {"Params"},
                           {"FLOPs"},
                           {"Bytes", Align::kRight, 0, true}};
  std::vector<std::string> around{""};  // by depth: the path that names below are told from
  std::vector<bool> open;
  bool repeats = false, closed = false;
  for (const OutlineRow& row : make_outline(diff, outline_options(options))) {
    const DiffNode& node = diff.nodes[row.nodes.front()];
    const DiffItem& item = diff.item(node);
    around.resize(row.depth);
    const std::string name = row.itself   ? "(itself)"
                             : row.follow ? plural(row.nodes.size(), "layer")
                                          : outline_name(diff, row, around.back()) + times(row);
    around.push_back(item.path);
    const Style style = row.is_open || row.follow || row.itself ? Style::kQuiet : status_style(row.status);
    section.table.rows.push_back({{std::string(status_mark(row.status)), status_style(row.status)},
                                  {name, row.follow ? Style::kQuiet : Style::kPlain, guides_of(row, open)},
                                  {row.follow || !item.is_module ? "" : item.type, Style::kQuiet},
                                  {outline_words(diff, row), style},
                                  change_cell(change_text(Unit::kParams, row.amounts.params)),
                                  change_cell(change_text(Unit::kCount, row.amounts.flops)),
                                  change_cell(change_text(Unit::kBytes, row.amounts.memory_bytes))});
    repeats |= !times(row).empty();
    closed |= !row.is_open && !row.follow && !row.itself && !is_whole(diff, node);
  }
  if (repeats) section.remarks.push_back("xN: N layers that changed in the same way; numbers are of one");
  for (const std::string& line : diff.renumbered) section.remarks.push_back(line);
  if (closed) section.remarks.push_back("deeper: --depth N, or -v for every layer");
  return section;
}

Document diff_document(const ModelDiff& diff, const TextOptions& options) {
  Document document;
  const std::string title = diff.base_label + " \u2192 " + diff.new_label;
  document.header = {{title, Style::kStrong},
                     {diff.now.source, Style::kQuiet},
                     {diff.now.inputs, Style::kQuiet},
                     {diff_summary(diff), diff.same() ? Style::kGood : Style::kPlain}};
  std::erase_if(document.header, is_empty);
  document.notes = options.notes;
  for (std::string& note : diff_notes(diff)) document.notes.push_back(std::move(note));
  if (diff.same() && !options.verbose) return document;
  document.sections.push_back(diff_totals_section(diff));
  if (!diff.types.empty()) document.sections.push_back(diff_types_section(diff, options));
  if (!diff.same()) document.sections.push_back(diff_changes_section(diff, options));
  return document;
}

std::string to_format(const ModelDiff& diff, Format format, const TextOptions& options) {
  if (format == Format::kMarkdown) return diff_markdown(diff, options);
  return to_format(Report{[&](JsonWriter& json) { write_diff(json, diff); }, [&] { return diff_rows(diff); },
                          [&] { return diff_document(diff, options); }},
                   format, options);
}

}  // namespace opscope
