// What a device was found to do, and how that is written down: the ops that were timed on it, the rates of
// each family of ops that follow from them, and what its host takes. A TOML file of plain keys; see
// docs/predict.md.
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

#include "hardware/device.h"
#include "hardware/predict/features.h"
#include "hardware/predict/measured_line.h"
#include "hardware/predict/predicted_run.h"

namespace opscope {

inline constexpr int kCalibrationVersion = 1;

// max(FLOPs / flop_rate, bytes / byte_rate) + steps / step_rate + seconds, for the ops of one group of a
// family in one dtype, and how far from that they are.
struct FamilyRates {
  OpFamily family = OpFamily::kOther;
  DType dtype = DType::kUndefined;
  OpGroup group = OpGroup::kPlain;
  double flop_rate = 0, byte_rate = 0;     // 0: no limit is known
  double step_rate = 0;                    // 0: steps take no time
  double seconds = 0;                      // of the smallest
  double spread = 0;                       // standard deviation of the logarithm of measured / this
  std::uint32_t points = 0;                // measured ops that it rests on; 0: it was fitted on whole runs
  double error_median = 0, error_p90 = 0;  // of ops left out of the fit, in turn
  std::string source{};                    // where it is from, if not measured here
};

// How far measured ops of a family speak for others: what each of their features weighs.
struct Likeness {
  OpFamily family = OpFamily::kOther;
  std::array<double, OpFeatures::kSizes> sizes{};
  std::array<double, OpFeatures::kKinds> kinds{};
  double op = 1;        // another op
  double width = 1;     // numbers of another width
  double dtype = 0.01;  // as wide, but another
  double spread = 0;    // standard deviation of what is told: the logarithm of measured / by the rates
  double noise = 0.01;  // of that, between ops of the same features
  double trees =
      0;  // standard deviation of what the family's trees tell of an op that they did not see; 0: none
  double both = 1;  // of what neighbours and trees tell together, against what follows from theirs
};

// What a host takes beside the ops themselves.
struct HostCosts {
  double op = 0;           // Python's call of an op, without what its dispatch takes
  double module_call = 0;  // of a module, without what is in it
  double dispatch = 0;     // of an op that was not timed
  double view = 0;         // of one that does no work
  double slice = 0;        // of a view that indexing makes: several come of one call; 0: as other views
  double gradient = 0;     // autograd's part of an op in the forward pass of a training step
  double backward_op = 0;  // autograd's own part of an op in the backward pass
  double backward_view = 0;
  double parameter = 0;    // an optimizer's own part, for each of its parameters
  double launch = 0;       // from the host's call to the start on the device
  double synchronise = 0;  // to wait for the device, where it is idle
  double step = 0;         // of a recurrent layer, to launch its kernels
  // A call of an op, one of a view and one of a module, in a program that only makes such calls: how fast the
  // host is. In a model what is above takes several times as long.
  double pace = 0;
  std::string source{};  // where it is from, if not measured on this host

  bool is_known() const { return op > 0 || dispatch > 0; }
  // By its name in a file; nullptr: there is none such.
  double* find(std::string_view name);
};

// Whole runs beside what was predicted of them: not those that anything was fitted on.
struct RunErrors {
  std::uint32_t count = 0;
  double spread =
      0;  // standard deviation of the logarithm of measured / predicted, by ops that were not measured
  double host_spread = 0;  // the same, of time that the host decides
  double error_median = 0, error_p90 = 0;
  std::string source{};
};

// A family's measured calls and trees as predictions ask for them (measured_ops.h, forest.h): bytes that are
// used where they lie.
struct PackedFamily {
  std::string_view ops, trees;  // "": none
};

struct Calibration {
  std::string device;       // "h200"; or "cpu" and "cuda" of what no table knows
  std::string device_name;  // as the system calls it
  std::string kind;         // "gpu", "cpu"
  std::uint32_t threads = 0;
  std::vector<std::pair<std::string, std::string>>
      facts;  // "torch", "date", "driver", "clocks", in the file's order
  std::vector<FamilyRates> families;
  std::vector<Likeness> likenesses;
  HostCosts host;
  std::array<double, kFamilies> gaps{};  // what an op takes less in a CUDA graph than in a stream
  // To launch an op, in seconds: "conv2d"; where a group of its calls takes another time, beside it
  // "conv2d-bfloat16-depthwise" (host_op).
  std::vector<std::pair<std::string, double>> host_ops;
  RunErrors runs;
  // Of a file, as it is written:
  std::array<std::string, kFamilies> forests;                  // Forest's text; "": none
  std::array<std::vector<std::string_view>, kFamilies> lines;  // of measured calls
  std::unique_ptr<char[]> text;                                // what the lines lie in
  // Of one that comes with opscope, in place of these:
  std::array<PackedFamily, kFamilies> packed;
  std::uint32_t packed_calls = 0;
  std::string file;          // "" for one that comes with opscope
  bool is_measured = false;  // false: from what others published

  std::string_view fact(std::string_view name) const;
  // Of the group; where it has none of its own, of the family.
  const FamilyRates* rates(OpFamily family, DType dtype, OpGroup group = OpGroup::kPlain) const;
  const Likeness* likeness(OpFamily family) const;
  std::size_t measured_calls() const;
  // Of a file. Read when they are asked for: most runs need some of the families.
  std::vector<MeasuredCall> calls(OpFamily family) const;
};

// What a group of an op's calls is called in host_ops.
std::string host_op(std::string_view op, DType dtype, OpGroup group);

// Throws Error naming the line: no calibration, one of a later format, cut off, ...
Calibration read_calibration(std::string_view text, const std::string& name);
std::string write_calibration(const Calibration& calibration, std::span<const MeasuredCall> calls);
bool looks_like_calibration(std::string_view text);

}  // namespace opscope
