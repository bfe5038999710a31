// The devices that opscope knows, built into it from data/hardware, and how one is found: by its name, by
// what PyTorch or the system call it, or in a file of the user's.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/measurement.h"
#include "hardware/device.h"

namespace opscope {

using DevicePointer = std::shared_ptr<const Device>;

// GPUs first, then CPUs; by peak in half precision, then by id.
std::span<const DevicePointer> known_devices();

// An id, alias or full name, without regard to case, spaces and dashes; nullptr where there is none.
DevicePointer find_device(std::string_view name);
// The same, or a file of the user's (what ends in .toml or has a slash); throws Error with the nearest names.
DevicePointer load_device(const std::string& name_or_file, const std::string& flag = "--hardware");
// "h100,l4,my.toml"; throws Error also for one that is there twice.
std::vector<DevicePointer> load_devices(const std::string& names, const std::string& flag = "--hardware");

// The device that something was measured on, a CPU with as many cores as threads ran; nullptr where it is not
// among those known.
DevicePointer measured_device(const Environment& environment);

// A CPU of which only so many cores compute: the peaks shrink with them, memory and caches do not.
Device with_cores(const Device& device, std::uint32_t cores);

// The files of data/hardware, as they were when opscope was built. The build writes what is declared here.
struct EmbeddedFile {
  std::string_view name;  // "h200.toml"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_devices();

}  // namespace opscope
