// Every sentence has the numbers it stands on; nothing is advised that they do not show.
#include "report/where_time_goes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/text.h"
#include "report/memory_report.h"
#include "report/times.h"

namespace opscope {
namespace {

constexpr std::size_t kTypesNamed = 4;

// "conv2d 78.1% in 20 ops, batch_norm 12.0% in 20, ..."
std::string types_text(const Profile& profile) {
  std::vector<const TypeRow*> types;
  for (const TypeRow& row : profile.types)
    if (row.metrics.time) types.push_back(&row);
  std::ranges::stable_sort(types, std::greater{}, [](const TypeRow* row) { return row->metrics.time; });
  std::string text;
  for (std::size_t i = 0; i < types.size() && i < kTypesNamed; ++i) {
    const Metrics& m = types[i]->metrics;
    text += (i ? ", " : "") + types[i]->type + " " + format_percent(m.time, profile.totals.time) + " in " +
            (i ? std::to_string(m.ops) : plural(m.ops, "op"));
  }
  return types.size() > kTypesNamed
             ? text + "; the other " + plural(types.size() - kTypesNamed, "type") + " the rest"
             : text;
}

std::string share(const WhereTimeGoes& where, const TimeShare& part) {
  return format_percent(part.seconds, where.seconds);
}

std::string memory_text(const Profile& profile, const WhereTimeGoes& where) {
  const MeasuredRates& rates = where.rates;
  if (rates.bytes_op == kNone) return "no op moves bytes";
  std::string text = share(where, where.memory_bound) + " of op time in " +
                     plural(where.memory_bound.ops, "op") + ": at the best rates reached here, " +
                     bytes_rate_text(rates.bytes_per_second) + "/s (" +
                     std::string(layer_name(profile, rates.bytes_op)) + ")";
  if (rates.flops_op != kNone)
    text += " and " + flops_rate_text(rates.flops_per_second) + "FLOP/s (" +
            std::string(layer_name(profile, rates.flops_op)) +
            "), their bytes take longer than their arithmetic";
  return text;
}

std::string far_text(const WhereTimeGoes& where) {
  return share(where, where.far_from_both) + " of op time in " + plural(where.far_from_both.ops, "op") +
         " that reach less than a quarter of both rates: neither limits them";
}

std::string launch_text(const WhereTimeGoes& where) {
  const TimeShare& launch = where.launch_bound;
  const std::string call = format_time(where.call_seconds);
  if (where.on_device)
    return share(where, launch) + " of op time in " + plural(launch.ops, "op") +
           " that run shorter on the device than their call takes on the host (" + call +
           " at the median, the clock's marks with it)";
  if (where.call_seconds <= 0) return "not known: no op here does nothing, to tell what a call takes";
  return share(where, launch) + " of op time in " + plural(launch.ops, "op") +
         " that take at most twice what one takes that does nothing, such as a view (" + call + ")";
}

std::string idle_text(const WhereTimeGoes& where) {
  const std::string part = format_percent(where.idle, where.whole) + " of a run, " + format_time(where.idle);
  return where.on_device ? part + ": the device has nothing to do and waits for the host"
                         : part + ": no op runs; Python, module calls and dispatch";
}

std::string saved(const WhereTimeGoes& where, double seconds) {
  return format_time(seconds) + " (" + format_percent(seconds, std::max(where.whole, where.seconds)) + ")";
}

std::string takes(const WhereTimeGoes& where, const Finding& finding) {
  return format_time(finding.metrics.time_seconds()) + ", " +
         format_percent(finding.metrics.time_seconds(), where.seconds) + " of op time";
}

// What its ops reach, and what the measure is.
std::string layers_text(const Profile& profile, const WhereTimeGoes& where, const Finding& finding) {
  const Metrics& m = finding.metrics;
  const std::string rate = finding.memory_limited ? bytes_rate_text(bytes_per_second(m)) + "/s"
                                                  : flops_rate_text(flops_per_second(m)) + "FLOP/s";
  std::string text = "takes " + takes(where, finding) + ", at " + rate;
  if (m.roofline_time && profile.roofline.device)
    return text + "; " + profile.roofline.device->name + " could do it in " +
           format_time(m.roofline_seconds()) + ", " + ratio_text(m.time_seconds() / m.roofline_seconds()) +
           " as fast";
  const OpId best = finding.memory_limited ? where.rates.bytes_op : where.rates.flops_op;
  const std::string reached = finding.memory_limited
                                  ? bytes_rate_text(where.rates.bytes_per_second) + "/s"
                                  : flops_rate_text(where.rates.flops_per_second) + "FLOP/s";
  if (best == kNone) return text;
  return text + ", where " + std::string(layer_name(profile, best)) + " reaches " + reached;
}

// Why such ops are slower than the best, as far as the numbers say.
std::string layers_reason(const Profile& profile, const WhereTimeGoes& where, const Finding& finding) {
  const double each =
      finding.metrics.time_seconds() / static_cast<double>(std::max<std::size_t>(finding.ops.size(), 1));
  if (where.call_seconds > 0 && each < 4 * where.call_seconds)
    return "each op takes " + format_time(each) +
           ", little more than a call does: there is too little work in it";
  if (finding.memory_limited)
    return fmt::format(
        "{} FLOPs per byte: only fewer bytes make it faster (fused with its neighbours, a narrower type)",
        format_ratio(finding.metrics.arithmetic_intensity()));
  const double work = static_cast<double>(finding.metrics.flops) /
                      static_cast<double>(std::max<std::uint64_t>(finding.metrics.ops, 1));
  const double best =
      where.rates.flops_op == kNone ? 0 : static_cast<double>(profile.costs[where.rates.flops_op].flops);
  if (best > 4 * work)
    return "it has " + format_count(Count{static_cast<std::uint64_t>(work)}) +
           " FLOPs a call, the fastest has " + format_count(Count{static_cast<std::uint64_t>(best)}) +
           ": a larger batch would fill the machine better";
  return "it has enough work: its layout (channels_last), algorithm or number type is what is left to change";
}

std::string op_types(const Profile& profile, const Finding& finding) {
  std::vector<std::string_view> seen;
  for (const OpId op : finding.ops) {
    const std::string_view type = profile.layers[profile.layer_of[op]].is_module
                                      ? short_op_name(profile.graph->op_name(profile.graph->ops[op]))
                                      : profile.layers[profile.layer_of[op]].type;
    if (!std::ranges::count(seen, type)) seen.push_back(type);
  }
  std::string text;
  for (std::size_t i = 0; i < seen.size() && i < 4; ++i) text.append(i ? ", " : "").append(seen[i]);
  return seen.size() > 4 ? text + " and others" : text;
}

}  // namespace

Entry finding_entry(const Profile& profile, const WhereTimeGoes& where, const Finding& finding) {
  const std::string most = "at most " + saved(where, finding.saving_seconds) + " to save: ";
  const std::string times = finding.count > 1 ? " (" + std::to_string(finding.count) + " of them)" : "";
  switch (finding.kind) {
    case FindingKind::kLayers:
      return {finding.name + times,
              {most + layers_text(profile, where, finding), layers_reason(profile, where, finding)}};
    case FindingKind::kFusion:
      return {finding.name + times,
              {most + op_types(profile, finding) + " take " + takes(where, finding) +
                   ", and what they read and write would stay inside one kernel",
               "torch.compile fuses them; a batch norm in eval mode can be folded into the convolution "
               "before it"}};
    case FindingKind::kSmallOps:
      return {plural(finding.count, "small op"),
              {most + op_types(profile, finding) + " take " + takes(where, finding) + ", " +
               format_time(finding.metrics.time_seconds() /
                           static_cast<double>(std::max<std::size_t>(finding.ops.size(), 1))) +
               " each: that is what calling an op takes, and a compiled graph calls fewer"}};
    case FindingKind::kIdle:
      if (where.on_device)
        return {"the host",
                {most + "the device waits for it; a call takes " + format_time(where.call_seconds) +
                 " there. CUDA graphs, torch.compile or a larger batch give the device more to do per call"}};
      return {"between ops",
              {most + "Python, module calls and dispatch, " +
               format_time(where.idle / static_cast<double>(std::max<std::uint64_t>(profile.totals.ops, 1))) +
               " an op. torch.compile, torch.export or a larger batch spread it over more work"}};
    case FindingKind::kPrecision:
      return {"float32 products",
              {most + "matmuls take " + takes(where, finding) +
               " in full float32; torch.set_float32_matmul_precision(\"high\") lets the TF32 units do them, "
               "with 10 "
               "bits of mantissa"}};
  }
  return {};
}

Section where_time_goes_section(const Profile& profile, const WhereTimeGoes& where) {
  Section section{"Where the time goes", {{{"Where the time goes", Align::kLeft}}, {}}, {}};
  const auto add = [&](std::string head, std::string text) {
    section.entries.push_back({std::move(head), {std::move(text)}});
  };
  add("Ops", types_text(profile));
  if (where.idle > 0) add(where.on_device ? "Idle" : "Between ops", idle_text(where));
  add(where.on_device ? "Launch-bound" : "Call-bound", launch_text(where));
  add("Memory-bound", memory_text(profile, where));
  if (where.far_from_both.ops) add("Near no limit", far_text(where));
  return section;
}

}  // namespace opscope
