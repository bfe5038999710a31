// The diff for programs. Every item that is not unchanged is a row with the change of its own, in JSON and in
// CSV.
#include "report/diff/report.h"

#include <fmt/format.h>

#include "base/seconds.h"
#include "base/text.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

std::vector<const DiffNode*> told_nodes(const ModelDiff& diff) {
  std::vector<const DiffNode*> nodes;
  for (const DiffNode& node : diff.nodes)
    if (node.status != DiffStatus::kUnchanged || node.own != Amounts{}) nodes.push_back(&node);
  return nodes;
}

// "out_channels 64 -> 128; its cost"
std::string changes_text(const DiffNode* node) {
  std::string text;
  for (const DetailChange& c : node->changes)
    text += (text.empty() ? "" : "; ") + c.what +
            (c.kind == DetailKind::kCost ? "" : " " + c.before + " -> " + c.after);
  return text;
}

Columns<const DiffNode*> node_columns(const ModelDiff& diff) {
  using Row = const DiffNode*;
  const auto path = [](const DiffTree& tree, std::uint32_t item) {
    return item == kNone ? Cell() : Cell(tree.items[item].path);
  };
  const Columns<Row> kind{{"kind", [&](Row node) { return diff.item(*node).is_module ? "module" : "op"; }}};
  const Columns<DetailChange> changes{{"kind", [](const DetailChange& change) { return name(change.kind); }},
                                      {"name", &DetailChange::what},
                                      {"base", &DetailChange::before},
                                      {"new", &DetailChange::after}};
  Columns<Row> columns{{"status", [](Row node) { return name(node->status); }},
                       {"path", [&, path](Row node) { return path(diff.new_tree, node->now); }},
                       {"base_path", [&, path](Row node) { return path(diff.base_tree, node->base); }}};
  columns += in_format_alone(In::kCsv, kind);
  columns += {{"type", [&](Row node) { return diff.item(*node).type; }}};
  columns += in_format_alone(In::kJson, kind);
  columns += {{{.key = "follows_its_input", .in = In::kJson}, [](Row node) { return node->follows; }},
              {{.key = "what", .in = In::kCsv}, changes_text},
              {{.key = "what", .in = In::kJson}, [=](Row node) {
                 return NestedJson([=](JsonWriter& json) { write_array(json, changes, node->changes); });
               }}};
  for (const AmountField& field : std::span(kAmountFields).first(kCountFields))
    columns.push_back({{.key = std::string(field.key) + "_change", .in = In::kCsv},
                       [amount = field.amount](Row node) { return node->own.*amount; }});
  return columns;
}

class DiffWriter {
 public:
  DiffWriter(const ModelDiff& diff, JsonWriter& json) : diff_(diff), json_(json) {}

  void run() {
    begin_report(json_);
    side("base", diff_.base, diff_.base_label);
    side("new", diff_.now, diff_.new_label);
    json_.field("same", diff_.same());
    json_.field("summary", diff_summary(diff_));
    json_.list("notes", diff_notes(diff_));
    json_.inline_object("layers", [&] {
      for (std::size_t i = 0; i < kDiffStatuses; ++i)
        json_.field(name(static_cast<DiffStatus>(i)), diff_.layers[i]);
    });
    json_.object("totals", [&] {
      for (const TotalChange& total : diff_.totals) write(total);
    });
    json_.objects("types", diff_.types, [&](const TypeChange& type) {
      json_.field("type", type.type);
      amounts("base", type.before);
      amounts("new", type.after);
      amounts("change", type.after - type.before);
    });
    const auto columns = node_columns(diff_);
    json_.objects("changes", told_nodes(diff_), [&](const DiffNode* node) {
      write_fields(json_, columns, node);
      amounts("change", node->own);
      amounts("change_with_parts", node->all);
    });
    json_.list("renumbered", diff_.renumbered);
  }

 private:
  void side(std::string_view key, const Figures& figures, const std::string& label) {
    json_.inline_object(key, [&] {
      json_.field("label", label);
      json_.field("model", figures.model);
      json_.field("source", figures.source);
      json_.field("inputs", figures.inputs);
      json_.field("convention", figures.convention);
      json_.field("unknown_ops", figures.coverage.unknown);
    });
  }

  void write(const TotalChange& total) {
    const Unit unit = total.metric->unit;
    const Count before = total.before.count, after = total.after.count;
    const Cell change = is_whole(unit) ? Cell(static_cast<std::int64_t>(after.value() - before.value()))
                                       : Cell(total.after.real - total.before.real);
    json_.inline_object(total.metric->key, [&] {
      write_field(json_, "base", amount_cell(unit, total.before));
      write_field(json_, "new", amount_cell(unit, total.after));
      write_field(json_, "change", change);
    });
  }

  void amounts(std::string_view key, const Amounts& amounts) {
    json_.inline_object(key, [&] {
      for (const AmountField& field : kAmountFields) {
        const Metric& metric = metric_at(field.key);
        if (is_whole(metric.unit))
          json_.field(field.key, amounts.*field.amount);
        else if (amount_in(diff_.base, metric) && amount_in(diff_.now, metric))
          json_.field(field.key, static_cast<double>(amounts.*field.amount) * kPicosecond);
      }
    });
  }

  const ModelDiff& diff_;
  JsonWriter& json_;
};

}  // namespace

void write_diff(JsonWriter& json, const ModelDiff& diff) { DiffWriter(diff, json).run(); }

Table diff_rows(const ModelDiff& diff) { return table_of(node_columns(diff), told_nodes(diff), In::kCsv); }

namespace {

constexpr std::size_t kMostRows = 60;  // a comment has its limits

std::string details(const std::string& summary, const Section& section, bool open) {
  std::string out = fmt::format("\n<details{}><summary>{}</summary>\n\n{}", open ? " open" : "",
                                html_escaped(summary), markdown_table(section.table));
  for (const std::string& remark : section.remarks) out += "\n" + html_escaped(remark) + "\n";
  return out + "\n</details>\n";
}

// Only what changed: the rest of the totals says nothing.
Section changed_totals(const ModelDiff& diff) {
  Section section = diff_totals_section(diff);
  std::erase_if(section.table.rows, [](const std::vector<Cell>& row) { return text_of(row[3]) == "-"; });
  section.table.columns.front().title = "";
  return section;
}

}  // namespace

std::string diff_markdown(const ModelDiff& diff, const TextOptions& options) {
  std::string out = fmt::format("### `{}` \u2192 `{}`\n\n{}\n", diff.base_label, diff.new_label,
                                html_escaped(diff_summary(diff)));
  for (const std::string& note : diff_notes(diff)) out += "\n> " + html_escaped(note) + "\n";
  if (diff.same()) return out;
  if (const Section totals = changed_totals(diff); !totals.table.rows.empty())
    out += "\n" + markdown_table(totals.table);
  const Section changes = diff_changes_section(diff, options);
  out += details("What changed", changes, changes.table.rows.size() < kMostRows / 6);
  if (!diff.types.empty()) out += details("By op type", diff_types_section(diff, options), false);
  return out;
}

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
