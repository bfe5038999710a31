// Times in words and tables: whole runs beside the sum of their ops, phases, where the time goes, ops alone.
// Every sentence has the numbers it stands on.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/text.h"
#include "report/times/times.h"

namespace opscope {
namespace {

Count rounded(double number) {
  return Count{static_cast<std::uint64_t>(std::min(std::round(number), 1.8e19))};
}

constexpr std::size_t kTypesNamed = 4;

// "conv2d 78.1% in 20 ops, batch_norm 12.0% in 20, ..."
std::string types_text(const Profile& profile) {
  std::vector<const TypeRow*> types;
  for (const TypeRow& row : profile.types())
    if (row.metrics.time) types.push_back(&row);
  std::ranges::stable_sort(types, std::greater{}, [](const TypeRow* row) { return row->metrics.time; });
  std::string text;
  for (std::size_t i = 0; i < types.size() && i < kTypesNamed; ++i) {
    const Metrics& m = types[i]->metrics;
    text += (i ? ", " : "") + types[i]->type + " " + format_percent(m.time, profile.totals.time) + " in " +
            (i ? std::to_string(m.ops) : plural(m.ops, "op"));
  }
  return types.size() > kTypesNamed
             ? text + "; the rest in " + plural(types.size() - kTypesNamed, "type") + " more"
             : text;
}

std::string share(const WhereTimeGoes& where, const TimeShare& part) {
  return format_percent(part.seconds, where.seconds) + " of op time in ops";
}

// "38 of 69 ops"
std::string of_ops(const WhereTimeGoes& where, const TimeShare& part) {
  return fmt::format("{} of {}", part.ops, plural(where.all_ops(), "op"));
}

std::string memory_text(const WhereTimeGoes& where) {
  const MeasuredRates& rates = where.rates;
  if (rates.bytes_name.empty()) return "no op moves bytes";
  std::string text = fmt::format(
      "{} whose bytes take longer than their arithmetic, at the best rates of this run: {}/s ({})",
      share(where, where.memory_bound), bytes_rate_text(rates.bytes_per_second), rates.bytes_name);
  if (!rates.flops_name.empty())
    text += fmt::format(" and {}FLOP/s ({})", flops_rate_text(rates.flops_per_second), rates.flops_name);
  return text + "; " + of_ops(where, where.memory_bound);
}

std::string launch_text(const WhereTimeGoes& where) {
  const TimeShare& launch = where.launch_bound;
  if (!where.on_device && where.call_seconds <= 0)
    return "not known: the model has no op without work, which would show the cost of a call";
  constexpr std::string_view kOnDevice =
      "{} that run shorter on the device than their launch takes on the host ({} at the median, recording "
      "included): {}";
  constexpr std::string_view kOnHost =
      "{} that take at most twice as long as an op without work, such as a view ({}): {}";
  return fmt::format(fmt::runtime(where.on_device ? kOnDevice : kOnHost), share(where, launch),
                     format_time(where.call_seconds), of_ops(where, launch));
}

std::string idle_text(const WhereTimeGoes& where) {
  if (where.on_device && where.host.device)
    return fmt::format("{} of a run, {}; in the run shown, {}", format_percent(where.idle, where.whole),
                       format_time(where.idle), device_gaps_text(*where.host.device));
  return fmt::format("{} of a run, {}: {}", format_percent(where.idle, where.whole), format_time(where.idle),
                     where.on_device ? "the device is idle and waits for the host"
                                     : "time outside ops: Python, module calls and dispatch");
}

std::string ratio(double part, double whole) { return whole > 0 ? ratio_text(part / whole) : "-"; }

std::string sum_text(const RepeatedOps& repeated) {
  std::string text =
      fmt::format("{} of {}: {} in the model, {} alone ({})", plural(repeated.calls, "call"),
                  plural(repeated.rows.size(), "distinct op"), format_time(repeated.time_seconds),
                  format_time(repeated.alone_seconds), ratio(repeated.alone_seconds, repeated.time_seconds));
  if (repeated.other_calls > 0)
    text += fmt::format("; {} without a time alone took {}", plural(repeated.other_calls, "other call"),
                        format_time(repeated.other_seconds));
  return text;
}

struct RunRow {
  std::string label;
  Statistics of;
  Style style = Style::kPlain;
};

Columns<RunRow> run_columns() {
  using Row = const RunRow&;
  const auto time = [](double Statistics::*member) {
    return [=](Row row) { return format_time(row.of.*member); };
  };
  return {{words("Runs"), &RunRow::label},
          {number("Median"),
           [](Row row) {
             return Cell(format_time(row.of.median), row.style == Style::kPlain ? Style::kStrong : row.style);
           }},
          {number("±"), [](Row row) { return spread_text(row.of); }},
          {number("Mean").or_not(), time(&Statistics::mean)},
          {number("Std dev").or_not(),
           [](Row row) { return row.of.samples > 1 ? format_time(row.of.standard_deviation) : "-"; }},
          {number("p95"), time(&Statistics::p95)},
          {number("Min"), time(&Statistics::minimum)},
          {number("Max"), time(&Statistics::maximum)},
          {number("Outliers"), [](Row row) {
             if (!row.of.outliers) return Cell("-", Style::kQuiet);
             return Cell(std::to_string(row.of.outliers) + " of " + std::to_string(row.of.samples),
                         Style::kWarning);
           }}};
}

// Without the clock and with it; a profiler's trace has the second alone. On a device such runs time every
// call but mark few ops: its times are of other runs.
void add_pair(std::vector<RunRow>& rows, const std::string& label, const Statistics& plain,
              const Statistics& timed, bool on_device) {
  rows.push_back({label, plain});
  if (plain.samples > 0)
    rows.push_back({on_device ? "  with every call timed" : "  with every op timed", timed, Style::kQuiet});
  else
    rows.push_back({label + ", every op timed", timed});
}

// "ops account for 97.4% of a run: 30.2 ms of 31.0 ms; the other 0.8 ms is Python and dispatch between them"
std::string accounted_text(const RunTimes& runs) {
  if (runs.has_wall && !runs.on_device)
    return fmt::format(
        "ops account for {} of what passes in timed runs: {} of {}; the other {} is outside ops: Python, "
        "module "
        "calls and dispatch",
        format_percent(runs.op_seconds, runs.wall_seconds), format_time(runs.op_seconds),
        format_time(runs.wall_seconds), format_time(runs.outside_seconds));
  const std::string ops = format_time(runs.op_seconds), whole = format_time(runs.whole());
  if (runs.op_seconds > runs.whole())
    return fmt::format("ops add up to {}, {} of a run without op timers ({})", ops,
                       ratio_text(runs.accounted()), whole);
  constexpr std::string_view kReversed = "Python and dispatch between them take {}, the rest is noise";
  constexpr std::string_view kOthers = "the other {} is Python and dispatch between them";
  const std::string_view rest = runs.on_device       ? "for {} it was idle"
                                : runs.is_reversed() ? kReversed
                                                     : kOthers;
  return fmt::format("ops account for {} of {} run: {} of {}; {}",
                     format_percent(runs.op_seconds, runs.whole()), runs.on_device ? "the device's" : "a",
                     ops, whole, fmt::format(fmt::runtime(rest), format_time(runs.idle())));
}

std::string host_text(const RunTimes& runs, std::uint64_t ops) {
  return fmt::format("on the host, calling the ops took {}, {} each, and the whole run {} with op timers",
                     format_time(runs.host_ops.median),
                     format_time(runs.host_ops.median / static_cast<double>(ops)),
                     format_time(runs.timed.median));
}

std::string unmatched_text(const Measurement& measured) {
  std::uint64_t count = 0;
  Nanoseconds total = 0;
  std::string names;
  for (const UnmatchedOp& op : measured.unmatched) {
    count += op.count, total += op.total;
    if (names.size() < 60) names += (names.empty() ? "" : ", ") + op.op;
  }
  return fmt::format("{0} {1} not the same in every run and {1} in none of these numbers, {2} in all: {3}",
                     plural(count, "op"), count == 1 ? "is" : "are", format_time(seconds(total)), names);
}

// Between the quickest and all but the slowest runs lies half of what a run takes.
bool is_noisy(const Statistics& of) { return of.samples > 2 && of.p95 - of.minimum > 0.5 * of.median; }

void add_noise(const RunTimes& runs, std::vector<std::string>& remarks) {
  const std::string why =
      fmt::format(": another process used the machine, or clock frequencies changed; {} are rough",
                  runs.on_device && !is_noisy(runs.ops) ? "times of whole runs" : "all numbers here");
  for (const Statistics* of : {&runs.plain, &runs.timed})
    if (is_noisy(*of)) {
      remarks.push_back(
          fmt::format("runs take from {} to {}{}", format_time(of->minimum), format_time(of->maximum), why));
      return;
    }
  if (runs.is_reversed())
    remarks.push_back(fmt::format("runs are faster with op timers than without{}", why));
}

std::string overhead_text(const RunTimes& runs, Nanoseconds empty_interval) {
  const std::string ratio = ratio_text(runs.overhead()), own = format_time(seconds(empty_interval));
  const char* timed = runs.on_device ? "every call" : "every op";
  if (runs.overhead() < 1)
    return fmt::format(
        "runs with {} timed take {} of those without: the overhead of the timers is below the noise; their "
        "own {} are subtracted from every op",
        timed, ratio, own);
  return fmt::format("timing {} makes the run {} as long; the timers' own {} are subtracted from every op{}",
                     timed, ratio, own,
                     runs.on_device ? ". Device times are from separate, slower runs" : "");
}

void add_remarks(const Profile& profile, const RunTimes& runs, std::vector<std::string>& remarks) {
  const Measurement& measured = profile.graph->measurement;
  add_noise(runs, remarks);
  if (runs.whole() > 0) remarks.push_back(accounted_text(runs));
  if (runs.host_ops.samples && profile.totals.ops) remarks.push_back(host_text(runs, profile.totals.ops));
  if (runs.overhead() > 0) remarks.push_back(overhead_text(runs, measured.empty_interval));
  if (runs.plain.outliers + runs.timed.outliers > 0)
    remarks.push_back("outliers (more than 3 scaled MADs from the median) are included in every number");
  if (runs.unmeasured_ops)
    remarks.push_back(plural(runs.unmeasured_ops, "op") + (runs.unmeasured_ops == 1 ? " has" : " have") +
                      " no time: not in any timed run, for example because the model caches the result");
  if (!measured.unmatched.empty()) remarks.push_back(unmatched_text(measured));
}

}  // namespace

std::string spread_text(const Statistics& statistics) {
  if (statistics.samples < 2 || !(statistics.median > 0)) return "-";
  const double percent = 100 * statistics.spread();
  if (percent >= 999.5) return fmt::format("±{:.0f}x", statistics.spread());
  return percent >= 9.95 ? fmt::format("±{:.0f}%", percent) : fmt::format("±{:.1f}%", percent);
}

std::string flops_rate_text(double per_second) { return format_count(rounded(per_second), Zero::kDash); }
std::string bytes_rate_text(double per_second) { return format_bytes(rounded(per_second), Zero::kDash); }

std::string share_text(double share) {
  if (!std::isfinite(share) || share <= 0) return "-";
  return share > 1 ? fmt::format("{:.0f}%", 100 * share) : format_percent(share, 1.0);
}

std::string ratio_text(double ratio) {
  if (!std::isfinite(ratio) || ratio <= 0) return "-";
  if (ratio >= 9.995) return fmt::format("{:.{}f}x", ratio, ratio >= 99.95 ? 0 : 1);
  return fmt::format("{:.{}f}x", ratio, ratio < 1.9995 ? 3 : 2);
}

Section where_time_goes_section(const Profile& profile, const WhereTimeGoes& where) {
  Section section{"Where the time goes", {{words("Where the time goes")}, {}}};
  const auto add = [&](std::string head, std::string text) {
    section.entries.push_back({std::move(head), {std::move(text)}});
  };
  add("Ops", types_text(profile));
  if (where.idle > 0) add(where.on_device ? "Idle" : "Between ops", idle_text(where));
  add("Launch-bound", launch_text(where));
  add("Memory-bound", memory_text(where));
  if (where.far_from_both.ops)
    add("Latency-bound",
        share(where, where.far_from_both) +
            " that reach less than a quarter of both rates: " + of_ops(where, where.far_from_both));
  return section;
}

Section repeated_ops_section(const Profile& profile, const RepeatedOps& repeated,
                             const TextOptions& options) {
  using Row = const RepeatedOp&;
  const Graph& graph = *profile.graph;
  const Columns<RepeatedOp> columns{
      {words("Ops alone", 12),
       [&](Row row) { return short_op_name(graph.op_name(graph.ops[row.ops.front()])); }},
      {words("Output", 8).or_not().quiet(),
       [&](Row row) {
         const auto outputs = graph.outputs_of(graph.ops[row.ops.front()]);
         return outputs.empty() ? "" : shape_text(graph, outputs.front());
       }},
      {number("Calls"), [](Row row) { return row.ops.size(); }},
      {number("In the model"), [](Row row) { return format_time(row.time_seconds); }},
      {number("Alone"), [](Row row) { return format_time(row.alone_total()); }},
      {number("Alone / model"), [](Row row) { return ratio(row.alone_total(), row.time_seconds); }},
      {number("One call alone").strong(), [](Row row) { return format_time(row.alone_seconds); }}};
  const auto shown = std::span(repeated.rows).first(shown_of(repeated.rows.size(), options));
  return {"Ops alone", table_of(columns, shown), {sum_text(repeated)}};
}

void write_repeated_ops(JsonWriter& json, const Profile& profile, const RepeatedOps& repeated) {
  json.object("repeated_ops", [&] {
    json.fields("calls", repeated.calls, "time_seconds", repeated.time_seconds);
    json.fields("alone_seconds", repeated.alone_seconds, "other_calls", repeated.other_calls);
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

Section runs_section(const Profile& profile, const RunTimes& runs) {
  std::vector<RunRow> rows;
  add_pair(rows, "whole run", runs.plain, runs.timed, runs.on_device);
  add_pair(rows, "on the device", runs.plain_device, runs.timed_device, runs.on_device);
  // The median that tables add up to.
  const auto with_median = [](Statistics of, double median) {
    of.median = median;
    return of;
  };
  rows.push_back({"sum of ops", with_median(runs.ops, runs.op_seconds)});
  rows.push_back({"  their calls on the host", runs.host_ops, Style::kQuiet});
  rows.push_back({runs.on_device ? "  outside ops, on the host" : "outside ops",
                  with_median(runs.outside, runs.outside_seconds),
                  runs.on_device ? Style::kQuiet : Style::kPlain});
  std::erase_if(rows, [](const RunRow& row) { return row.of.samples == 0; });
  Section section{"Runs", table_of<RunRow>(run_columns(), rows, In::kPeople, &RunRow::style)};
  add_remarks(profile, runs, section.remarks);
  return section;
}

Section phases_section(const Profile& profile, const RunTimes& runs) {
  Columns<PhaseTimes> columns{{words("Phases"), &PhaseTimes::name}};
  columns += timed_columns<PhaseTimes>(profile, &PhaseTimes::metrics, &PhaseTimes::time,
                                       "ops time_seconds time_seconds%", "flops memory_bytes");
  return {"Phases", table_of(columns, runs.phases)};
}

}  // namespace opscope
