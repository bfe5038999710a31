// The bottleneck analysis: how many ops, FLOPs and bytes are limited by arithmetic and how many by memory.
#include <fmt/format.h>

#include "base/text.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

struct Shares {
  std::uint64_t ops;
  Count flops, memory_bytes;
};

void add_row(Section& section, const Shares& all, std::string label, const Band& band, Style style) {
  section.table.rows.push_back({{std::move(label), style},
                                {band.ops ? std::to_string(band.ops) : "-", style},
                                {format_percent(Count{band.ops}, Count{all.ops}, Zero::kDash), style},
                                {format_count(band.flops, Zero::kDash), style},
                                {format_percent(band.flops, all.flops, Zero::kDash), style},
                                {format_bytes(band.memory_bytes, Zero::kDash), style},
                                {format_percent(band.memory_bytes, all.memory_bytes, Zero::kDash), style}});
}

}  // namespace

Section bottleneck_section(const Profile& profile) {
  const BottleneckSummary& summary = profile.bottlenecks;
  const Band &compute = summary.compute_bound, &memory = summary.memory_bound;
  const Shares all{compute.ops + memory.ops, compute.flops + memory.flops,
                   compute.memory_bytes + memory.memory_bytes};
  Section section{"Bottlenecks", {{{"Bottlenecks", Align::kLeft}}, {}}, {}};
  for (const char* title : {"Ops", "% Ops", "FLOPs", "% FLOPs", "Memory", "% Mem"})
    section.table.columns.push_back({title});
  // On a device each op has its own ridge: that of the units that do its products.
  const bool own_ridges = has_device(profile) && !profile.options.ridge_is_given;
  const std::string ridge = fmt::format("{:g}", summary.ridge);
  add_row(section, all, own_ridges ? "compute-bound" : "compute-bound   AI > " + ridge, compute,
          Style::kPlain);
  add_row(section, all, own_ridges ? "memory-bound" : "memory-bound    AI <= " + ridge, memory,
          Style::kPlain);
  add_row(section, all, "  AI > 100", summary.over_100, Style::kQuiet);
  add_row(section, all, "  AI 50 to 100", summary.from_50_to_100, Style::kQuiet);
  add_row(section, all, "  AI 10 to 50", summary.from_10_to_50, Style::kQuiet);
  add_row(section, all, "  AI < 10", summary.under_10, Style::kQuiet);
  return section;
}

}  // namespace opscope
