// A profile's device: its figures beside what the model would take there, for people and as JSON, where every
// figure is a number in base units, as its file writes it, and with where it is from.
#include "report/hardware/hardware.h"

#include <fmt/format.h>

#include <array>

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
      fmt::format("{} with fused subgraphs", plural(profile.partition().subgraphs.size(), "subgraph"));
  if (found.fused_share < 1) text += fmt::format(", {} less", format_percent(1 - found.fused_share, 1.0));
  return text;
}

std::string fits_text(const Profile& profile) {
  const Count peak = profile.memory().peak_memory_bytes();
  const Device& device = *profile.roofline.device;
  if (!device.memory_size)
    return format_bytes(peak) + " predicted peak; the device's memory is not a fixed size";
  const double share = static_cast<double>(peak) / device.memory_size->value;
  return share <= 1 ? fmt::format("fits: the predicted peak of {} is {} of it", format_bytes(peak),
                                  format_percent(share, 1.0))
                    : fmt::format("does not fit: the predicted peak is {}", format_bytes(peak));
}

void write_figure(JsonWriter& json, std::string_view key, const std::optional<Figure>& figure) {
  if (!figure) return json.key(key), json.null();
  json.inline_object(
      key, [&] { json.fields("value", figure->value, "text", figure->text, "source", figure->source); });
}

}  // namespace

std::string roofline_text(const Metrics& metrics) {
  const bool tiny = metrics.roofline_time && metrics.roofline_time < Count{500};
  const std::string text = tiny ? "<1 ns" : format_time(metrics.roofline_seconds(), Zero::kDash);
  if (metrics.roofline_unknown == 0) return text;
  return metrics.roofline_time ? "≥" + text : "?";
}

std::string_view bound_word(const Metrics& metrics) {
  if (!metrics.roofline_time) return metrics.roofline_unknown ? "?" : "-";
  return metrics.compute_bound_time + metrics.compute_bound_time > metrics.roofline_time ? "compute"
                                                                                         : "memory";
}

Cell bound_cell(const Metrics& metrics) {
  const std::string_view word = bound_word(metrics);
  return {word, word == "compute" ? Style::kGood : word == "memory" ? Style::kWarning : Style::kQuiet};
}

Columns<Metrics> roofline_columns(const std::string& before) {
  const auto seconds = [](const Metrics& metrics) {
    return metrics.roofline_unknown && !metrics.roofline_time ? Cell() : Cell(metrics.roofline_seconds());
  };
  const auto unknown = [](const Metrics& metrics) {
    return metrics.roofline_unknown ? Cell(metrics.roofline_unknown) : Cell(Absent{});
  };
  return {{{.key = before + "roofline_seconds"}, seconds},
          {{.key = "roofline_unknown_ops", .in = In::kJson}, unknown},
          {{.key = before + "bound"}, bound_word}};
}

Cell hardware_cell(const Profile& profile) {
  return {fmt::format("on {}, ridge {}", profile.roofline.device->name, format_ratio(profile.options.ridge))};
}

Section hardware_section(const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  const Device& device = *roofline.device;
  const Affinity found = affinity(profile);
  Facts section("Hardware");
  section.add("Device", device.id, device.name + (device.file.empty() ? "" : ", from " + device.file));
  section.add("Peak", roofline.peak->rate.text,
              fmt::format("{} on {} units, where most products run{}", roofline.peak->dtype,
                          name(roofline.peak->units), float32_text(roofline)));
  section.add("Bandwidth", device.memory_bandwidth.text,
              fmt::format("ridge at {} FLOPs per byte", format_ratio(roofline.ridge)));
  section.add("Roofline", roofline_text(profile.totals), share_text(found));
  section.add(
      "  as subgraphs",
      at_least(format_time(static_cast<double>(profile.fused_roofline().time) * kPicosecond, Zero::kDash),
               profile.fused_roofline().unknown),
      fused_text(profile, found));
  if (device.launch_overhead)
    section.add("  launches", format_time(roofline.launch_seconds() * static_cast<double>(roofline.kernels)),
                fmt::format("{} kernel launches, {} each", roofline.kernels, device.launch_overhead->text));
  section.add("Memory",
              {device.memory_size ? device.memory_size->text : "-",
               found.fits == false ? Style::kWarning : Style::kStrong},
              fits_text(profile));
  for (const std::string& finding : found.findings) section.remarks.push_back("- " + finding);
  if (!device.note.empty()) section.remarks.push_back("- of this device: " + device.note);
  return section;
}

void write_device(JsonWriter& json, const Device& device) {
  json.fields("id", device.id, "name", device.name, "kind", device.kind, "vendor", device.vendor);
  json.field("architecture", device.architecture);
  json.list("aliases", device.aliases);
  json.list("reported_as", device.reported_as);
  json.field("note", device.note);
  if (device.cores) json.field("cores", device.cores);
  write_figure(json, "memory_bandwidth_bytes_per_second", device.memory_bandwidth);
  write_figure(json, "memory_bytes", device.memory_size);
  json.objects("peaks", device.peaks, [&](const Peak& peak) {
    json.fields("units", name(peak.units), "dtype", peak.dtype);
    write_figure(json, "flops_per_second", peak.rate);
  });
  json.objects("caches", device.caches, [&](const DeviceCache& cache) {
    json.field("level", cache.level);
    write_figure(json, "bytes", cache.size);
    write_figure(json, "bytes_per_second", cache.bandwidth);
  });
  write_figure(json, "launch_overhead_seconds", device.launch_overhead);
  write_figure(json, "power_watts", device.power_limit);
  json.object("sources", [&] {
    for (const auto& [key, title] : device.sources) json.field(key, title);
  });
}

void write_hardware(JsonWriter& json, const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  const Affinity found = affinity(profile);
  json.key("hardware");
  json.begin_object();
  json.fields("id", roofline.device->id, "name", roofline.device->name, "file", roofline.device->file);
  json.fields("float32", name(roofline.float32), "peak_units", name(roofline.peak->units));
  json.fields("peak_dtype", roofline.peak->dtype, "peak_flops_per_second", roofline.peak->rate.value);
  json.field("memory_bandwidth_bytes_per_second", roofline.device->memory_bandwidth.value);
  json.fields("ridge", roofline.ridge, "roofline_seconds", profile.totals.roofline_seconds());
  json.field("roofline_unknown_ops", profile.totals.roofline_unknown);
  json.field("fused_roofline_seconds", static_cast<double>(profile.fused_roofline().time) * kPicosecond);
  json.fields("fused_unknown_subgraphs", profile.fused_roofline().unknown, "kernels", roofline.kernels);
  json.fields("compute_bound_share", found.compute_share, "memory_bound_share", found.memory_share);
  const Columns<Limit> limits{
      {"limit", [](Limit limit) { return limit == Limit::kUnknown ? "unknown" : name(limit); }},
      {"ops", [&](Limit limit) { return roofline.of(limit).ops; }},
      {"flops", [&](Limit limit) { return roofline.of(limit).flops; }},
      {"memory_bytes", [&](Limit limit) { return roofline.of(limit).memory_bytes; }},
      {"roofline_seconds",
       [&](Limit limit) { return static_cast<double>(roofline.of(limit).roofline_time) * kPicosecond; }}};
  write_rows(json, "limits", limits,
             std::array{Limit::kCompute, Limit::kMemory, Limit::kLaunch, Limit::kUnknown});
  const auto& memory = roofline.device->memory_size;
  json.field("memory_bytes", memory ? std::optional(memory->value) : std::nullopt);
  json.field("fits", found.fits);
  json.list("findings", found.findings);
  json.end_object();
}

}  // namespace opscope
