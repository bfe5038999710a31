// What a graph's ops really took, on one machine: raw samples of every run, and the runs without the clock
// beside them. Statistics are made of them later; nothing is thrown away here, outliers least of all.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/text.h"

namespace opscope {

using Nanoseconds = std::uint64_t;
inline double seconds(Nanoseconds time) { return static_cast<double>(time) * kNanosecond; }
inline constexpr Nanoseconds kUnmeasured = std::numeric_limits<Nanoseconds>::max();

// Where and how it was measured. What could not be read is empty or 0.
struct Environment {
  std::string device;       // "cpu", "cuda:0"
  std::string device_name;  // "NVIDIA H200", "Intel(R) Xeon(R) Platinum 8481C"
  std::string host;         // the processor's name
  std::string system;       // "Linux 6.1.0"
  std::string torch;        // version
  std::string runtime;      // "CUDA 13.0", "" on the CPU
  std::string driver;
  std::string precision;  // of float32 products: "highest", "high", "medium"
  std::string dtype;      // of the weights: "float32"
  std::uint32_t threads = 0;
  std::uint64_t memory_bytes = 0;                          // of the device
  std::vector<std::pair<std::string, double>> clocks_mhz;  // "graphics before", "graphics after", "memory"
};

// Ops that a run had and the graph has not, or the other way round.
struct UnmatchedOp {
  std::string op;
  std::uint64_t count = 0;
  Nanoseconds total = 0;  // on the host's clock
};

// A line of the user's code that ran while no op did, in one run that was followed line by line. Shares of
// `outside`: following makes Python slower.
struct OutsideLine {
  std::uint32_t scope = 0;       // in which
  std::uint32_t after = kNoOp;   // the op before it, where it took longest; kNoOp: none
  std::uint32_t before = kNoOp;  // and the op that came then
  std::string source;            // "/home/me/model.py:42"; "": none of the user's
  bool waits = false;            // it waits for the device by itself: torch.cuda.synchronize()
  std::uint64_t count = 0;       // between how many pairs of ops
  Nanoseconds time = 0;

  static constexpr std::uint32_t kNoOp = std::numeric_limits<std::uint32_t>::max();
};

// Samples are by op (or scope) and then by run: sample(host, op, run) = host[op * runs + run].
struct Measurement {
  Environment environment;
  std::uint32_t warmup = 0;
  std::uint32_t runs = 0;  // with every op timed; as many without
  bool on_device = false;  // device times are there; else ops took what they took on the host

  // Whole runs, from the call until all its work was done, without the clock in between and with it.
  std::vector<Nanoseconds> plain, timed;
  // The same on the device's clock, from the first thing that it was given to the last.
  std::vector<Nanoseconds> plain_device, timed_device;
  // What the clock shows around nothing: a part of every device (else host) sample.
  Nanoseconds empty_interval = 0;

  std::vector<Nanoseconds> host;      // by op: from its call until that returned
  std::vector<Nanoseconds> device;    // by op: between its two marks there; 0: it gives the device nothing
  std::vector<Nanoseconds> scopes;    // by scope: host time of the module's call
  std::vector<Nanoseconds> outside;   // by scope: host time in it and in none below it, while no op ran
  std::vector<OutsideLine> lines;     // of that, by what took longest; empty where lines were not followed
  std::vector<Nanoseconds> repeated;  // by op: alone, over and over, median; kUnmeasured: not tried. Or empty

  // One run as it went, the one whose time is the median: offsets from its start.
  std::uint32_t typical = 0;
  std::vector<Nanoseconds> host_begin, device_begin;  // by op
  std::vector<Nanoseconds> scope_begin;               // by scope

  std::vector<UnmatchedOp> unmatched;
  std::uint64_t peak_memory_bytes = 0;  // of a run, with what was there before it; 0: not measured
  std::uint64_t base_memory_bytes = 0;  // what was there before it

  bool empty() const { return runs == 0; }
  // One op's or scope's samples.
  static std::span<const Nanoseconds> samples(const std::vector<Nanoseconds>& of, std::size_t id,
                                              std::size_t runs) {
    return std::span(of).subspan(id * runs, runs);
  }
  // What an op's time is taken from: the device's clock where there is one.
  const std::vector<Nanoseconds>& op_samples() const { return on_device ? device : host; }
};

// What one op took, alone and over and over: the statistics of batches of repetitions, each batch's time
// shared out over its repetitions.
struct OpTime {
  double median_ns = 0, mean_ns = 0, deviation_ns = 0, minimum_ns = 0;
  std::uint64_t batches = 0;
  std::uint64_t repetitions = 0;  // in all batches together
  double host_ns = 0;             // on a device: to call it, at best. Not kept in the file of op times
  bool waited = false;            // on a device: it had nothing to do in between, and that is counted
};

// A graph's measurement -> its part of the capture's JSON; readers/capture/capture_reader.h is the
// inverse.
void write_json(JsonWriter& json, const Measurement& measurement);  // one object

}  // namespace opscope
