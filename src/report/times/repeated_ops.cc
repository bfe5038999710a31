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
  using Row = const RepeatedOp&;
  const Graph& graph = *profile.graph;
  const Columns<RepeatedOp> columns{
      {words("Ops alone", 12), [&](Row row) { return op_of(graph, row); }},
      {words("Output", 8).or_not(), [&](Row row) { return Cell(output_shape(graph, row), Style::kQuiet); }},
      {number("Calls"), [](Row row) { return row.ops.size(); }},
      {number("In the model"), [](Row row) { return format_time(row.time_seconds); }},
      {number("Alone"), [](Row row) { return format_time(row.alone_total()); }},
      {number("Alone / model"), [](Row row) { return ratio(row.alone_total(), row.time_seconds); }},
      {number("One call alone"),
       [](Row row) { return Cell(format_time(row.alone_seconds), Style::kStrong); }}};
  std::span<const RepeatedOp> rows = repeated.rows;
  if (!options.verbose)
    rows = rows.first(std::min(rows.size(), static_cast<std::size_t>(std::max(options.top, 0))));
  Section section{"Ops alone", table_of(columns, rows)};
  section.remarks.push_back(sum_text(repeated));
  return section;
}

void write_repeated_ops(JsonWriter& json, const Profile& profile, const RepeatedOps& repeated) {
  json.object("repeated_ops", [&] {
    json.field("calls", repeated.calls);
    json.field("time_seconds", repeated.time_seconds);
    json.field("alone_seconds", repeated.alone_seconds);
    json.field("other_calls", repeated.other_calls);
    json.field("other_seconds", repeated.other_seconds);
    const Graph& graph = *profile.graph;
    const Columns<RepeatedOp> columns{
        {"op", [&](const RepeatedOp& row) { return graph.op_name(graph.ops[row.ops.front()]); }},
        {"signature", &RepeatedOp::signature},
        {"ops", [](const RepeatedOp& row) { return Numbers(row.ops.begin(), row.ops.end()); }},
        {"time_seconds", &RepeatedOp::time_seconds},
        {"alone_seconds", &RepeatedOp::alone_seconds}};
    write_rows(json, "rows", columns, repeated.rows);
  });
}

}  // namespace opscope
