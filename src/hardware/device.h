// A device that models run on: what it can do at best, each figure with where it is from. Figures that nobody
// published are not there.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/cuda_device.h"
#include "graph/measurement.h"

namespace opscope {

struct Figure {
  double value = 0;    // FLOP/s, bytes/s, bytes, seconds, W
  std::string text;    // as the file has it: "4.8 TB/s"
  std::string source;  // "datasheet: GPU Memory Bandwidth"; empty where a user's file does not say
};

// Matrix units multiply matrices and nothing else: tensor cores, AMX. Their rates are dense, without
// sparsity.
enum class Units : std::uint8_t { kMatrix, kVector };
std::string_view name(Units units);  // "matrix", "vector"

// What peaks are listed for. "tf32" is float32 data with products of 19 bits, in matrix units only.
inline constexpr std::array<std::string_view, 10> kPeakNames{
    "float64", "float32", "tf32", "float16", "bfloat16", "float8", "float4", "int8", "int4", "int32"};

struct Peak {
  Units units = Units::kVector;
  std::string dtype;  // "float16", "tf32", "int8": see kPeakNames
  Figure rate;        // two FLOPs a multiply-add
};

struct DeviceCache {
  std::string level;  // "L2"
  std::optional<Figure> size, bandwidth;
};

struct Device {
  std::string id;    // "h200"
  std::string name;  // "NVIDIA H200 SXM 141GB"
  std::string kind;  // "gpu" or "cpu"
  std::string vendor, architecture, note;
  std::vector<std::string> aliases;                      // what people call it: "a100"
  std::vector<std::string> reported_as;                  // what PyTorch or the system call it: "NVIDIA H200"
  std::string file;                                      // of the user; empty for one that opscope knows
  std::uint32_t cores = 0;                               // of a CPU; 0: not said
  std::optional<Figure> compute_capability, processors;  // of a CUDA device: "8.0", "108"
  Figure memory_bandwidth;
  std::optional<Figure> memory_size;
  std::vector<Peak> peaks;
  std::vector<DeviceCache> caches;
  std::optional<Figure> launch_overhead;  // from one kernel to the next, at best
  std::optional<Figure> power_limit;
  std::vector<std::pair<std::string, std::string>> sources;  // "datasheet", its title

  // nullptr where the device has no such units for it, or nobody says how fast they are.
  const Peak* peak(Units units, std::string_view dtype) const;
  // nullopt where its file does not say both.
  std::optional<CudaDevice> cuda() const;
};

// A device's TOML file, checked: every key is known, every quantity has a unit of its kind.

// Throws Error naming the line. `name`: the file, for errors.
Device read_device(std::string_view text, const std::string& name);

// The plain part of TOML that device files are written in: tables, and keys whose values are strings, plain
// numbers, lists of these or inline tables. Quantities are strings with their unit. What this reads, any TOML
// reader reads the same; what it does not, it refuses. Here because the engine builds without a TOML library.
struct TomlItem {
  std::string path;                 // "memory.bandwidth.value"
  std::vector<std::string> values;  // one, unless is_list
  bool is_list = false;
  int line = 0;
};

// Items in the file's order. Throws Error with "name:line" as its place.
std::vector<TomlItem> read_plain_toml(std::string_view text, const std::string& name);

// The devices that opscope knows, built into it from data/hardware, and how one is found: by its name, by
// what PyTorch or the system call it, or in a file of the user's.

using DevicePointer = std::shared_ptr<const Device>;

// GPUs first, then CPUs; by peak in half precision, then by id.
std::span<const DevicePointer> known_devices();

// An id, alias or full name, without regard to case, spaces and dashes; nullptr where there is none.
DevicePointer find_device(std::string_view name);
// The same, or a file of the user's (what ends in .toml or has a slash); throws Error with the nearest names.
DevicePointer load_device(const std::string& name_or_file, const std::string& flag = "--hardware");

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
