// Whole runs beside the sum of their ops, and how far the two agree; the phases of a training step.
#include <fmt/format.h>

#include "base/text.h"
#include "report/profile/columns.h"
#include "report/times/times.h"

namespace opscope {
namespace {

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

// "Ops account for 97.4% of a run: 30.2 ms of 31.0 ms. The other 0.8 ms is Python and dispatch between them."
std::string accounted_text(const RunTimes& runs) {
  const std::string ops = format_time(runs.ops.median), whole = format_time(runs.whole());
  std::string text = runs.on_device ? "ops account for {} of the device's run: {} of {}"
                                    : "ops account for {} of a run: {} of {}";
  text = fmt::format(fmt::runtime(text), format_percent(runs.ops.median, runs.whole()), ops, whole);
  if (runs.ops.median > runs.whole())
    return fmt::format("ops add up to {}, {} of a run without op timers ({})", ops,
                       ratio_text(runs.accounted()), whole);
  const std::string rest = format_time(runs.idle());
  if (runs.on_device) return text + "; for " + rest + " it was idle";
  return text + (runs.is_reversed()
                     ? "; Python and dispatch between them take " + rest + ", the rest is noise"
                     : "; the other " + rest + " is Python and dispatch between them");
}

std::string host_text(const RunTimes& runs, std::uint64_t ops) {
  const double each = ops ? runs.host_ops.median / static_cast<double>(ops) : 0;
  return "on the host, calling the ops took " + format_time(runs.host_ops.median) + ", " + format_time(each) +
         " each, and the whole run " + format_time(runs.timed.median) + " with op timers";
}

std::string unmatched_text(const Measurement& measured) {
  std::uint64_t count = 0;
  Nanoseconds total = 0;
  std::string names;
  for (const UnmatchedOp& op : measured.unmatched) {
    count += op.count, total += op.total;
    if (names.size() < 60) names += (names.empty() ? "" : ", ") + op.op;
  }
  return plural(count, "op") + (count == 1 ? " is" : " are") + " not the same in every run and " +
         (count == 1 ? "is" : "are") + " in none of these numbers, " + format_time(seconds(total)) +
         " in all: " + names;
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

Section runs_section(const Profile& profile, const RunTimes& runs) {
  std::vector<RunRow> rows;
  add_pair(rows, "whole run", runs.plain, runs.timed, runs.on_device);
  add_pair(rows, "on the device", runs.plain_device, runs.timed_device, runs.on_device);
  rows.push_back({"sum of ops", runs.ops});
  rows.push_back({"  their calls on the host", runs.host_ops, Style::kQuiet});
  std::erase_if(rows, [](const RunRow& row) { return row.of.samples == 0; });
  Section section{"Runs", table_of<RunRow>(run_columns(), rows, In::kPeople, &RunRow::style)};
  add_remarks(profile, runs, section.remarks);
  return section;
}

Section phases_section(const Profile& profile, const RunTimes& runs) {
  const auto metrics = [](const Columns<Metrics>& columns) {
    return through<PhaseTimes>(&PhaseTimes::metrics, columns);
  };
  Columns<PhaseTimes> columns{
      {words("Phases"), [](const PhaseTimes& phase) { return std::string(phase.name); }}};
  columns += metrics(shown_columns(profile, "ops time_seconds time_seconds%"));
  columns += {{spread_column(), [](const PhaseTimes& phase) { return spread_cell(phase.time); }}};
  columns += metrics(shown_columns(profile, "flops memory_bytes"));
  columns += metrics(rate_columns(profile));
  return {"Phases", table_of(columns, runs.phases)};
}

}  // namespace opscope
