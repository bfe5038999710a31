// The diff for programs. Every item that is not unchanged is a row with the change of its own, in JSON and in
// CSV.
#include "base/seconds.h"
#include "report/diff/report.h"
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

}  // namespace opscope
