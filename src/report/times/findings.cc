// What to look at first, in words: what it is and takes, what could be saved and why. Nothing is advised that
// the numbers do not show.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "analyse/memory/memory.h"
#include "base/text.h"
#include "report/times/times.h"
#include "report/times/where_time_goes.h"

namespace opscope {
namespace {

constexpr double kNear = 0.7;  // of what is possible: from here on, the limit itself has to move

std::string takes(const WhereTimeGoes& where, const Finding& finding) {
  return format_time(finding.metrics.time_seconds()) + ", " +
         format_percent(finding.metrics.time_seconds(), where.seconds) + " of op time";
}

double seconds_each(const Finding& finding) {
  return finding.metrics.time_seconds() / static_cast<double>(std::max<std::size_t>(finding.ops.size(), 1));
}

// "layer1.1.conv3 and 5 like it": the slowest stands for all.
std::string layers_name(const Profile& profile, const Finding& finding) {
  const OpId slowest =
      *std::ranges::max_element(finding.ops, {}, [&](OpId op) { return profile.costs[op].time; });
  std::string text(layer_name(profile, slowest));
  return finding.count > 1 ? text + " and " + std::to_string(finding.count - 1) + " like it" : text;
}

std::string rate_text(const Finding& finding, double flops, double bytes) {
  return finding.memory_limited ? bytes_rate_text(bytes) + "/s" : flops_rate_text(flops) + "FLOP/s";
}

// What its ops take and reach, and what is possible.
std::string layers_text(const Profile& profile, const WhereTimeGoes& where, const Finding& finding) {
  const Metrics& m = finding.metrics;
  std::string text = layers_name(profile, finding) + (finding.count > 1 ? " take " : " takes ") +
                     takes(where, finding) + ", at " +
                     rate_text(finding, flops_per_second(m), bytes_per_second(m));
  if (m.roofline_time && profile.roofline.device)
    return text + "; at its roofline " + profile.roofline.device->name + " takes " +
           format_time(m.roofline_seconds());
  const std::string& best = finding.memory_limited ? where.rates.bytes_name : where.rates.flops_name;
  if (best.empty()) return text;
  return text + ", where " + best + " reaches " +
         rate_text(finding, where.rates.flops_per_second, where.rates.bytes_per_second);
}

// Its ops' types, the slowest first.
std::string op_types(const Profile& profile, const Finding& finding) {
  std::map<std::string_view, Count> times;
  for (const OpId op : finding.ops) {
    std::string_view type = short_op_name(profile.graph->op_name(profile.graph->ops[op]));
    if (type.size() > 1 && type.ends_with('_')) type.remove_suffix(1);
    times[type] += profile.costs[op].time;
  }
  std::vector<std::pair<std::string_view, Count>> types(times.begin(), times.end());
  std::ranges::stable_sort(types, std::greater{}, [](const auto& type) { return type.second; });
  std::string text;
  for (std::size_t i = 0; i < types.size() && i < 3; ++i) {
    text += i == 0 ? "" : i + 1 == types.size() ? " and " : ", ";
    text += types[i].first;
  }
  return types.size() > 3 ? text + " and others" : text;
}

// Why such ops are slower than the best, as far as the numbers say.
std::string layers_reason(const Profile& profile, const WhereTimeGoes& where, const Finding& finding) {
  const Metrics& m = finding.metrics;
  const double each = seconds_each(finding), call = where.call_seconds;
  if (call > 0 && each < 4 * call)
    return "an op takes " + format_time(each) + ", " + (each < call ? "less" : "not much more") +
           " than a call (" + format_time(call) + "): too little work in each";
  const double left = m.time_seconds() - finding.saving_seconds;
  if (left >= kNear * m.time_seconds())
    return finding.memory_limited ? "it is near the memory bandwidth already: moving fewer bytes (fusion, a "
                                    "narrower dtype) helps more than a better kernel"
                                  : "it is near the best rate already: a narrower dtype or less work helps "
                                    "more than a better kernel";
  const double work = static_cast<double>(m.flops) / static_cast<double>(std::max<std::uint64_t>(m.ops, 1));
  const double best = where.rates.flops_each;
  if (!finding.memory_limited && best > 4 * work)
    return "an op has " + format_count(Count{static_cast<std::uint64_t>(work)}) + " FLOPs, the fastest one " +
           format_count(Count{static_cast<std::uint64_t>(best)}) +
           ": a larger batch fills the machine better";
  const bool convolves = op_types(profile, finding).find("conv") != std::string::npos;
  const std::string with =
      m.flops ? " with its " + format_ratio(m.arithmetic_intensity()) + " FLOPs per byte" : "";
  return "at " + format_percent(left, m.time_seconds()) + " of what is possible" + with +
         ": the kernel chosen, the layout" + (convolves ? " (channels_last)" : "") +
         " or the shape could be changed";
}

// A batch norm is folded only where it does not learn.
std::string fusion_hint(const Profile& profile, const std::string& types) {
  const bool folds = profile.graph->phases.empty() && types.find("batch_norm") != std::string::npos;
  return folds ? "torch.compile fuses them; a batch norm in eval mode can be folded into the convolution "
                 "before it"
               : "torch.compile fuses them";
}

std::vector<std::string> idle_lines(const Profile& profile, const WhereTimeGoes& where) {
  if (where.on_device)
    return {"the device waits for the host, which takes " + format_time(where.call_seconds) + " for a call",
            "CUDA graphs, torch.compile or a larger batch give the device more work per launch"};
  const double each = where.idle / static_cast<double>(std::max<std::uint64_t>(profile.totals.ops, 1));
  return {"no op runs for " + format_time(where.idle) + ": Python, module calls and dispatch, " +
              format_time(each) + " an op",
          "torch.compile calls fewer ops, a larger batch gives each more to do"};
}

std::vector<std::string> lines_of(const Profile& profile, const WhereTimeGoes& where,
                                  const Finding& finding) {
  switch (finding.kind) {
    case FindingKind::kLayers:
      return {layers_text(profile, where, finding), layers_reason(profile, where, finding)};
    case FindingKind::kFusion: {
      const std::string types = op_types(profile, finding);
      const bool one = types.find(' ') == std::string::npos;
      return {fmt::format("{} in {} x {} {} {}, and what {} would stay inside one kernel", types,
                          finding.count, finding.name, one ? "takes" : "take", takes(where, finding),
                          one ? "it reads and writes" : "they read and write"),
              fusion_hint(profile, types)};
    }
    case FindingKind::kSmallOps:
      return {plural(finding.ops.size(), "op") + " (" + op_types(profile, finding) + ") take " +
                  takes(where, finding) + ", " + format_time(seconds_each(finding)) + " each",
              "that is the cost of calling an op; a compiled graph calls fewer ops"};
    case FindingKind::kIdle:
      return idle_lines(profile, where);
    case FindingKind::kPrecision:
      return {"matmuls take " + takes(where, finding) + ", in full float32, while TF32 units are idle",
              "torch.set_float32_matmul_precision(\"high\") uses those, with 10 bits of mantissa"};
  }
  return {};
}

}  // namespace

Entry finding_entry(const Profile& profile, const WhereTimeGoes& where, const Finding& finding) {
  const std::string share = format_percent(finding.saving_seconds, std::max(where.whole, where.seconds));
  return {"saves " + format_time(finding.saving_seconds) + ", " + share, lines_of(profile, where, finding)};
}

}  // namespace opscope
