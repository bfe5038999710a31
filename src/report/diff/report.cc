// The diff for people and for programs: totals, op types, and the outline of what changed as tables; every
// item that is not unchanged as a row of JSON and CSV; and a comment on a pull request.
#include "report/diff/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/terminal_text.h"
#include "base/text.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr std::size_t kMostTypes = 8;
constexpr std::size_t kMostRows = 60;  // of a comment on a pull request, which has its limits

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
  const auto kind = [&](Row node) { return diff.item(*node).is_module ? "module" : "op"; };
  const Columns<DetailChange> changes{{"kind", &DetailChange::kind},
                                      {"name", &DetailChange::what},
                                      {"base", &DetailChange::before},
                                      {"new", &DetailChange::after}};
  Columns<Row> columns{{"status", [](Row node) { return node->status; }},
                       {"path", [&, path](Row node) { return path(diff.new_tree, node->now); }},
                       {"base_path", [&, path](Row node) { return path(diff.base_tree, node->base); }},
                       {in_csv("kind"), kind},
                       {"type", [&](Row node) { return diff.item(*node).type; }},
                       {in_json("kind"), kind},
                       {in_json("follows_its_input"), [](Row node) { return node->follows; }},
                       {in_csv("what"), changes_text},
                       {in_json("what"), [=](Row node) { return nested_rows(changes, node->changes); }}};
  for (const AmountField& field : count_fields())
    columns.push_back({in_csv(std::string(field.key) + "_change"),
                       [amount = field.amount](Row node) { return node->own.*amount; }});
  return columns;
}

// Every item that is not unchanged, with the change of its own: they add up to the change of the totals.
struct DiffWriter {
  const ModelDiff& diff;
  JsonWriter& json;

  void run() {
    begin_report(json);
    side("base", diff.base, diff.base_label);
    side("new", diff.now, diff.new_label);
    json.fields("same", diff.same(), "summary", diff_summary(diff));
    json.list("notes", diff_notes(diff));
    json.inline_object("layers", [&] {
      for (std::size_t i = 0; i < kDiffStatuses; ++i)
        json.field(name(static_cast<DiffStatus>(i)), diff.layers[i]);
    });
    json.object("totals", [&] {
      for (const TotalChange& total : diff.totals) write(total);
    });
    json.objects("types", diff.types, [&](const TypeChange& type) {
      json.field("type", type.type);
      amounts("base", type.before);
      amounts("new", type.after);
      amounts("change", type.after - type.before);
    });
    const auto columns = node_columns(diff);
    json.objects("changes", told_nodes(diff), [&](const DiffNode* node) {
      write_fields(json, columns, node);
      amounts("change", node->own);
      amounts("change_with_parts", node->all);
    });
    json.list("renumbered", diff.renumbered);
  }

  void side(std::string_view key, const Figures& figures, const std::string& label) {
    json.inline_object(key, [&] {
      json.fields("label", label, "model", figures.model, "source", figures.source, "inputs", figures.inputs);
      json.fields("convention", figures.convention, "unknown_ops", figures.coverage.unknown);
    });
  }

  void write(const TotalChange& total) {
    const Unit unit = total.metric->unit;
    const Count before = total.before.count, after = total.after.count;
    const Cell change = is_whole(unit) ? Cell(static_cast<std::int64_t>(after.value() - before.value()))
                                       : Cell(total.after.real - total.before.real);
    json.inline_object(total.metric->key, [&] {
      write_field(json, "base", amount_cell(unit, total.before));
      write_field(json, "new", amount_cell(unit, total.after));
      write_field(json, "change", change);
    });
  }

  void amounts(std::string_view key, const Amounts& amounts) {
    json.inline_object(key, [&] {
      for (const AmountField& field : kAmountFields) {
        const Metric& metric = metric_at(field.key);
        if (is_whole(metric.unit))
          json.field(field.key, amounts.*field.amount);
        else if (amount_in(diff.base, metric) && amount_in(diff.now, metric))
          json.field(field.key, static_cast<double>(amounts.*field.amount) * kPicosecond);
      }
    });
  }
};

Cell change_cell(std::string text, Style more = Style::kPlain) {
  if (text.empty()) return {"-", Style::kQuiet};
  return {std::move(text), more};
}

Style style_of_change(const TotalChange& total) {
  if (total.metric->better != Better::kLess) return Style::kPlain;
  if (is_more(total.metric->unit, total.after, total.before)) return Style::kWarning;
  return is_more(total.metric->unit, total.before, total.after) ? Style::kGood : Style::kPlain;
}

std::string times(const OutlineRow& row) {
  return row.nodes.size() > 1 && !row.follow ? " x" + std::to_string(row.nodes.size()) : "";
}

Section totals_section(const ModelDiff& diff) {
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

Section types_section(const ModelDiff& diff, const TextOptions& options) {
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

Section changes_section(const ModelDiff& diff, const TextOptions& options) {
  Section section{"Changes",
                  {{words(""), words("Module", 14, 26), words("Type", 6, 11), words("What changed", 12, 24),
                    number("Params"), number("FLOPs"), number("Bytes").or_not()},
                   {}}};
  std::vector<std::string> around{""};  // by depth: the path that names below are told from
  bool repeats = false, closed = false;
  OutlineOptions outline;
  outline.depth = options.verbose ? 1000 : options.depth;
  outline.fold = options.fold;
  for (const OutlineRow& row : make_outline(diff, outline)) {
    const DiffNode& node = diff.nodes[row.nodes.front()];
    const DiffItem& item = diff.item(node);
    around.resize(row.depth);
    const std::string name = row.itself   ? "(itself)"
                             : row.follow ? plural(row.nodes.size(), "layer")
                                          : outline_name(diff, row, around.back()) + times(row);
    around.push_back(item.path);
    const auto& [mark, status_style] = look_of(row.status);
    const Style style = row.is_open || row.follow || row.itself ? Style::kQuiet : status_style;
    section.table.add({{mark, status_style},
                       {name, row.follow ? Style::kQuiet : Style::kPlain, row.guides},
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

std::string details(const std::string& summary, const Section& section, bool open) {
  std::string out = fmt::format("\n<details{}><summary>{}</summary>\n\n{}", open ? " open" : "",
                                html_escaped(summary), markdown_table(section.table));
  for (const std::string& remark : section.remarks) out += "\n" + markdown_escaped(remark) + "\n";
  return out + "\n</details>\n";
}

// Only what changed: the rest of the totals says nothing.
Section changed_totals(const ModelDiff& diff) {
  Section section = totals_section(diff);
  std::erase_if(section.table.rows, [](const std::vector<Cell>& row) { return text_of(row[3]) == "-"; });
  section.table.columns.front().title = "";
  return section;
}

// For a pull request: the totals at once, everything else behind a click.
std::string markdown(const ModelDiff& diff, const TextOptions& options) {
  const auto code = [](std::string label) {
    std::ranges::replace(label, '`', '\'');
    return "`" + printable(label) + "`";
  };
  std::string out = fmt::format("### {} \u2192 {}\n\n{}\n", code(diff.base_label), code(diff.new_label),
                                markdown_escaped(diff_summary(diff)));
  for (const std::string& note : diff_notes(diff)) out += "\n> " + markdown_escaped(note) + "\n";
  if (diff.same()) return out;
  if (const Section totals = changed_totals(diff); !totals.table.rows.empty())
    out += "\n" + markdown_table(totals.table);
  const Section changes = changes_section(diff, options);
  out += details("What changed", changes, changes.table.rows.size() < kMostRows / 6);
  if (!diff.types.empty()) out += details("By op type", types_section(diff, options), false);
  return out;
}

}  // namespace

Document diff_document(const ModelDiff& diff, const TextOptions& options) {
  Document document{without_empty({{diff.base_label + " \u2192 " + diff.new_label, Style::kStrong},
                                   {diff.now.source, Style::kQuiet},
                                   {diff.now.inputs, Style::kQuiet},
                                   {diff_summary(diff), diff.same() ? Style::kGood : Style::kPlain}}),
                    options.notes};
  std::ranges::move(diff_notes(diff), std::back_inserter(document.notes));
  if (diff.same() && !options.verbose) return document;
  document.sections.push_back(totals_section(diff));
  if (!diff.types.empty()) document.sections.push_back(types_section(diff, options));
  if (!diff.same()) document.sections.push_back(changes_section(diff, options));
  return document;
}

std::string to_format(const ModelDiff& diff, Format format, const TextOptions& options) {
  if (format == Format::kMarkdown) return markdown(diff, options);
  const auto rows = [&] { return table_of(node_columns(diff), told_nodes(diff), In::kCsv); };
  return to_format(Report{[&](JsonWriter& json) {
                            DiffWriter{diff, json}.run();
                          },
                          rows, [&] { return diff_document(diff, options); }},
                   format, options);
}

}  // namespace opscope
