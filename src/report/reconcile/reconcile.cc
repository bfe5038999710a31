// The numbers side by side, what could not be run and why, and the causes where they are asked for. JSON has
// everything; CSV one row for each tool or, with causes, one for each cause, op and module.
#include "report/reconcile/reconcile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "analyse/memory/memory.h"
#include "base/text.h"

namespace opscope {
namespace {

std::string accuracy_text(const Reconciliation& model, const PeerComparison& peer) {
  if (!peer.has_accuracy()) return "-";
  const double accuracy = peer.accuracy(model.flops);
  if (peer.difference == 0) return "100%";
  if (accuracy < 0) return fmt::format("{:.0f}%", accuracy);
  return accuracy > 99.99 ? ">99.99%" : fmt::format("{:.2f}%", accuracy);
}

// The tool's own.
std::string_view unit_text(PeerUnit unit) { return unit == PeerUnit::kFlops ? "FLOPs" : "MACs"; }
std::string_view unit_key(PeerUnit unit) { return unit == PeerUnit::kFlops ? "flops" : "macs"; }

// One tool on one model; no tool where the model itself did not run.
struct PeerRow {
  const Reconciliation& model;
  const PeerComparison* peer = nullptr;
  bool is_first = true;
  bool is_flagged = false;

  bool ran() const { return peer && peer->ran(); }
};

// With the models that did not run, or without.
std::vector<PeerRow> peer_rows(std::span<const Reconciliation> models, double tolerance, bool all) {
  std::vector<PeerRow> rows;
  for (const Reconciliation& model : models) {
    if (all && !model.error.empty()) rows.push_back({model});
    for (const PeerComparison& peer : model.peers)
      rows.push_back({model, &peer, &peer == model.peers.data(), is_flagged(model, peer, tolerance)});
  }
  return rows;
}

Columns<PeerRow> people_columns() {
  using Row = const PeerRow&;
  // Of the tool where it ran, of the model itself once: "-" in the place of either.
  const auto of_peer = [](const auto& read) {
    return [=](Row row) { return row.ran() ? Cell(read(*row.peer)) : Cell("-"); };
  };
  const auto of_model = [](const auto& read) {
    return [=](Row row) { return !row.peer ? "-" : row.is_first ? read(row.model) : ""; };
  };
  using P = const PeerComparison&;
  using M = const Reconciliation&;
  return {{words("Model", 12, 20).strong(), [](Row row) { return row.is_first ? row.model.model : ""; }},
          {words("Tool"), [](Row row) { return row.peer ? row.peer->answer.tool : "-"; }},
          {number("Our FLOPs"), of_model([](M m) { return format_count(m.flops); })},
          {number("Theirs"), of_peer([](P p) { return format_count(Count{p.flops}); })},
          {number("Difference", Unit::kCount),
           of_peer([](P p) { return cell_of(p.difference, Unit::kCount, Style::kPlain, Zero::kDigit); })},
          {number("Accuracy"),
           [](Row row) {
             return Cell(row.peer ? accuracy_text(row.model, *row.peer) : "-",
                         row.is_flagged ? Style::kWarning : Style::kPlain);
           }},
          {words(""), [](Row row) { return Cell(row.is_flagged ? "!" : "", Style::kWarning); }},
          {number("Own number").or_not(), of_peer([](P p) {
             return fmt::format("{} {}", format_count(Count{p.answer.total}), unit_text(p.answer.unit));
           })},
          {number("Params").or_not(), of_model([](M m) { return format_params(m.params); })},
          {number("Theirs").or_not(), of_peer([](P p) {
             return Cell(p.answer.params ? format_params(Count{*p.answer.params}) : "-",
                         p.params_cause.empty() ? Style::kPlain : Style::kWarning);
           })}};
}

Columns<PeerRow> program_columns() {
  using Row = const PeerRow&;
  const auto if_ran = [](const auto& read) {
    return [=](Row row) { return row.ran() ? Cell(read(row)) : Cell(); };
  };
  return {{"model", [](Row row) { return row.model.model; }},
          {"tool", [](Row row) { return row.peer->answer.tool; }},
          {"version", [](Row row) { return row.peer->answer.version; }},
          {"flops", [](Row row) { return row.model.flops; }},
          {"their_flops", if_ran([](Row row) { return row.peer->flops; })},
          {"difference", if_ran([](Row row) { return row.peer->difference; })},
          {"accuracy",
           [](Row row) {
             return row.peer->has_accuracy() ? fmt::format("{:.6f}", row.peer->accuracy(row.model.flops))
                                             : "";
           }},
          {"over_tolerance", if_ran([](Row row) { return row.is_flagged; })},
          {"own_total", if_ran([](Row row) { return row.peer->answer.total; })},
          {"own_unit", [](Row row) { return unit_key(row.peer->answer.unit); }},
          {"params", [](Row row) { return row.model.params; }},
          {"their_params", [](Row row) { return row.peer->answer.params; }},
          {"error", [](Row row) { return row.peer->answer.error; }}};
}

// With causes, a row for each op and module of one.
Table cause_table(std::span<const Reconciliation> models) {
  struct Row {
    const Reconciliation& model;
    const PeerComparison& peer;
    const Cause& cause;
    const CauseRow& row;
  };
  std::vector<Row> rows;
  for (const Reconciliation& model : models)
    for (const PeerComparison& peer : model.peers)
      for (const Cause& cause : peer.causes)
        for (const CauseRow& row : cause.rows) rows.push_back({model, peer, cause, row});
  const Columns<Row> columns{{"model", [](const Row& r) { return r.model.model; }},
                             {"tool", [](const Row& r) { return r.peer.answer.tool; }},
                             {"kind", [](const Row& r) { return name(r.cause.kind); }},
                             {"cause", [](const Row& r) { return r.cause.what; }},
                             {"op", [](const Row& r) { return r.row.op; }},
                             {"module", [](const Row& r) { return r.row.module; }},
                             {"ops", [](const Row& r) { return r.row.ops; }},
                             {"flops", [](const Row& r) { return r.row.flops; }}};
  return table_of(columns, rows, In::kCsv);
}

std::string said(const std::string& about, const std::string& error, const std::string& hint) {
  return about + ": " + error + (hint.empty() ? "" : " (" + hint + ")");
}

std::vector<std::string> remarks_of(std::span<const Reconciliation> models, double tolerance) {
  std::vector<std::string> lines{
      "FLOPs: two for each multiply-accumulate, one for other arithmetic, on both sides. Accuracy: 100 (1 - "
      "|ours - theirs| / theirs)."};
  bool any = false;
  for (const Reconciliation& model : models) {
    if (!model.error.empty()) lines.push_back(said(model.model, model.error, model.hint));
    for (const PeerComparison& peer : model.peers) {
      any |= is_flagged(model, peer, tolerance);
      if (!peer.ran())
        lines.push_back(said(model.model + ", " + peer.answer.tool, peer.answer.error, peer.answer.hint));
      if (!peer.params_cause.empty())
        lines.push_back(fmt::format("{}, {}: {}", model.model, peer.answer.tool, peer.params_cause));
    }
  }
  if (any) lines.insert(lines.begin() + 1, fmt::format("! differs by more than {:g}%.", tolerance * 100));
  return lines;
}

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

// What the tools had to be given, each way once: "fvcore, thop on gpt2, t5-small: called through a wrapper".
std::vector<std::string> notes_of(std::span<const Reconciliation> models) {
  struct Said {
    std::string note;
    std::vector<std::string> tools, on;
  };
  std::vector<Said> said;
  for (const Reconciliation& model : models)
    for (const PeerComparison& peer : model.peers)
      for (const std::string& note : peer.answer.notes) {
        auto found = std::ranges::find(said, note, &Said::note);
        if (found == said.end()) found = said.insert(said.end(), {note, {}, {}});
        add_once(found->tools, peer.answer.tool);
        add_once(found->on, model.model);
      }
  std::vector<std::string> lines;
  for (const Said& each : said)
    lines.push_back(fmt::format("{} on {}: {}", join(each.tools), join(each.on), each.note));
  return lines;
}

std::string closing(std::span<const Reconciliation> models) {
  std::size_t compared = 0, ran = 0, apart = 0;
  for (const Reconciliation& model : models) {
    ran += model.error.empty();
    for (const PeerComparison& peer : model.peers) {
      compared += peer.ran();
      apart += peer.ran() && peer.difference != 0;
    }
  }
  if (compared == 0) return "Nothing to compare: no tool ran.";
  if (apart == 0) return fmt::format("{}: no difference.", plural(compared, "comparison"));
  if (compared == 1) return "The causes add up to the difference, to the last FLOP.";
  return fmt::format("{} of {} differ, on {}; the causes of each add up to its difference, to the last FLOP.",
                     apart, plural(compared, "comparison"), plural(ran, "model"));
}

void write_causes(const PeerComparison& peer, JsonWriter& json) {
  const auto write_cause = [&](const Cause& cause) {
    json.fields("kind", name(cause.kind), "what", cause.what);
    json.fields("is_unit", cause.is_unit(), "flops", cause.flops);
    json.objects("rows", cause.rows, [&](const CauseRow& row) {
      json.fields("op", row.op, "module", row.module, "ops", row.ops, "flops", row.flops);
    });
  };
  json.objects("causes", peer.causes, write_cause, JsonLayout::kLines);
}

void write_peer(const Reconciliation& model, const PeerComparison& peer, const ReconcileOptions& options,
                JsonWriter& json) {
  const PeerAnswer& answer = peer.answer;
  json.fields("tool", answer.tool, "version", answer.version, "unit", unit_key(answer.unit));
  if (peer.ran()) {
    json.fields("total", answer.total, "flops", peer.flops, "difference", peer.difference);
    json.field("accuracy", peer.has_accuracy() ? std::optional(peer.accuracy(model.flops)) : std::nullopt);
    json.field("over_tolerance", is_flagged(model, peer, options.tolerance));
    json.field("params", answer.params);
    if (!peer.params_cause.empty()) json.field("params_cause", peer.params_cause);
  }
  json.list("notes", answer.notes);
  if (!peer.ran()) json.field("error", answer.error);
  if (!answer.hint.empty()) json.field("hint", answer.hint);
  if (options.why && peer.ran()) write_causes(peer, json);
}

void write_model(const Reconciliation& model, const ReconcileOptions& options, JsonWriter& json) {
  json.field("model", model.model);
  if (!model.error.empty()) return json.fields("error", model.error, "hint", model.hint);
  json.fields("source", model.source, "inputs", model.inputs);
  json.fields("flops", model.flops, "macs", model.macs, "params", model.params, "exact", model.is_exact);
  json.objects(
      "peers", model.peers, [&](const PeerComparison& peer) { write_peer(model, peer, options, json); },
      JsonLayout::kLines);
}

constexpr std::size_t kOpsShown = 6;
constexpr std::size_t kOneLine = 52;  // words of a cause and its only op

// Rows of one op type.
struct OfOp {
  std::string op;
  std::uint64_t ops = 0;
  std::int64_t flops = 0;
  std::vector<std::string> modules;
};

std::vector<OfOp> by_op(const Cause& cause) {
  std::vector<OfOp> ops;
  for (const CauseRow& row : cause.rows) {
    if (ops.empty() || ops.back().op != row.op) ops.push_back({row.op, 0, 0, {}});
    ops.back().ops += row.ops;
    ops.back().flops += row.flops;
    ops.back().modules.push_back(row.module.empty() ? "(root)" : row.module);
  }
  std::ranges::stable_sort(ops, std::greater{}, [](const OfOp& op) { return std::llabs(op.flops); });
  return ops;
}

// "layer*.*.conv1" where they are alike, else the first and how many more.
std::string where_text(const std::vector<std::string>& modules) {
  if (modules.size() == 1) return modules.front();
  const std::string pattern = pattern_of(modules.front());
  const bool alike =
      std::ranges::all_of(modules, [&](const std::string& module) { return pattern_of(module) == pattern; });
  return alike ? pattern : fmt::format("{}, {} more", modules.front(), modules.size() - 1);
}

// "+4,667,368", "-12", "0"; "+4.67M"
std::string signed_text(std::int64_t number, Unit unit) {
  return text_of(cell_of(number, unit, Style::kPlain, Zero::kDigit));
}

void add_sum(Table& table, std::string label, Count count) {
  table.add({{std::move(label), Style::kStrong}, {}, {}, {count, Style::kStrong}});
}

void add_op(Table& table, const std::string& label, const OfOp& op) {
  const Cell name(label.empty() ? "whole model" : label, Style::kPlain, "  ");
  table.add({name, op.ops, where_text(op.modules), op.flops}, Style::kQuiet);
}

OfOp together(std::span<const OfOp> ops) {
  OfOp all;
  for (const OfOp& op : ops) {
    all.ops += op.ops, all.flops += op.flops;
    all.op += (all.op.empty() ? "" : ", ") + op.op;
  }
  all.modules = {all.op};
  return all;
}

// A cause of one op type is one line; its words may name the op already.
void add_cause(Table& table, const Cause& cause, bool verbose) {
  const auto ops = by_op(cause);
  if (ops.size() == 1 && cause.what.size() + ops[0].op.size() <= kOneLine) {
    const bool named = ops[0].op.empty() || cause.what.find(ops[0].op) != std::string::npos;
    return table.add({named ? cause.what : cause.what + " (" + ops[0].op + ")",
                      ops[0].ops,
                      {where_text(ops[0].modules), Style::kQuiet},
                      cause.flops});
  }
  table.add({cause.what, together(ops).ops, {}, cause.flops});
  const std::size_t shown = verbose || ops.size() <= kOpsShown ? ops.size() : kOpsShown - 1;
  for (std::size_t i = 0; i < shown; ++i) add_op(table, ops[i].op, ops[i]);
  if (shown < ops.size())
    add_op(table, plural(ops.size() - shown, "other op type"), together(std::span(ops).subspan(shown)));
}

std::string remark_text(const Reconciliation& model, const PeerComparison& peer) {
  const auto largest = std::ranges::find_if_not(peer.causes, &Cause::is_unit);  // the first
  if (largest == peer.causes.end()) return peer.answer.tool + " and opscope count the same.";
  std::int64_t sum = 0;
  for (const Cause& cause : peer.causes) sum += cause.is_unit() ? 0 : cause.flops;
  return fmt::format("{} FLOPs apart ({}), and the causes add up to {}. Most of it: {} ({}).",
                     signed_text(peer.difference, Unit::kWhole),
                     peer.has_accuracy() ? fmt::format("{:.2g}% of theirs", 100 * peer.off(model.flops))
                                         : "of nothing counted there",
                     signed_text(sum, Unit::kWhole), largest->what,
                     signed_text(largest->flops, Unit::kCount));
}

// One tool on one model: from its own number to ours, cause by cause.
Section why_section(const Reconciliation& model, const PeerComparison& peer, const TextOptions& options) {
  const PeerAnswer& answer = peer.answer;
  const std::string title = fmt::format("{} and {} {}", model.model, answer.tool,
                                        answer.version.substr(0, answer.version.find(".post")));
  Table table{
      {words(title, 30, 58), number("Ops"), words("Where", 12, 20).or_not(), number("FLOPs", Unit::kWhole)},
      {}};
  add_sum(table, fmt::format("{}'s own number, in {}", answer.tool, unit_text(answer.unit)), answer.total);
  for (const Cause& cause : peer.causes)
    if (cause.is_unit()) add_cause(table, cause, options.verbose);
  if (std::ranges::any_of(peer.causes, &Cause::is_unit))
    add_sum(table, answer.tool + ", in FLOPs", peer.flops);
  for (const Cause& cause : peer.causes)
    if (!cause.is_unit()) add_cause(table, cause, options.verbose);
  add_sum(table, "opscope", model.flops);
  return {title, std::move(table), {remark_text(model, peer)}};
}

Document reconcile_document(std::span<const Reconciliation> models, const ReconcileOptions& reconcile,
                            const TextOptions& options) {
  const bool alone = models.size() == 1;
  Document document{
      without_empty({{alone ? models[0].model : plural(models.size(), "model"), Style::kStrong},
                     {alone ? models[0].source : "", Style::kQuiet},
                     alone ? models[0].inputs : "",
                     {"opscope " OPSCOPE_VERSION " beside other tools, each run for real", Style::kQuiet}}),
      options.notes};
  for (std::string& note : notes_of(models)) document.notes.push_back(std::move(note));
  document.sections.push_back({"Totals",
                               table_of(people_columns(), peer_rows(models, reconcile.tolerance, true)),
                               remarks_of(models, reconcile.tolerance)});
  if (!reconcile.why) return document;
  for (const Reconciliation& model : models)
    for (const PeerComparison& peer : model.peers)
      if (peer.ran()) document.sections.push_back(why_section(model, peer, options));
  document.sections.back().remarks.push_back(closing(models));
  return document;
}

}  // namespace

bool is_flagged(const Reconciliation& model, const PeerComparison& peer, double tolerance) {
  return peer.ran() && peer.off(model.flops) > tolerance;
}

std::string to_format(std::span<const Reconciliation> models, const ReconcileOptions& reconcile,
                      Format format, const TextOptions& options) {
  const auto json = [&](JsonWriter& out) {
    begin_report(out);
    out.field("tolerance", reconcile.tolerance);
    out.objects(
        "models", models, [&](const Reconciliation& model) { write_model(model, reconcile, out); },
        JsonLayout::kLines);
  };
  const auto rows = [&] {
    return reconcile.why
               ? cause_table(models)
               : table_of(program_columns(), peer_rows(models, reconcile.tolerance, false), In::kCsv);
  };
  return to_format(Report{json, rows, [&] { return reconcile_document(models, reconcile, options); }}, format,
                   options);
}

}  // namespace opscope
