// A profile's device: its figures beside what the model would take there.
#include "report/hardware/hardware.h"

#include <fmt/format.h>

#include "base/seconds.h"
#include "base/text.h"

namespace opscope {
namespace {

std::string share_text(const Affinity& found) {
  return fmt::format("sum over ops: {} compute-bound, {} memory-bound",
                     format_percent(found.compute_share, 1.0), format_percent(found.memory_share, 1.0));
}

std::string float32_text(const RooflineSummary& roofline) {
  if (roofline.peak->dtype != "tf32" && roofline.peak->dtype != "float32") return "";
  return fmt::format(" (--float32 {})", name(roofline.float32));
}

std::string at_least(std::string text, std::uint64_t unknown) {
  return (unknown ? "≥" : "") + std::move(text);
}

std::string fused_text(const Profile& profile, const Affinity& found) {
  std::string text =
      fmt::format("{} with fused subgraphs", plural(profile.partition.subgraphs.size(), "subgraph"));
  if (found.fused_share < 1) text += fmt::format(", {} less", format_percent(1 - found.fused_share, 1.0));
  return text;
}

std::string fits_text(const Profile& profile) {
  const Count peak = profile.memory.peak_memory_bytes();
  const Device& device = *profile.roofline.device;
  if (!device.memory_size)
    return format_bytes(peak) + " predicted peak; the device's memory is not a fixed size";
  const double share = static_cast<double>(peak) / device.memory_size->value;
  return share <= 1 ? fmt::format("fits: the predicted peak of {} is {} of it", format_bytes(peak),
                                  format_percent(share, 1.0))
                    : fmt::format("does not fit: the predicted peak is {}", format_bytes(peak));
}

}  // namespace

std::string roofline_text(const Metrics& metrics) {
  const bool tiny = metrics.roofline_time && metrics.roofline_time < Count{500};
  const std::string text = tiny ? "<1 ns" : format_time(metrics.roofline_seconds(), Zero::kDash);
  if (metrics.roofline_unknown == 0) return text;
  return metrics.roofline_time ? "≥" + text : "?";
}

Cell bound_cell(const Metrics& metrics) {
  if (!metrics.roofline_time) return {metrics.roofline_unknown ? "?" : "-", Style::kQuiet};
  const bool compute = metrics.compute_bound_time + metrics.compute_bound_time > metrics.roofline_time;
  return {compute ? "compute" : "memory", compute ? Style::kGood : Style::kWarning};
}

Cell hardware_cell(const Profile& profile) {
  return {fmt::format("on {}, ridge {}", profile.roofline.device->name, format_ratio(profile.options.ridge))};
}

Section hardware_section(const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  const Device& device = *roofline.device;
  const Affinity found = affinity(profile);
  Section section{"Hardware", {{{"Hardware", Align::kLeft}, {""}, {"", Align::kLeft, 20}}, {}}, {}};
  const auto add = [&](std::string label, std::string value, std::string detail,
                       Style style = Style::kStrong) {
    section.table.rows.push_back(
        {{std::move(label)}, {std::move(value), style}, {std::move(detail), Style::kQuiet}});
  };
  add("Device", device.id, device.name + (device.file.empty() ? "" : ", from " + device.file));
  add("Peak", roofline.peak->rate.text,
      fmt::format("{} on {} units, where most products run{}", roofline.peak->dtype,
                  name(roofline.peak->units), float32_text(roofline)));
  add("Bandwidth", device.memory_bandwidth.text,
      fmt::format("ridge at {} FLOPs per byte", format_ratio(roofline.ridge)));
  add("Roofline", roofline_text(profile.totals), share_text(found));
  add("  as subgraphs",
      at_least(format_time(static_cast<double>(roofline.fused_time) * kPicosecond, Zero::kDash),
               roofline.fused_unknown),
      fused_text(profile, found));
  if (device.launch_overhead)
    add("  launches", format_time(roofline.launch_seconds() * static_cast<double>(roofline.kernels)),
        fmt::format("{} kernel launches, {} each", roofline.kernels, device.launch_overhead->text));
  add("Memory", device.memory_size ? device.memory_size->text : "-", fits_text(profile),
      found.fits == false ? Style::kWarning : Style::kStrong);
  for (const std::string& finding : found.findings) section.remarks.push_back("- " + finding);
  if (!device.note.empty()) section.remarks.push_back("- of this device: " + device.note);
  return section;
}

}  // namespace opscope
