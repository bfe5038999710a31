// A joined trace for programs: JSON with everything, CSV with a row for each op.
#include <algorithm>
#include <span>

#include "analyse/times/times.h"
#include "base/seconds.h"
#include "report/core/document.h"
#include "report/trace/joined.h"

namespace opscope {
namespace {

// The kernels of one op; the list is in the order of ops.
std::span<const JoinedKernel> kernels_of(const JoinedTrace& joined, OpId op) {
  const auto found = std::ranges::equal_range(joined.kernels, op, {}, &JoinedKernel::op);
  return {found.begin(), found.end()};
}

Columns<OpId> op_columns(const Profile& profile, const JoinedTrace& joined) {
  const Graph& graph = *profile.graph;
  return {
      {"id", [](OpId op) { return op; }},
      {"op", [&](OpId op) { return graph.op_name(graph.ops[op]); }},
      {"module",
       [&](OpId op) { return graph.path(graph.modules[graph.scopes[graph.ops[op].scope].module]); }},
      {"layer", [&](OpId op) { return profile.layers()[profile.layer_of()[op]].name; }},
      {{.key = "flops", .in = In::kCsv}, [&](OpId op) { return profile.costs[op].flops; }},
      {{.key = "memory_bytes", .in = In::kCsv}, [&](OpId op) { return profile.costs[op].traffic.total(); }},
      {"time_seconds",
       [&](OpId op) { return static_cast<double>(profile.costs[op].time.value()) * kPicosecond; }},
      {"host_seconds",
       [&](OpId op) {
         const Measurement& measured = graph.measurement;
         return opscope::statistics(Measurement::samples(measured.host, op, measured.runs)).median;
       }},
      {{.key = "kernels", .in = In::kCsv}, [&](OpId op) { return kernels_of(joined, op).size(); }},
      {{.key = "longest_kernel", .in = In::kCsv},
       [&](OpId op) {
         const auto own = kernels_of(joined, op);
         return own.empty() ? std::string() : std::string(own.front().name);
       }},
      {{.key = "kernels", .in = In::kJson}, [&](OpId op) {
         return NestedJson([kernels = kernels_of(joined, op)](JsonWriter& json) {
           json.begin_array();
           for (const JoinedKernel& kernel : kernels) {
             json.begin_object(kInline);
             json.field("name", kernel.name);
             json.field("count", kernel.count);
             json.field("total_seconds", seconds(kernel.total));
             json.end_object();
           }
           json.end_array();
         });
       }}};
}

std::vector<OpId> all_ops(const Graph& graph) {
  std::vector<OpId> ops(graph.ops.size());
  for (OpId op = 0; op < ops.size(); ++op) ops[op] = op;
  return ops;
}

void write_summary(JsonWriter& json, const Profile& profile, const JoinedTrace& joined,
                   const std::string& file) {
  const Measurement& measured = profile.graph->measurement;
  json.key("trace");
  json.begin_object();
  json.field("file", file);
  json.field("device_name", measured.environment.device_name);
  json.field("runtime", measured.environment.runtime);
  json.field("on_device", measured.on_device);
  json.field("events", joined.events);
  json.field("calls", joined.calls);
  json.field("steps", joined.steps);
  json.field("runs", measured.runs);
  json.field("ops", profile.graph->ops.size());
  json.field("joined_ops", joined.joined_ops);
  json.field("total_seconds", seconds(joined.total));
  json.field("joined_seconds", seconds(joined.joined));
  json.field("joined_share", joined.joined_share());
  json.list("notes", joined.notes);
  json.end_object();
}

}  // namespace

void write_joined_trace(JsonWriter& json, const Profile& profile, const JoinedTrace& joined,
                        const std::string& file) {
  begin_report(json, *profile.graph);
  write_summary(json, profile, joined, file);
  write_rows(json, "ops", op_columns(profile, joined), all_ops(*profile.graph));
  const Columns<NotJoined> rest{{"name", &NotJoined::name},
                                {"reason", &NotJoined::reason},
                                {"count", &NotJoined::count},
                                {"total_seconds", [](const NotJoined& row) { return seconds(row.total); }}};
  write_rows(json, "not_joined", rest, joined.not_joined);
  json.list("missing_ops", joined.missing);
}

Table joined_trace_rows(const Profile& profile, const JoinedTrace& joined) {
  return table_of(op_columns(profile, joined), all_ops(*profile.graph), In::kCsv);
}

}  // namespace opscope
