// The devices that are known: a line each, or all that is known of one.
#include <fmt/format.h>

#include "base/text.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

// "989.5" of "989.5 TFLOP/s", in TFLOP/s whatever the file's unit.
std::string tera(const Peak* peak) {
  return peak == nullptr ? "-" : fmt::format("{:.4g}", peak->rate.value * 1e-12);
}

std::string half_of(const Device& device) {
  const Peak* peak = device.peak(Units::kMatrix, "float16");
  return tera(peak != nullptr ? peak : device.peak(Units::kMatrix, "bfloat16"));
}

// FLOPs per byte of the fastest products in half precision, else of float32.
double ridge_of(const Device& device) {
  const Peak* peak = device.peak(Units::kMatrix, "float16");
  if (peak == nullptr) peak = device.peak(Units::kMatrix, "bfloat16");
  if (peak == nullptr) peak = device.peak(Units::kVector, "float32");
  return peak->rate.value / device.memory_bandwidth.value;
}

Document list_document(std::span<const DevicePointer> devices) {
  const auto peak = [](Units units, const char* dtype) {
    return [=](const DevicePointer& device) { return tera(device->peak(units, dtype)); };
  };
  const Columns<DevicePointer> columns{
      {words("Device"), [](const DevicePointer& d) { return Cell(d->id, Style::kStrong); }},
      {words("Name", 18), [](const DevicePointer& d) { return d->name; }},
      {number("fp32"), peak(Units::kVector, "float32")},
      {number("tf32"), peak(Units::kMatrix, "tf32")},
      {number("fp16"), [](const DevicePointer& d) { return half_of(*d); }},
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
  for (const Peak& peak : device.peaks)
    rows.push_back({&device, peak.dtype + " " + std::string(name(peak.units)), &peak.rate});
  rows.push_back({&device, "memory bandwidth", &device.memory_bandwidth});
  if (device.memory_size) rows.push_back({&device, "memory size", &*device.memory_size});
  for (const DeviceCache& cache : device.caches) {
    if (cache.size) rows.push_back({&device, cache.level + " size", &*cache.size});
    if (cache.bandwidth) rows.push_back({&device, cache.level + " bandwidth", &*cache.bandwidth});
  }
  if (device.launch_overhead) rows.push_back({&device, "launch overhead", &*device.launch_overhead});
  if (device.power_limit) rows.push_back({&device, "power limit", &*device.power_limit});
  return rows;
}

// A row per figure, so that one device and all have the same columns. The ridge of each peak is what it
// divides by the bandwidth.
Columns<FigureRow> figure_columns() {
  return {{"device", [](const FigureRow& row) { return row.device->id; }},
          {keyed("figure", words("Figure")), [](const FigureRow& row) { return row.what; }},
          {"value", [](const FigureRow& row) { return row.figure->value; }},
          {keyed("text", number("Value")),
           [](const FigureRow& row) { return Cell(row.figure->text, Style::kStrong); }},
          {number("Ridge", Unit::kRatio),
           [](const FigureRow& row) -> Cell {
             const bool rate = row.what.ends_with("matrix") || row.what.ends_with("vector");
             if (!rate) return {};
             return {row.figure->value / row.device->memory_bandwidth.value, Style::kQuiet};
           }},
          {"source", [](const FigureRow& row) { return row.figure->source; }},
          {words("Source", 24), [](const FigureRow& row) {
             const std::string& source = row.figure->source;
             return Cell(source.empty() ? "not said" : source, Style::kQuiet);
           }}};
}

std::string names_text(const Device& device) {
  std::string text;
  for (const auto* list : {&device.aliases, &device.reported_as})
    for (const std::string& name : *list) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Document one_document(const Device& device) {
  Document document{{{device.id, Style::kStrong}, device.name}};
  if (!device.vendor.empty()) document.header.push_back(device.vendor + " " + device.architecture);
  if (device.cores) document.header.push_back(plural(device.cores, "core"));
  if (const std::string names = names_text(device); !names.empty())
    document.header.push_back("also called " + names);
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
