// The devices that are known, a line each or all of one; and a profile's device: its figures beside what the
// model would take there, for people and as JSON, where every figure is a number in base units, as its file
// writes it, and with where it is from.
#include "report/hardware/hardware.h"

#include <fmt/format.h>

#include <array>

#include "base/text.h"
#include "report/predict/cells.h"

namespace opscope {
namespace {

std::string float32_text(const RooflineSummary& roofline) {
  if (roofline.peak->dtype != "tf32" && roofline.peak->dtype != "float32") return "";
  return fmt::format(" (--float32 {})", name(roofline.float32));
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

// With all figures and sources.
void write_device(JsonWriter& json, const Device& device) {
  json.fields("id", device.id, "name", device.name, "kind", device.kind, "vendor", device.vendor);
  json.field("architecture", device.architecture);
  json.list("aliases", device.aliases);
  json.list("reported_as", device.reported_as);
  json.field("note", device.note);
  if (device.cores) json.field("cores", device.cores);
  if (device.compute_capability) write_figure(json, "compute_capability", device.compute_capability);
  if (device.processors) write_figure(json, "processors", device.processors);
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

// "989.5" of "989.5 TFLOP/s", in TFLOP/s whatever the file's unit.
std::string tera(const Peak* peak) {
  return peak == nullptr ? "-" : fmt::format("{:.4g}", peak->rate.value * 1e-12);
}

const Peak* half_of(const Device& device) {
  const Peak* peak = device.peak(Units::kMatrix, "float16");
  return peak != nullptr ? peak : device.peak(Units::kMatrix, "bfloat16");
}

// FLOPs per byte of the fastest products in half precision, else of float32.
double ridge_of(const Device& device) {
  const Peak* peak = half_of(device);
  if (peak == nullptr) peak = device.peak(Units::kVector, "float32");
  return peak->rate.value / device.memory_bandwidth.value;
}

Document list_document(std::span<const DevicePointer> devices) {
  const auto peak = [](Units units, const char* dtype) {
    return [=](const DevicePointer& device) { return tera(device->peak(units, dtype)); };
  };
  const Columns<DevicePointer> columns{
      {words("Device").strong(), [](const DevicePointer& d) { return d->id; }},
      {words("Name", 18), [](const DevicePointer& d) { return d->name; }},
      {number("fp32"), peak(Units::kVector, "float32")},
      {number("tf32"), peak(Units::kMatrix, "tf32")},
      {number("fp16"), [](const DevicePointer& d) { return tera(half_of(*d)); }},
      {number("fp8"), peak(Units::kMatrix, "float8")},
      {number("int8"), peak(Units::kMatrix, "int8")},
      {number("Bandwidth"), [](const DevicePointer& d) { return d->memory_bandwidth.text; }},
      {number("Memory"), [](const DevicePointer& d) { return d->memory_size ? d->memory_size->text : "-"; }},
      {number("Ridge fp16", Unit::kRatio).or_not(), [](const DevicePointer& d) { return ridge_of(*d); }}};
  Section section{"Devices", table_of(columns, devices)};
  section.remarks = {
      "fp32: vector units; tf32 and the others: matrix units (tensor cores, AMX); fp16 or bf16",
      "`opscope devices NAME` shows every figure and its source; --hardware also takes your own .toml file"};
  return {{{fmt::format("{} devices", devices.size()), Style::kStrong}, "peaks in TFLOP/s, dense"},
          {},
          {std::move(section)}};
}

struct FigureRow {
  const Device* device;
  std::string what;
  const Figure* figure;
};

std::vector<FigureRow> figures_of(const Device& device) {
  std::vector<FigureRow> rows;
  const auto add = [&](std::string what, const std::optional<Figure>& figure) {
    if (figure) rows.push_back({&device, std::move(what), &*figure});
  };
  for (const Peak& peak : device.peaks)
    rows.push_back({&device, fmt::format("{} {}", peak.dtype, name(peak.units)), &peak.rate});
  rows.push_back({&device, "memory bandwidth", &device.memory_bandwidth});
  add("memory size", device.memory_size);
  for (const DeviceCache& cache : device.caches)
    add(cache.level + " size", cache.size), add(cache.level + " bandwidth", cache.bandwidth);
  add("compute capability", device.compute_capability);
  add("processors", device.processors);
  add("launch overhead", device.launch_overhead);
  add("power limit", device.power_limit);
  return rows;
}

// A row per figure, so that one device and all have the same columns. The ridge of each peak is what it
// divides by the bandwidth.
Columns<FigureRow> figure_columns() {
  using Row = const FigureRow&;
  return {{"device", [](Row row) { return row.device->id; }},
          {keyed("figure", words("Figure")), &FigureRow::what},
          {"value", [](Row row) { return row.figure->value; }},
          {keyed("text", number("Value").strong()), [](Row row) { return row.figure->text; }},
          {number("Ridge", Unit::kRatio),
           [](Row row) {
             const bool rate = row.what.ends_with("matrix") || row.what.ends_with("vector");
             return rate ? Cell(row.figure->value / row.device->memory_bandwidth.value, Style::kQuiet)
                         : Cell();
           }},
          {"source", [](Row row) { return row.figure->source; }},
          {words("Source", 24).quiet(),
           [](Row row) { return row.figure->source.empty() ? "not said" : row.figure->source; }}};
}

Document one_document(const Device& device) {
  Document document{{{device.id, Style::kStrong}, device.name}};
  if (!device.vendor.empty()) document.header.push_back(device.vendor + " " + device.architecture);
  if (device.cores) document.header.push_back(plural(device.cores, "core"));
  std::vector<std::string> names = device.aliases;
  names.insert(names.end(), device.reported_as.begin(), device.reported_as.end());
  if (!names.empty()) document.header.push_back("also called " + join(names));
  if (!device.note.empty()) document.notes.push_back(device.note);
  Section section{"Figures", table_of(figure_columns(), figures_of(device))};
  for (const auto& [key, title] : device.sources) section.remarks.push_back(key + ": " + title);
  document.sections.push_back(std::move(section));
  return document;
}

void write_devices(JsonWriter& json, std::span<const DevicePointer> devices) {
  json.begin_object();
  json.field("schema_version", kSchemaVersion);
  json.objects(
      "devices", devices, [&](const DevicePointer& device) { write_device(json, *device); },
      JsonLayout::kLines);
}

}  // namespace

std::string roofline_text(const Metrics& metrics) {
  const bool tiny = metrics.roofline_time && metrics.roofline_time < Count{500};
  std::string text = tiny ? "<1 ns" : format_time(metrics.roofline_seconds(), Zero::kDash);
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
          {in_json("roofline_unknown_ops"), unknown},
          {{.key = before + "bound"}, bound_word}};
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
  section.add("Roofline", roofline_text(profile.totals),
              fmt::format("sum over ops: {} compute-bound, {} memory-bound",
                          format_percent(found.compute_share, 1.0), format_percent(found.memory_share, 1.0)));
  const FusedRoofline& fused = profile.fused_roofline();
  const std::string time = format_time(static_cast<double>(fused.time) * kPicosecond, Zero::kDash);
  section.add("  as subgraphs", (fused.unknown ? "≥" : "") + time, fused_text(profile, found));
  if (device.launch_overhead)
    section.add("  launches", format_time(roofline.launch_seconds() * static_cast<double>(roofline.kernels)),
                fmt::format("{} kernel launches, {} each", roofline.kernels, device.launch_overhead->text));
  if (is_predicted(profile)) {
    section.add("Predicted", predicted_text(profile.totals),
                predicted_range_text(profile, profile.totals) + " (p10 to p90)");
    add_prediction(section, profile);
  }
  section.add("Memory",
              {device.memory_size ? device.memory_size->text : "-",
               found.fits == false ? Style::kWarning : Style::kStrong},
              fits_text(profile));
  for (const std::string& finding : found.findings) section.remarks.push_back("- " + finding);
  if (is_predicted(profile))
    for (const std::string& note : prediction_notes(profile.predicted))
      section.remarks.push_back("- " + note);
  if (!device.note.empty()) section.remarks.push_back("- of this device: " + device.note);
  return section;
}

void write_hardware(JsonWriter& json, const Profile& profile) {
  const RooflineSummary& roofline = profile.roofline;
  const Affinity found = affinity(profile);
  json.object("hardware", [&] {
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
    if (is_predicted(profile)) write_prediction(json, profile);
    json.list("findings", found.findings);
  });
}

std::string devices_report(std::span<const DevicePointer> devices, Format format,
                           const TextOptions& options) {
  const auto rows = [&] {
    std::vector<FigureRow> all;
    for (const DevicePointer& device : devices)
      for (FigureRow& row : figures_of(*device)) all.push_back(std::move(row));
    return table_of(figure_columns(), all, In::kCsv);
  };
  return to_format(
      Report{[&](JsonWriter& json) { write_devices(json, devices); }, rows,
             [&] { return devices.size() == 1 ? one_document(*devices.front()) : list_document(devices); }},
      format, options);
}

}  // namespace opscope
