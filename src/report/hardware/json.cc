// Devices and what they could do, as JSON: every figure as a number in base units, as its file writes it, and
// with where it is from.
#include "base/seconds.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

void write_figure(JsonWriter& json, std::string_view key, const Figure& figure) {
  json.key(key);
  json.begin_object(JsonLayout::kInline);
  json.field("value", figure.value);
  json.field("text", figure.text);
  json.field("source", figure.source);
  json.end_object();
}

void write_optional(JsonWriter& json, std::string_view key, const std::optional<Figure>& figure) {
  if (figure) return write_figure(json, key, *figure);
  json.key(key);
  json.null();
}

}  // namespace

void write_device(JsonWriter& json, const Device& device) {
  json.field("id", device.id);
  json.field("name", device.name);
  json.field("kind", device.kind);
  json.field("vendor", device.vendor);
  json.field("architecture", device.architecture);
  json.list("aliases", device.aliases);
  json.list("reported_as", device.reported_as);
  json.field("note", device.note);
  if (device.cores) json.field("cores", device.cores);
  write_figure(json, "memory_bandwidth_bytes_per_second", device.memory_bandwidth);
  write_optional(json, "memory_bytes", device.memory_size);
  json.objects("peaks", device.peaks, [&](const Peak& peak) {
    json.field("units", name(peak.units));
    json.field("dtype", peak.dtype);
    write_figure(json, "flops_per_second", peak.rate);
  });
  json.objects("caches", device.caches, [&](const DeviceCache& cache) {
    json.field("level", cache.level);
    write_optional(json, "bytes", cache.size);
    write_optional(json, "bytes_per_second", cache.bandwidth);
  });
  write_optional(json, "launch_overhead_seconds", device.launch_overhead);
  write_optional(json, "power_watts", device.power_limit);
  json.key("sources");
  json.begin_object();
  for (const auto& [key, title] : device.sources) json.field(key, title);
  json.end_object();
}

void write_roofline(JsonWriter& json, const Metrics& metrics) {
  const bool all_unknown = metrics.roofline_unknown > 0 && !metrics.roofline_time;
  json.key("roofline_seconds");
  all_unknown ? json.null() : json.value(metrics.roofline_seconds());
  if (metrics.roofline_unknown) json.field("roofline_unknown_ops", metrics.roofline_unknown);
  json.field("bound", bound_cell(metrics).text);
}

void write_hardware(JsonWriter& json, const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  const Affinity found = affinity(profile);
  json.key("hardware");
  json.begin_object();
  json.field("id", roofline.device->id);
  json.field("name", roofline.device->name);
  json.field("file", roofline.device->file);
  json.field("float32", name(roofline.float32));
  json.field("peak_units", name(roofline.peak->units));
  json.field("peak_dtype", roofline.peak->dtype);
  json.field("peak_flops_per_second", roofline.peak->rate.value);
  json.field("memory_bandwidth_bytes_per_second", roofline.device->memory_bandwidth.value);
  json.field("ridge", roofline.ridge);
  json.field("roofline_seconds", profile.totals.roofline_seconds());
  json.field("roofline_unknown_ops", profile.totals.roofline_unknown);
  json.field("fused_roofline_seconds", static_cast<double>(roofline.fused_time) * kPicosecond);
  json.field("fused_unknown_subgraphs", roofline.fused_unknown);
  json.field("kernels", roofline.kernels);
  json.field("compute_bound_share", found.compute_share);
  json.field("memory_bound_share", found.memory_share);
  json.objects("limits", std::array{Limit::kCompute, Limit::kMemory, Limit::kLaunch, Limit::kUnknown},
               [&](Limit limit) {
                 json.field("limit", limit == Limit::kUnknown ? "unknown" : name(limit));
                 json.field("ops", roofline.of(limit).ops);
                 json.field("flops", roofline.of(limit).flops);
                 json.field("memory_bytes", roofline.of(limit).memory_bytes);
                 json.field("roofline_seconds",
                            static_cast<double>(roofline.of(limit).roofline_time) * kPicosecond);
               });
  json.key("memory_bytes");
  roofline.device->memory_size ? json.value(roofline.device->memory_size->value) : json.null();
  json.key("fits");
  found.fits ? json.value(*found.fits) : json.null();
  json.list("findings", found.findings);
  json.end_object();
}

}  // namespace opscope
