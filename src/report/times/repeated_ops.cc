#include "report/times/repeated_ops.h"

#include <algorithm>

#include "base/text.h"
#include "report/times/times.h"

namespace opscope {
namespace {

std::string_view op_of(const Graph& graph, const RepeatedOp& row) {
  return short_op_name(graph.op_name(graph.ops[row.ops.front()]));
}

std::string output_shape(const Graph& graph, const RepeatedOp& row) {
  const auto outputs = graph.outputs_of(graph.ops[row.ops.front()]);
  return outputs.empty() ? "" : shape_text(graph, outputs.front());
}

std::string ratio(double part, double whole) { return whole > 0 ? ratio_text(part / whole) : "-"; }

std::string sum_text(const RepeatedOps& repeated) {
  std::string text = plural(repeated.calls, "call") + " of " + plural(repeated.rows.size(), "distinct op") +
                     ": " + format_time(repeated.time_seconds) + " in the model, " +
                     format_time(repeated.alone_seconds) + " alone (" +
                     ratio(repeated.alone_seconds, repeated.time_seconds) + ")";
  if (repeated.other_calls > 0)
    text += "; " + plural(repeated.other_calls, "other call") + " without a time alone took " +
            format_time(repeated.other_seconds);
  return text;
}

}  // namespace

Section repeated_ops_section(const Profile& profile, const RepeatedOps& repeated,
                             const TextOptions& options) {
  Section section{"Ops alone", {}, {}};
  section.table.columns = {{.title = "Ops alone", .align = Align::kLeft, .min_width = 12},
                           {.title = "Output", .align = Align::kLeft, .min_width = 8, .optional = true},
                           {.title = "Calls"},
                           {.title = "In the model"},
                           {.title = "Alone"},
                           {.title = "Alone / model"},
                           {.title = "One call alone"}};
  const std::size_t most =
      options.verbose ? repeated.rows.size() : static_cast<std::size_t>(std::max(options.top, 0));
  for (std::size_t i = 0; i < repeated.rows.size() && i < most; ++i) {
    const auto& row = repeated.rows[i];
    section.table.rows.push_back({{std::string(op_of(*profile.graph, row))},
                                  {output_shape(*profile.graph, row), Style::kQuiet},
                                  {std::to_string(row.ops.size())},
                                  {format_time(row.time_seconds)},
                                  {format_time(row.alone_total())},
                                  {ratio(row.alone_total(), row.time_seconds)},
                                  {format_time(row.alone_seconds), Style::kStrong}});
  }
  section.remarks.push_back(sum_text(repeated));
  return section;
}

void write_repeated_ops(JsonWriter& json, const Profile& profile, const RepeatedOps& repeated) {
  json.key("repeated_ops");
  json.begin_object();
  json.field("calls", repeated.calls);
  json.field("time_seconds", repeated.time_seconds);
  json.field("alone_seconds", repeated.alone_seconds);
  json.field("other_calls", repeated.other_calls);
  json.field("other_seconds", repeated.other_seconds);
  json.objects("rows", repeated.rows, [&](const RepeatedOp& row) {
    json.field("op", profile.graph->op_name(profile.graph->ops[row.ops.front()]));
    json.field("signature", row.signature);
    json.list("ops", row.ops);
    json.field("time_seconds", row.time_seconds);
    json.field("alone_seconds", row.alone_seconds);
  });
  json.end_object();
}

}  // namespace opscope
