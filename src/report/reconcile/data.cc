// The comparison for programs. JSON has everything; CSV one row for each tool, or, with causes, one for each
// cause, op and module.
#include <fmt/format.h>

#include "base/json_writer.h"
#include "report/core/json_parts.h"
#include "report/reconcile/reconcile.h"

namespace opscope {
namespace {

void write_causes(const PeerComparison& peer, JsonWriter& json) {
  json.key("causes");
  json.begin_array();
  for (const Cause& cause : peer.causes) {
    json.begin_object();
    json.field("kind", name(cause.kind));
    json.field("what", cause.what);
    json.field("is_unit", cause.is_unit());
    json.field("flops", cause.flops);
    json.objects("rows", cause.rows, [&](const CauseRow& row) {
      json.field("op", row.op);
      json.field("module", row.module);
      json.field("ops", row.ops);
      json.field("flops", row.flops);
    });
    json.end_object();
  }
  json.end_array();
}

void params_or_null(const PeerAnswer& answer, JsonWriter& json) {
  json.key("params");
  answer.params ? json.value(*answer.params) : json.null();
}

void write_numbers(const Reconciliation& model, const PeerComparison& peer, double tolerance,
                   JsonWriter& json) {
  json.field("total", peer.answer.total);
  json.field("flops", peer.flops);
  json.field("difference", peer.difference);
  json.key("accuracy");
  peer.has_accuracy() ? json.value(peer.accuracy(model.flops)) : json.null();
  json.field("over_tolerance", is_flagged(model, peer, tolerance));
  params_or_null(peer.answer, json);
  if (!peer.params_cause.empty()) json.field("params_cause", peer.params_cause);
}

void write_peer(const Reconciliation& model, const PeerComparison& peer, const ReconcileOptions& options,
                JsonWriter& json) {
  json.begin_object();
  json.field("tool", peer.answer.tool);
  json.field("version", peer.answer.version);
  json.field("unit", peer.answer.unit == PeerUnit::kFlops ? "flops" : "macs");
  if (peer.ran()) write_numbers(model, peer, options.tolerance, json);
  json.list("notes", peer.answer.notes);
  if (!peer.ran()) json.field("error", peer.answer.error);
  if (!peer.answer.hint.empty()) json.field("hint", peer.answer.hint);
  if (options.why && peer.ran()) write_causes(peer, json);
  json.end_object();
}

void write_model(const Reconciliation& model, const ReconcileOptions& options, JsonWriter& json) {
  json.begin_object();
  json.field("model", model.model);
  if (!model.error.empty()) {
    json.field("error", model.error);
    json.field("hint", model.hint);
    return json.end_object();
  }
  json.field("source", model.source);
  json.field("inputs", model.inputs);
  json.field("flops", model.flops);
  json.field("macs", model.macs);
  json.field("params", model.params);
  json.field("exact", model.is_exact);
  json.key("peers");
  json.begin_array();
  for (const PeerComparison& peer : model.peers) write_peer(model, peer, options, json);
  json.end_array();
  json.end_object();
}

std::string totals_line(const Reconciliation& model, const PeerComparison& peer, double tolerance) {
  const PeerAnswer& answer = peer.answer;
  const bool ran = peer.ran();
  const auto number = [&](auto value) { return ran ? fmt::format("{}", value) : std::string(); };
  return fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", csv_field(model.model),
                     csv_field(answer.tool), csv_field(answer.version), model.flops.value(),
                     number(peer.flops), number(peer.difference),
                     peer.has_accuracy() ? fmt::format("{:.6f}", peer.accuracy(model.flops)) : "",
                     number(is_flagged(model, peer, tolerance)), number(answer.total),
                     answer.unit == PeerUnit::kFlops ? "flops" : "macs", model.params.value(),
                     answer.params ? std::to_string(*answer.params) : "", csv_field(answer.error));
}

void add_cause_lines(const Reconciliation& model, const PeerComparison& peer, std::string& out) {
  for (const Cause& cause : peer.causes)
    for (const CauseRow& row : cause.rows)
      out += fmt::format("{},{},{},{},{},{},{},{}\n", csv_field(model.model), csv_field(peer.answer.tool),
                         name(cause.kind), csv_field(cause.what), csv_field(row.op), csv_field(row.module),
                         row.ops, row.flops);
}

}  // namespace

std::string reconcile_json(std::span<const Reconciliation> models, const ReconcileOptions& reconcile) {
  std::string out;
  JsonWriter json(out);
  begin_report(json);
  json.field("tolerance", reconcile.tolerance);
  json.key("models");
  json.begin_array();
  for (const Reconciliation& model : models) write_model(model, reconcile, json);
  json.end_array();
  json.end_object();
  return out + "\n";
}

std::string reconcile_csv(std::span<const Reconciliation> models, const ReconcileOptions& reconcile) {
  std::string out = reconcile.why ? "model,tool,kind,cause,op,module,ops,flops\n"
                                  : "model,tool,version,flops,their_flops,difference,accuracy,over_tolerance,"
                                    "own_total,own_unit,params,their_params,error\n";
  for (const Reconciliation& model : models)
    for (const PeerComparison& peer : model.peers)
      reconcile.why ? add_cause_lines(model, peer, out)
                    : void(out += totals_line(model, peer, reconcile.tolerance));
  return out;
}

}  // namespace opscope
