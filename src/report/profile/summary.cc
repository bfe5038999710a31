// The model summary: the totals, each with what it is made of.
#include "base/text.h"
#include "report/core/document.h"
#include "report/memory/report.h"
#include "report/times/times.h"

namespace opscope {
namespace {

std::string parameter_detail(const Parameters& parameters) {
  if (!parameters.total) return "";
  const Count frozen = parameters.total - parameters.trainable;
  std::string text = format_bytes(parameters.bytes) + ", ";
  if (!frozen) return text + "all trainable, shared ones once";
  if (!parameters.trainable) return text + "none trainable, shared ones once";
  return text + format_params(parameters.trainable) + " trainable, " + format_params(frozen) +
         " not, shared ones once";
}

std::string flops_detail(const Profile& profile) {
  const Work& work = profile.totals.work;
  switch (profile.options.convention) {
    case Convention::kOpscope:
      break;
    case Convention::kMacs:
      return "one per MAC and nothing else (--convention macs)";
    case Convention::kTorch:
      return "what torch's FlopCounterMode counts (--convention torch)";
    case Convention::kFvcore:
      return "what fvcore counts, one per MAC (--convention fvcore)";
  }
  std::string text =
      "2 x " + format_count(work.macs) + " MACs + " + format_count(work.other_flops) + " other";
  if (work.specials) text += " + " + format_count(work.specials) + " special (exp, tanh, ...)";
  return text;
}

std::string memory_detail(const Traffic& traffic) {
  return format_bytes(traffic.input_bytes) + " inputs + " + format_bytes(traffic.output_bytes) +
         " outputs + " + format_bytes(traffic.weight_bytes) + " weights";
}

std::string peak_detail(const Profile& profile) {
  const MemoryTimeline& memory = profile.memory;
  std::string text = split_text(memory.at_peak, 2);
  if (memory.peak_op != kNone) text += ", at " + std::string(layer_name(profile, memory.peak_op));
  return text;
}

std::string subgraph_detail(const Partition& partition) {
  if (partition.options.strategy == Strategy::kEachOp) return "one op each (--partition none)";
  const Count saved = partition.unfused_bytes - partition.fused_bytes;
  std::string text = format_bytes(partition.fused_bytes) + " moved if each is one kernel, " +
                     format_percent(saved, partition.unfused_bytes) + " less";
  if (partition.options.strategy == Strategy::kLayer) text += " (--partition layer)";
  return text;
}

// "of all ops, 97.1% of a run of 1.90 ms ±1.2%, over 50 runs on cuda:0"
std::string time_detail(const Profile& profile) {
  const Measurement& measured = profile.graph->measurement;
  const RunTimes runs = run_times(profile, OpTimes(profile));
  std::string text = "of all ops";
  if (runs.whole() > 0)
    text += ", " + share_text(runs.accounted()) + " of a run of " + format_time(runs.whole()) + " " +
            spread_text(runs.on_device ? runs.plain_device : runs.plain);
  text += ", over " + plural(measured.runs, "run");
  const std::string& device = measured.environment.device;
  return device.empty() ? text : text + " on " + device;
}

}  // namespace

Section summary_section(const Profile& profile) {
  Section section{"Summary", {{{"Summary", Align::kLeft}, {""}, {"", Align::kLeft, 20}}, {}}, {}};
  const auto add = [&](std::string label, std::string value, std::string detail) {
    section.table.rows.push_back(
        {{std::move(label)}, {std::move(value), Style::kStrong}, {std::move(detail), Style::kQuiet}});
  };
  const Metrics& totals = profile.totals;
  const Parameters& parameters = profile.parameters;
  add("Parameters", format_params(parameters.total), parameter_detail(parameters));
  add("Buffers", format_params(parameters.buffers),
      parameters.buffers ? format_bytes(parameters.buffer_bytes) : "");
  add("MACs", format_count(totals.work.macs), "");
  add("FLOPs", flops_text(totals), flops_detail(profile));
  add("Memory", format_bytes(totals.memory_bytes()), memory_detail(totals.traffic));
  add("Peak memory", format_bytes(profile.memory.peak_memory_bytes()), peak_detail(profile));
  add("Intensity", format_ratio(totals.arithmetic_intensity()), "FLOPs per byte moved");
  if (is_measured(profile)) add("Time", format_time(totals.time_seconds()), time_detail(profile));
  add("Ops", std::to_string(totals.ops),
      "in " + plural(profile.layers.size(), "layer") + " of " + plural(profile.modules.size(), "module"));
  add("Subgraphs", std::to_string(profile.partition.subgraphs.size()), subgraph_detail(profile.partition));
  return section;
}

}  // namespace opscope
