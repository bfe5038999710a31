#include "hardware/predict/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <tuple>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "hardware/calibrate/machine.h"
#include "hardware/roofline.h"

namespace opscope {
namespace {

Figure reached(double value, std::string text) {
  return {value, std::move(text), "reached in the calibration"};
}

// Of the calibrations in the user's folder, those of this machine: that of a GPU before that of a CPU, then
// the latest. One that cannot be read is no reason to leave out the others.
CalibratedDevice at_hand(const std::string& flag) {
  CalibrationPointer best;
  std::optional<Error> problem;
  const Machine machine = this_machine();
  const auto order = [](const Calibration& each) {
    return std::tuple(each.kind == "gpu", each.fact("date"), each.threads);
  };
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(calibrations_folder(), ignored)) {
    if (entry.path().extension() != ".toml") continue;
    const std::string path = entry.path().string();
    try {
      auto read = std::make_shared<Calibration>(read_calibration(read_file(path), path));
      read->file = path;
      if (const std::string why = not_of(machine, read->kind, read->device_name); !why.empty())
        throw Error(
            "the calibration is of another device, " + read->device_name + ": " + why, path,
            "`opscope calibrate --on cpu` (or --on cuda) makes one; naming the file takes it as it is");
      if (!best || order(*read) > order(*best)) best = std::move(read);
    } catch (const Error& error) {
      if (!problem) problem = error;
    }
  }
  if (best) return {device_of(*best), best};
  if (problem) throw Error(problem->what(), problem->where(), problem->hint());
  throw Error("this machine is not calibrated", flag,
              "`opscope calibrate --on cpu` (or --on cuda) takes a minute, once");
}

CalibratedDevice load_target(const std::string& name, const std::string& flag) {
  if (name == "this") return at_hand(flag);
  if (name.find('/') == std::string::npos && !name.ends_with(".toml"))
    return {load_device(name, flag), nullptr};
  const std::string text = read_file(name);
  if (!looks_like_calibration(text)) return {load_device(name, flag), nullptr};
  auto calibration = std::make_shared<Calibration>(read_calibration(text, name));
  calibration->file = name;
  return {device_of(*calibration), calibration};
}

}  // namespace

std::string calibrations_folder() {
  const std::string cache = cache_folder();
  return cache.empty() ? "" : cache + "/calibrations";
}

DevicePointer device_of(const Calibration& calibration) {
  if (DevicePointer known = find_device(calibration.device)) {
    if (calibration.threads > 0 && calibration.threads < known->cores)
      return std::make_shared<const Device>(with_cores(*known, calibration.threads));
    return known;
  }
  Device device;
  device.id = calibration.device, device.name = calibration.device_name, device.kind = calibration.kind;
  device.cores = calibration.threads, device.file = calibration.file;
  double flops = 0, bytes = 0;
  for (const FamilyRates& rates : calibration.families) {
    if (rates.dtype != DType::kFloat32 || rates.points == 0) continue;
    flops = std::max(flops, rates.flop_rate);
    if (rates.flop_rate == 0 || rates.family == OpFamily::kPointwise)
      bytes = std::max(bytes, rates.byte_rate);
  }
  if (bytes == 0)
    for (const FamilyRates& rates : calibration.families) bytes = std::max(bytes, rates.byte_rate);
  device.peaks.push_back(
      {Units::kVector, "float32", reached(flops, fmt::format("{:.4g} TFLOP/s", flops * 1e-12))});
  device.memory_bandwidth = reached(bytes, fmt::format("{:.4g} GB/s", bytes * 1e-9));
  return std::make_shared<const Device>(std::move(device));
}

std::vector<CalibratedDevice> load_targets(const std::string& names, const std::string& flag) {
  std::vector<CalibratedDevice> targets;
  for (const std::string_view each : split_by(names, ',')) {
    std::string name(each);
    std::erase(name, ' ');
    if (name.empty()) throw Error("a device's name is missing", flag, "for example " + flag + " h100,l4");
    CalibratedDevice target = load_target(name, flag);
    for (const CalibratedDevice& other : targets)
      if (other.device->id == target.device->id && other.calibration == target.calibration)
        throw Error("'" + target.device->id + "' is there twice", flag);
    targets.push_back(std::move(target));
  }
  return targets;
}

}  // namespace opscope
