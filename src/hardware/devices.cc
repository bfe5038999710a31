// Finding devices. A built-in file is read once, when its device is asked for.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "hardware/device.h"

namespace opscope {
namespace {

double half_peak(const Device& device) {
  for (const Units units : {Units::kMatrix, Units::kVector})
    for (const char* dtype : {"float16", "bfloat16", "float32"})
      if (const Peak* peak = device.peak(units, dtype)) return peak->rate.value;
  return 0;
}

// Read when it is asked for, and once.
const DevicePointer& known_at(std::size_t i) {
  struct Known {
    std::once_flag read;
    DevicePointer device;
  };
  static const auto all = std::make_unique<Known[]>(embedded_devices().size());
  Known& known = all[i];
  std::call_once(known.read, [&] {
    const EmbeddedFile& file = embedded_devices()[i];
    known.device = std::make_shared<const Device>(read_device(file.text, std::string(file.name)));
  });
  return known.device;
}

std::vector<DevicePointer> read_known() {
  std::vector<DevicePointer> devices;
  for (std::size_t i = 0; i < embedded_devices().size(); ++i) devices.push_back(known_at(i));
  std::ranges::sort(devices, {}, [](const DevicePointer& device) {
    return std::tuple(device->kind == "cpu", -half_peak(*device), std::string_view(device->id));
  });
  return devices;
}

// "NVIDIA H100 PCIe" and "nvidia-h100_pcie" are one name.
std::string plain(std::string_view name) {
  std::string text = lower_case(name);
  std::erase_if(text, [](char c) { return c == ' ' || c == '-' || c == '_'; });
  return text;
}

bool is_called(const Device& device, const std::string& name) {
  const auto same = [&](const std::string& other) { return plain(other) == name; };
  return same(device.id) || same(device.name) || std::ranges::any_of(device.aliases, same) ||
         std::ranges::any_of(device.reported_as, same);
}

}  // namespace

std::span<const DevicePointer> known_devices() {
  static const std::vector<DevicePointer> devices = read_known();
  return devices;
}

DevicePointer find_device(std::string_view name) {
  const std::string wanted = plain(name);
  if (wanted.empty()) return nullptr;
  // Most are asked for by what their files are called: no other has to be read.
  for (std::size_t i = 0; i < embedded_devices().size(); ++i)
    if (plain(embedded_devices()[i].name) == wanted + ".toml" && is_called(*known_at(i), wanted))
      return known_at(i);
  for (const DevicePointer& device : known_devices())
    if (is_called(*device, wanted)) return device;
  return nullptr;
}

DevicePointer load_device(const std::string& name_or_file, const std::string& flag) {
  if (name_or_file.find('/') != std::string::npos || name_or_file.ends_with(".toml")) {
    Device device = read_device(read_file(name_or_file), name_or_file);
    device.file = name_or_file;
    return std::make_shared<const Device>(std::move(device));
  }
  if (DevicePointer device = find_device(name_or_file)) return device;
  std::vector<std::string> names;
  for (const DevicePointer& device : known_devices()) {
    names.push_back(device->id);
    names.insert(names.end(), device->aliases.begin(), device->aliases.end());
  }
  throw Error(
      "no such device: '" + name_or_file + "'", flag,
      did_you_mean(name_or_file, names, "`opscope devices` lists them; a file of your own ends in .toml"));
}

Device with_cores(const Device& device, std::uint32_t cores) {
  Device part = device;
  if (cores == 0 || cores >= device.cores) return part;
  part.name += fmt::format(", {} of {} cores", cores, device.cores);
  part.cores = cores;
  for (Peak& peak : part.peaks) {
    peak.rate.value *= static_cast<double>(cores) / device.cores;
    peak.rate.source += fmt::format(" (x {} / {})", cores, device.cores);
    const bool whole_numbers = peak.dtype.starts_with("int");
    peak.rate.text = fmt::format("{:.4g} {}", peak.rate.value * 1e-12, whole_numbers ? "TOP/s" : "TFLOP/s");
  }
  return part;
}

DevicePointer measured_device(const Environment& environment) {
  DevicePointer device = find_device(environment.device_name);
  if (device && device->kind == "cpu" && environment.threads > 0 && environment.threads < device->cores)
    return std::make_shared<const Device>(with_cores(*device, environment.threads));
  return device;
}

}  // namespace opscope
