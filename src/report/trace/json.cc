// What tracers make of a model as JSON and CSV: every row, every number to the last digit. Nodes and graphs
// count from 1, as --graph-part does.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/core/json_parts.h"
#include "report/core/listing.h"
#include "report/trace/report.h"
#include "report/trace/tracer_json.h"

namespace opscope {
namespace {

class TraceWriter {
 public:
  explicit TraceWriter(std::string& out) : json_(out) {}

  void comparison(const TraceComparison& comparison) {
    begin_report(json_, *comparison.graph);
    json_.objects("tracers", comparison.rows, [&](const TracerRow& row) { tracer(row); });
    files(comparison.files);
    json_.end_object();
  }

  void detail(const TraceDetail& detail) {
    const Profile& profile = *detail.profile;
    const std::vector<GraphNode> nodes = graph_nodes(profile);
    begin_report(json_, *profile.graph);
    json_.key("tracer");
    json_.begin_object();
    tracer(detail.row);
    json_.end_object();
    json_.objects("parts", profile.parts, [&](const PartRow& row) { part(*profile.graph, row); });
    if (!profile.parts.empty()) outside(profile.outside);
    json_.objects("kinds", count_kinds(nodes),
                  [&](const KindRow& row) { counted(row.kind, "", row.count, row.metrics); });
    json_.objects("targets", count_targets(nodes),
                  [&](const TargetRow& row) { counted(row.kind, row.target, row.count, row.metrics); });
    std::uint64_t index = 0;
    json_.objects("nodes", nodes, [&](const GraphNode& row) { node(*profile.graph, row, ++index); });
    if (!detail.exports.empty())
      json_.objects("exports", detail.exports, [&](const TracerRow& row) { tracer(row); });
    files(detail.files);
    json_.end_object();
  }

 private:
  void failure(const TraceFailure& failure) {
    json_.key("error");
    json_.begin_object(JsonLayout::kInline);
    json_.field("what", failure.reason);
    json_.field("where", failure.where);
    json_.field("hint", failure.hint);
    json_.field("detail", failure.detail);
    json_.end_object();
  }

  void metrics(const Metrics& metrics) {
    json_.field("ops", metrics.ops);
    json_.field("macs", metrics.work.macs);
    json_.field("flops", metrics.flops);
    json_.field("memory_bytes", metrics.memory_bytes());
    json_.field("confidence", name(metrics.confidence));
  }

  void tracer(const TracerRow& row) {
    json_.field("tracer", row.tracer);
    json_.field("works", row.works());
    json_.field("engine", row.is_engine);
    json_.field("seconds", row.seconds);
    if (!row.works()) return failure(row.failure);
    json_.key("nodes");
    row.nodes ? json_.value(*row.nodes) : json_.null();
    kinds(row);
    json_.field("graphs", row.graphs);
    json_.objects("breaks", row.breaks, [&](const Break& item) { write_fields(json_, item); });
    if (!row.rungs.empty())
      json_.objects("rungs", row.rungs, [&](const Rung& item) { write_fields(json_, item); });
    if (!row.totals) return;
    metrics(*row.totals);
    json_.field("params", row.parameters.total);
    json_.key("macs_difference");
    row.macs_difference ? json_.value(*row.macs_difference) : json_.null();
  }
  void kinds(const TracerRow& row) {
    json_.key("kinds");
    json_.begin_object(JsonLayout::kInline);
    for (const KindRow& kind : row.kinds) json_.field(name(kind.kind), kind.count);
    json_.end_object();
  }

  void part(const Graph& graph, const PartRow& row) {
    json_.field("part", row.part + 1);
    json_.field("name", graph.parts[row.part].name);
    json_.field("calls", graph.parts[row.part].calls);
    json_.field("nodes", row.nodes);
    metrics(row.metrics);
  }
  void outside(const Metrics& outside) {
    json_.key("outside");
    json_.begin_object(JsonLayout::kInline);
    metrics(outside);
    json_.end_object();
  }
  void counted(NodeKind kind, std::string_view target, std::uint64_t count, const Metrics& sums) {
    json_.field("kind", name(kind));
    if (!target.empty()) json_.field("target", target);
    json_.field("count", count);
    metrics(sums);
  }
  void node(const Graph& graph, const GraphNode& row, std::uint64_t index) {
    json_.field("index", index);
    json_.field("part", row.part + 1);
    json_.field("kind", name(row.kind));
    json_.field("name", row.name);
    json_.field("label", row.label);
    json_.field("target", row.target);
    json_.field("type", row.type);
    json_.field("module", row.module);
    json_.field("calls", row.calls);
    output(graph, row.output);
    metrics(row.metrics);
    if (!row.source.empty()) json_.field("source", row.source);
  }
  void output(const Graph& graph, ValueId id) {
    if (id == kNone) return;
    json_.list("shape", graph.shape(graph.values[id]));
    json_.field("dtype", name(graph.values[id].dtype));
  }

  void files(const std::vector<SavedFile>& files) {
    if (files.empty()) return;
    json_.objects("files", files, [&](const SavedFile& file) {
      json_.field("path", file.path);
      json_.field("kind", file.kind);
      json_.field("seconds", file.seconds);
      json_.list("notes", file.notes);
      if (!file.failure.reason.empty()) failure(file.failure);
    });
  }

  JsonWriter json_;
};

Listing comparison_listing(const TraceComparison& comparison) {
  Listing listing{"tracers", {"tracer", "works", "nodes"}, {}};
  for (const NodeKind kind : kNodeKinds) listing.keys.emplace_back(name(kind));
  for (const char* key : {"graphs", "breaks", "ops", "macs", "flops", "memory_bytes", "params",
                          "macs_difference", "seconds", "reason", "hint"})
    listing.keys.emplace_back(key);
  for (const TracerRow& row : comparison.rows) {
    std::vector<Listing::Item> items{row.tracer, std::string(row.works() ? "yes" : "no")};
    items.push_back(row.nodes ? Listing::Item(Count{*row.nodes}) : Listing::Item());
    for (const NodeKind kind : kNodeKinds) {
      const auto found = std::ranges::find(row.kinds, kind, &KindRow::kind);
      const bool told = !row.kinds.empty();
      items.push_back(told ? Listing::Item(Count{found == row.kinds.end() ? 0 : found->count})
                           : Listing::Item());
    }
    items.resize(listing.keys.size());
    const std::size_t at = 3 + kNodeKinds.size();
    if (row.works()) items[at] = Count{row.graphs}, items[at + 1] = Count{row.breaks.size()};
    if (row.totals) {
      items[at + 2] = Count{row.totals->ops}, items[at + 3] = row.totals->work.macs;
      items[at + 4] = row.totals->flops, items[at + 5] = row.totals->memory_bytes();
      items[at + 6] = row.parameters.total;
    }
    if (row.macs_difference) items[at + 7] = std::to_string(*row.macs_difference);
    items[at + 8] = fmt::format("{}", row.seconds);
    items[at + 9] = row.failure.reason, items[at + 10] = row.failure.hint;
    listing.rows.push_back(std::move(items));
  }
  return listing;
}

Listing node_listing(const TraceDetail& detail) {
  const Graph& graph = *detail.profile->graph;
  Listing listing{"nodes",
                  {"index", "part", "kind", "label", "name", "target", "module", "calls", "shape", "dtype",
                   "ops", "macs", "flops", "memory_bytes", "source"},
                  {}};
  std::uint64_t index = 0;
  for (const GraphNode& node : graph_nodes(*detail.profile)) {
    const bool has_output = node.output != kNone;
    listing.rows.push_back({Count{++index}, Count{node.part + 1}, std::string(name(node.kind)),
                            std::string(node.label), std::string(node.name), std::string(node.target),
                            std::string(node.module), Count{node.calls}, shape_text(graph, node.output),
                            has_output ? std::string(name(graph.values[node.output].dtype)) : std::string(),
                            Count{node.metrics.ops}, node.metrics.work.macs, node.metrics.flops,
                            node.metrics.memory_bytes(), std::string(node.source)});
  }
  return listing;
}

}  // namespace

std::string comparison_json(const TraceComparison& comparison) {
  std::string out;
  TraceWriter(out).comparison(comparison);
  return out + "\n";
}

std::string detail_json(const TraceDetail& detail) {
  std::string out;
  TraceWriter(out).detail(detail);
  return out + "\n";
}

std::string to_format(const TraceComparison& comparison, Format format, const TextOptions& options) {
  return in_format(
      format, options, [&] { return comparison_json(comparison); },
      [&] { return to_format(comparison_listing(comparison), format, options); },
      [&] { return comparison_document(comparison, options); });
}

std::string to_format(const TraceDetail& detail, Format format, const TextOptions& options) {
  return in_format(
      format, options, [&] { return detail_json(detail); },
      [&] { return to_format(node_listing(detail), format, options); },
      [&] { return detail_document(detail, options); });
}

}  // namespace opscope
