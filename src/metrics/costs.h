// What a model, or a part of one, costs: what metrics are read from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "cost/cost.h"
#include "cost/liveness.h"

namespace opscope {

// Sums over ops.
struct Metrics {
  Work work;
  Traffic traffic;
  Count flops;
  std::uint64_t ops = 0;
  Confidence confidence = Confidence::kExact;  // the worst of its ops
  Count time{}, roofline_time{};               // picoseconds: see OpCost
  Count compute_bound_time{};                  // of the roofline's: of ops that arithmetic limits
  std::uint64_t roofline_unknown = 0;          // ops whose roofline time is not known, and not in it

  Count memory_bytes() const { return traffic.total(); }
  double arithmetic_intensity() const { return ratio(flops, memory_bytes()); }  // 0 where no byte moves
  double time_seconds() const { return static_cast<double>(time.value()) * kPicosecond; }
  double roofline_seconds() const { return static_cast<double>(roofline_time.value()) * kPicosecond; }
  bool counts() const { return flops || memory_bytes(); }  // does work or moves bytes
  // Calls visit(Count&) for every sum.
  template <class Visit>
  void each_count(Visit visit) {
    for (Count* count :
         {&work.macs, &work.other_flops, &work.specials, &traffic.input_bytes, &traffic.output_bytes,
          &traffic.weight_bytes, &flops, &time, &roofline_time, &compute_bound_time})
      visit(*count);
  }
  // Inline: run several times for each op of every graph. Saturating, so the order of ops is free.
  Metrics& operator+=(const Metrics& other) {
    work += other.work, traffic += other.traffic, flops += other.flops, ops += other.ops;
    time += other.time, roofline_time += other.roofline_time;
    compute_bound_time += other.compute_bound_time, roofline_unknown += other.roofline_unknown;
    confidence = std::max(confidence, other.confidence);
    return *this;
  }
  Metrics& operator+=(const OpCost& cost) {
    work += cost.work, traffic += cost.traffic, flops += cost.flops, ++ops;
    time += cost.time, roofline_time += cost.roofline_time;
    if (cost.compute_bound) compute_bound_time += cost.roofline_time;
    roofline_unknown += !cost.roofline_known;
    confidence = std::max(confidence, cost.confidence);
    return *this;
  }
};

struct Parameters {
  Count total{}, trainable{}, bytes{};  // parameters, each once
  Count buffers{}, buffer_bytes{};      // buffer elements, each once
};

// What only a whole model has; what is not known is not there.
struct ModelCosts {
  std::optional<Count> peak_memory_bytes{};
  std::optional<MemorySplit> at_peak{};
  std::optional<Count> compute_bound_flops{};
  std::optional<Count> attention_flops{}, linear_flops{};
};

// A row that metrics are read from: not owned, and only what is known of it.
struct Costs {
  const Metrics& sums;
  const Parameters* parameters = nullptr;  // nullptr: it has none, as an op type
  const ModelCosts* model = nullptr;       // nullptr: a part of a model
  bool is_measured = false;                // its time was
  bool has_device = false;                 // its roofline is one's
  std::optional<Count> saved_bytes{};      // of a subgraph
};

}  // namespace opscope
