// Where a measured run's time goes: to which ops, how much of it only to calling them, how much at the
// memory's rate and how much at the arithmetic's, and what would shorten it most. Facts only; the words are
// the report's.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"
#include "analyse/times/host_time.h"
#include "analyse/times/times.h"

namespace opscope {

struct TimeShare {
  std::uint64_t ops = 0;
  double seconds = 0;
};

// The best rates that this model reached, among ops, ops of equal cost together and op types that take a
// noticeable part of the time: what this machine can do with such work, whatever its data sheet says.
struct MeasuredRates {
  double flops_per_second = 0, bytes_per_second = 0;
  std::string flops_name{}, bytes_name{};  // what reached them: "fc", "layers.*.mlp", "relu"; empty: nothing
  double flops_each = 0;                   // of an op that reached the first

  double ridge() const { return bytes_per_second > 0 ? flops_per_second / bytes_per_second : 0; }
  double compute_seconds(const OpCost& cost) const {
    return flops_per_second > 0 ? static_cast<double>(cost.flops) / flops_per_second : 0;
  }
  double memory_seconds(const OpCost& cost) const {
    return bytes_per_second > 0 ? static_cast<double>(cost.traffic.total()) / bytes_per_second : 0;
  }
};
MeasuredRates measured_rates(const Profile& profile);

enum class FindingKind : std::uint8_t {
  kLayers,     // layers of one kind, slower than they need be
  kFusion,     // ops that ride along in another's kernel once fused
  kSmallOps,   // ops that take no longer than calling one does
  kHost,       // a line of the user's code, or a module, that takes long while no op runs
  kIdle,       // time in which no op ran, beside such lines
  kPrecision,  // float32 products that narrower units would do
};
std::string_view name(FindingKind kind);  // "layers", "small_ops"

// Something to look at: the ops it is about, what they take, and what would be left of it at best. No op is
// in two findings, so that what they save can be added.
struct Finding {
  FindingKind kind = FindingKind::kLayers;
  std::string name{};       // "layer1.*.conv*", "conv+batch_norm+relu"; empty for the idle time
  std::uint32_t count = 0;  // layers, subgraphs or ops
  std::vector<OpId> ops{};
  Metrics metrics{};  // of the ops
  double saving_seconds = 0;
  bool memory_limited = false;  // what they could take is given by bytes, not by arithmetic
  std::size_t line = 0;         // kHost: in HostTime::lines
};

struct WhereTimeGoes {
  double seconds = 0;  // of all ops
  double whole = 0;    // of a run without the clock, on the same clock; 0 where it is not known
  double idle = 0;     // of the whole, no op ran
  bool on_device = false;
  MeasuredRates rates;
  // By whether their bytes or their arithmetic would take longer at those rates; calls do neither.
  TimeShare memory_bound, compute_bound, calls;
  std::uint64_t all_ops() const { return memory_bound.ops + compute_bound.ops + calls.ops; }
  // Below a quarter of both rates: limited by neither.
  TimeShare far_from_both;
  // On a device: ops that run shorter than their call takes on the host. Else: that take at most twice as
  // long as one that does nothing.
  TimeShare launch_bound;
  double call_seconds = 0;  // what calling an op takes: the median; 0 where it cannot be told
  HostTime host;
  std::vector<Finding> findings;  // at most five, by what they save
};
WhereTimeGoes where_time_goes(const Profile& profile, const OpTimes& times);

// Ops that were also measured alone, over and over: each distinct one once, beside what its calls took in the
// model.
struct RepeatedOp {
  std::string signature;
  std::vector<OpId> ops;     // its calls
  double alone_seconds = 0;  // of one call
  double time_seconds = 0;   // of all its calls in the model

  double alone_total() const { return alone_seconds * static_cast<double>(ops.size()); }
};

struct RepeatedOps {
  std::vector<RepeatedOp> rows;                // those that take longest in the model first
  std::uint64_t calls = 0;                     // of all rows
  double alone_seconds = 0, time_seconds = 0;  // of all their calls
  std::uint64_t other_calls = 0;               // that do work and have no time alone
  double other_seconds = 0;                    // what these took in the model
  bool empty() const { return rows.empty(); }
};

RepeatedOps repeated_ops(const Profile& profile);

}  // namespace opscope
