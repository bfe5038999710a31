// Every sentence has the numbers it stands on; nothing is advised that they do not show.
#include "report/times/where_time_goes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "report/memory/report.h"
#include "report/times/times.h"

namespace opscope {
namespace {

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
  return format_percent(part.seconds, where.seconds);
}

// "38 of 69 ops"
std::string of_ops(const WhereTimeGoes& where, const TimeShare& part) {
  return std::to_string(part.ops) + " of " + plural(where.all_ops(), "op");
}

std::string memory_text(const WhereTimeGoes& where) {
  const MeasuredRates& rates = where.rates;
  if (rates.bytes_name.empty()) return "no op moves bytes";
  std::string text =
      share(where, where.memory_bound) +
      " of op time in ops whose bytes take longer than their arithmetic, at the best rates of this run: " +
      bytes_rate_text(rates.bytes_per_second) + "/s (" + rates.bytes_name + ")";
  if (!rates.flops_name.empty())
    text += " and " + flops_rate_text(rates.flops_per_second) + "FLOP/s (" + rates.flops_name + ")";
  text += "; " + of_ops(where, where.memory_bound);
  return text;
}

std::string far_text(const WhereTimeGoes& where) {
  return share(where, where.far_from_both) +
         " of op time in ops that reach less than a quarter of both rates: " +
         of_ops(where, where.far_from_both);
}

std::string launch_text(const WhereTimeGoes& where) {
  const TimeShare& launch = where.launch_bound;
  const std::string call = format_time(where.call_seconds);
  if (where.on_device)
    return share(where, launch) +
           " of op time in ops that run shorter on the device than their launch takes on the host (" + call +
           " at the median, recording included): " + of_ops(where, launch);
  if (where.call_seconds <= 0)
    return "not known: the model has no op without work, which would show the cost of a call";
  return share(where, launch) +
         " of op time in ops that take at most twice as long as an op without work, such as a view (" + call +
         "): " + of_ops(where, launch);
}

std::string idle_text(const WhereTimeGoes& where) {
  const std::string part = format_percent(where.idle, where.whole) + " of a run, " + format_time(where.idle);
  return where.on_device ? part + ": the device is idle and waits for the host"
                         : part + ": time between ops: Python, module calls and dispatch";
}

}  // namespace

Section where_time_goes_section(const Profile& profile, const WhereTimeGoes& where) {
  Section section{"Where the time goes", {{{"Where the time goes", Align::kLeft}}, {}}, {}};
  const auto add = [&](std::string head, std::string text) {
    section.entries.push_back({std::move(head), {std::move(text)}});
  };
  add("Ops", types_text(profile));
  if (where.idle > 0) add(where.on_device ? "Idle" : "Between ops", idle_text(where));
  add("Launch-bound", launch_text(where));
  add("Memory-bound", memory_text(where));
  if (where.far_from_both.ops) add("Latency-bound", far_text(where));
  return section;
}

}  // namespace opscope
