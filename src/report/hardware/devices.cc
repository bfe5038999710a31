// The devices that are known: a line each, or all that is known of one.
#include <fmt/format.h>

#include "base/text.h"
#include "report/core/listing.h"
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

std::vector<Cell> row_of(const Device& device) {
  return {{device.id, Style::kStrong},
          {device.name},
          {tera(device.peak(Units::kVector, "float32"))},
          {tera(device.peak(Units::kMatrix, "tf32"))},
          {half_of(device)},
          {tera(device.peak(Units::kMatrix, "float8"))},
          {tera(device.peak(Units::kMatrix, "int8"))},
          {device.memory_bandwidth.text},
          {device.memory_size ? device.memory_size->text : "-"},
          {format_ratio(ridge_of(device))}};
}

Document list_document(std::span<const DevicePointer> devices) {
  Document document{
      {{fmt::format("{} devices", devices.size()), Style::kStrong}, {"peaks in TFLOP/s, dense"}}, {}, {}};
  Section section{"Devices", {{{"Device", Align::kLeft}, {"Name", Align::kLeft, 18}}, {}}, {}};
  for (const char* title : {"fp32", "tf32", "fp16", "fp8", "int8"}) section.table.columns.push_back({title});
  for (const char* title : {"Bandwidth", "Memory"}) section.table.columns.push_back({title});
  section.table.columns.push_back({.title = "Ridge fp16", .optional = true});
  for (const DevicePointer& device : devices) section.table.rows.push_back(row_of(*device));
  section.remarks = {
      "fp32: vector units; tf32 and the others: matrix units (tensor cores, AMX); fp16 or bf16",
      "`opscope devices NAME` shows every figure and its source; --hardware also takes your own .toml file"};
  document.sections.push_back(std::move(section));
  return document;
}

struct Row {
  std::string what;
  const Figure* figure;
};

std::vector<Row> figures_of(const Device& device) {
  std::vector<Row> rows;
  for (const Peak& peak : device.peaks)
    rows.push_back({peak.dtype + " " + std::string(name(peak.units)), &peak.rate});
  rows.push_back({"memory bandwidth", &device.memory_bandwidth});
  if (device.memory_size) rows.push_back({"memory size", &*device.memory_size});
  for (const DeviceCache& cache : device.caches) {
    if (cache.size) rows.push_back({cache.level + " size", &*cache.size});
    if (cache.bandwidth) rows.push_back({cache.level + " bandwidth", &*cache.bandwidth});
  }
  if (device.launch_overhead) rows.push_back({"launch overhead", &*device.launch_overhead});
  if (device.power_limit) rows.push_back({"power limit", &*device.power_limit});
  return rows;
}

// The ridge of each peak is what it divides by the bandwidth.
std::string ridge_text(const Device& device, const Row& row) {
  const bool rate = row.what.ends_with("matrix") || row.what.ends_with("vector");
  return rate ? format_ratio(row.figure->value / device.memory_bandwidth.value) : "";
}

std::string names_text(const Device& device) {
  std::string text;
  for (const auto* list : {&device.aliases, &device.reported_as})
    for (const std::string& name : *list) text += (text.empty() ? "" : ", ") + name;
  return text;
}

Document one_document(const Device& device) {
  Document document{{{device.id, Style::kStrong}, {device.name}}, {}, {}};
  if (!device.vendor.empty()) document.header.push_back({device.vendor + " " + device.architecture});
  if (device.cores) document.header.push_back({plural(device.cores, "core")});
  if (const std::string names = names_text(device); !names.empty())
    document.header.push_back({"also called " + names});
  if (!device.note.empty()) document.notes.push_back(device.note);
  Section section{
      "Figures", {{{"Figure", Align::kLeft}, {"Value"}, {"Ridge"}, {"Source", Align::kLeft, 24}}, {}}, {}};
  for (const Row& row : figures_of(device))
    section.table.rows.push_back(
        {{row.what},
         {row.figure->text, Style::kStrong},
         {ridge_text(device, row), Style::kQuiet},
         {row.figure->source.empty() ? "not said" : row.figure->source, Style::kQuiet}});
  for (const auto& [key, title] : device.sources) section.remarks.push_back(key + ": " + title);
  document.sections.push_back(std::move(section));
  return document;
}

std::string json_text(std::span<const DevicePointer> devices) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.field("schema_version", kSchemaVersion);
  json.key("devices");
  json.begin_array();
  for (const DevicePointer& device : devices) {
    json.begin_object();
    write_device(json, *device);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  return out + "\n";
}

// A row per figure, so that one device and all have the same columns.
std::string csv_text(std::span<const DevicePointer> devices) {
  std::string out = "device,figure,value,text,source\n";
  for (const DevicePointer& device : devices)
    for (const Row& row : figures_of(*device))
      out += fmt::format("{},{},{},{},{}\n", csv_field(device->id), csv_field(row.what), row.figure->value,
                         csv_field(row.figure->text), csv_field(row.figure->source));
  return out;
}

}  // namespace

std::string devices_report(std::span<const DevicePointer> devices, Format format,
                           const TextOptions& options) {
  return in_format(
      format, options, [&] { return json_text(devices); }, [&] { return csv_text(devices); },
      [&] { return devices.size() == 1 ? one_document(*devices.front()) : list_document(devices); });
}

}  // namespace opscope
