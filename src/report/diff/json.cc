// The diff for programs. Every item that is not unchanged is a row with the change of its own, in JSON and in
// CSV.
#include <fmt/format.h>

#include "base/json_writer.h"
#include "base/seconds.h"
#include "report/core/json_parts.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

bool is_told(const DiffNode& node) { return node.status != DiffStatus::kUnchanged || node.own != Amounts{}; }

class DiffJson {
 public:
  explicit DiffJson(const ModelDiff& diff) : diff_(diff) {}

  std::string run() {
    begin_report(json_);
    side("base", diff_.base, diff_.base_label);
    side("new", diff_.now, diff_.new_label);
    json_.field("same", diff_.same());
    json_.field("summary", diff_summary(diff_));
    json_.list("notes", diff_notes(diff_));
    layers();
    totals();
    json_.objects("types", diff_.types, [&](const TypeChange& type) { write(type); });
    json_.key("changes");
    json_.begin_array();
    for (const DiffNode& node : diff_.nodes)
      if (is_told(node)) write(node);
    json_.end_array();
    json_.list("renumbered", diff_.renumbered);
    json_.end_object();
    return out_ + "\n";
  }

 private:
  void side(std::string_view key, const Figures& figures, const std::string& label) {
    json_.key(key);
    json_.begin_object(JsonLayout::kInline);
    json_.field("label", label);
    json_.field("model", figures.model);
    json_.field("source", figures.source);
    json_.field("inputs", figures.inputs);
    json_.field("convention", figures.convention);
    json_.field("unknown_ops", figures.coverage.unknown);
    json_.end_object();
  }

  void layers() {
    json_.key("layers");
    json_.begin_object(JsonLayout::kInline);
    for (std::size_t i = 0; i < kDiffStatuses; ++i)
      json_.field(name(static_cast<DiffStatus>(i)), diff_.layers[i]);
    json_.end_object();
  }

  void totals() {
    json_.key("totals");
    json_.begin_object();
    for (const TotalChange& total : diff_.totals) {
      json_.key(total.metric->key);
      json_.begin_object(JsonLayout::kInline);
      if (!is_whole(total.metric->unit)) {
        json_.field("base", total.before.real);
        json_.field("new", total.after.real);
        json_.field("change", total.after.real - total.before.real);
      } else {
        json_.field("base", total.before.count);
        json_.field("new", total.after.count);
        json_.field("change",
                    static_cast<std::int64_t>(total.after.count.value() - total.before.count.value()));
      }
      json_.end_object();
    }
    json_.end_object();
  }

  void amounts(std::string_view key, const Amounts& amounts) {
    json_.key(key);
    json_.begin_object(JsonLayout::kInline);
    for (const AmountField& field : kAmountFields) {
      const Metric& metric = metric_at(field.key);
      if (is_whole(metric.unit))
        json_.field(field.key, amounts.*field.amount);
      else if (amount_in(diff_.base, metric) && amount_in(diff_.now, metric))
        json_.field(field.key, static_cast<double>(amounts.*field.amount) * kPicosecond);
    }
    json_.end_object();
  }

  void write(const TypeChange& type) {
    json_.field("type", type.type);
    amounts("base", type.before);
    amounts("new", type.after);
    amounts("change", type.after - type.before);
  }

  void write(const DiffNode& node) {
    json_.begin_object(JsonLayout::kInline);
    json_.field("status", name(node.status));
    path("path", diff_.new_tree, node.now);
    path("base_path", diff_.base_tree, node.base);
    json_.field("type", diff_.item(node).type);
    json_.field("kind", diff_.item(node).is_module ? "module" : "op");
    json_.field("follows_its_input", node.follows);
    json_.objects("what", node.changes, [&](const DetailChange& change) {
      json_.field("kind", name(change.kind));
      json_.field("name", change.what);
      json_.field("base", change.before);
      json_.field("new", change.after);
    });
    amounts("change", node.own);
    amounts("change_with_parts", node.all);
    json_.end_object();
  }
  void path(std::string_view key, const DiffTree& tree, std::uint32_t item) {
    json_.key(key);
    item == kNone ? json_.null() : json_.value(tree.items[item].path);
  }

  const ModelDiff& diff_;
  std::string out_;
  JsonWriter json_{out_};
};

}  // namespace

std::string diff_json(const ModelDiff& diff) { return DiffJson(diff).run(); }

std::string diff_csv(const ModelDiff& diff) {
  std::string out = "status,path,base_path,kind,type,what";
  const auto counts = std::span(kAmountFields).first(kCountFields);
  for (const AmountField& field : counts) out += fmt::format(",{}_change", field.key);
  out += "\n";
  for (const DiffNode& node : diff.nodes) {
    if (!is_told(node)) continue;
    std::string what;
    for (const DetailChange& c : node.changes)
      what += (what.empty() ? "" : "; ") + c.what +
              (c.kind == DetailKind::kCost ? "" : " " + c.before + " -> " + c.after);
    const auto path = [](const DiffTree& tree, std::uint32_t i) {
      return i == kNone ? "" : tree.items[i].path;
    };
    out +=
        fmt::format("{},{},{},{},{},{}", name(node.status), csv_field(path(diff.new_tree, node.now)),
                    csv_field(path(diff.base_tree, node.base)), diff.item(node).is_module ? "module" : "op",
                    csv_field(diff.item(node).type), csv_field(what));
    for (const AmountField& field : counts) out += fmt::format(",{}", node.own.*field.amount);
    out += "\n";
  }
  return out;
}

}  // namespace opscope
