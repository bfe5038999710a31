// A joined trace for programs: JSON with everything, CSV with a row for each op.
#include <fmt/format.h>

#include <span>

#include "analyse/times/times.h"
#include "base/seconds.h"
#include "report/core/json_parts.h"
#include "report/trace/joined.h"

namespace opscope {
namespace {

// Of the list by op, those of one op; called for ops in order.
std::span<const JoinedKernel> kernels_of(OpId op, std::span<const JoinedKernel>& rest) {
  std::size_t count = 0;
  while (count < rest.size() && rest[count].op == op) ++count;
  const auto found = rest.first(count);
  rest = rest.subspan(count);
  return found;
}

std::string_view module_of(const Graph& graph, OpId op) {
  return graph.path(graph.modules[graph.scopes[graph.ops[op].scope].module]);
}

double time_seconds(const OpCost& cost) { return static_cast<double>(cost.time.value()) * kPicosecond; }

double host_seconds(const Measurement& measured, OpId op) {
  return opscope::statistics(Measurement::samples(measured.host, op, measured.runs)).median;
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

void write_ops(JsonWriter& json, const Profile& profile, const JoinedTrace& joined) {
  const Graph& graph = *profile.graph;
  std::span<const JoinedKernel> kernels = joined.kernels;
  json.key("ops");
  json.begin_array();
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    json.begin_object(JsonLayout::kInline);
    json.field("id", op);
    json.field("op", graph.op_name(graph.ops[op]));
    json.field("module", module_of(graph, op));
    json.field("layer", profile.layers[profile.layer_of[op]].name);
    json.field("time_seconds", time_seconds(profile.costs[op]));
    json.field("host_seconds", host_seconds(graph.measurement, op));
    json.objects("kernels", kernels_of(op, kernels), [&](const JoinedKernel& kernel) {
      json.field("name", kernel.name);
      json.field("count", kernel.count);
      json.field("total_seconds", seconds(kernel.total));
    });
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string joined_trace_json(const Profile& profile, const JoinedTrace& joined, const std::string& file) {
  std::string out;
  JsonWriter json(out);
  begin_report(json, *profile.graph);
  write_summary(json, profile, joined, file);
  write_ops(json, profile, joined);
  json.objects("not_joined", joined.not_joined, [&](const NotJoined& row) {
    json.field("name", row.name);
    json.field("reason", row.reason);
    json.field("count", row.count);
    json.field("total_seconds", seconds(row.total));
  });
  json.list("missing_ops", joined.missing);
  json.end_object();
  return out + "\n";
}

std::string joined_trace_csv(const Profile& profile, const JoinedTrace& joined) {
  const Graph& graph = *profile.graph;
  std::span<const JoinedKernel> kernels = joined.kernels;
  std::string out =
      "id,op,module,layer,flops,memory_bytes,time_seconds,host_seconds,kernels,longest_kernel\n";
  for (OpId op = 0; op < graph.ops.size(); ++op) {
    const auto own = kernels_of(op, kernels);
    const OpCost& cost = profile.costs[op];
    out += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", op, csv_field(graph.op_name(graph.ops[op])),
                       csv_field(module_of(graph, op)), csv_field(profile.layers[profile.layer_of[op]].name),
                       cost.flops.value(), cost.traffic.total().value(), time_seconds(cost),
                       host_seconds(graph.measurement, op), own.size(),
                       own.empty() ? "" : csv_field(own.front().name));
  }
  return out;
}

}  // namespace opscope
