// A captured prefill or decode step as a server runs it: fused subgraphs are one kernel each, a KV cache is
// written in place, attention is one kernel, and multi-head latent attention is absorbed in decode steps.
// What eager PyTorch does in their place is kept beside it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/profile/profile.h"
#include "cost/cost.h"
#include "cost/liveness.h"
#include "graph/graph.h"
#include "hardware/roofline.h"

namespace opscope {

enum class LlmPhase : std::uint8_t { kPrefill, kDecode };
std::string_view name(LlmPhase phase);  // "prefill", "decode"

// Arithmetic of one kind of units and one type.
struct KernelWork {
  Category category = Category::kCustom;
  DType dtype = DType::kUndefined;
  Work work{};
};

struct ServedKernel {
  std::vector<KernelWork> work{};
  Traffic traffic{};
  Count flops{};
  Confidence confidence = Confidence::kExact;

  // Adds arithmetic; of a kind that is there already, to it.
  void add(Category category, DType dtype, const Work& more);
};
RooflineTime roofline_time(const Device& device, const ServedKernel& kernel, Float32 float32);

// Sums over kernels.
struct StepCosts {
  std::vector<ServedKernel> kernels{};
  Work work{};
  Count flops{};
  Traffic traffic{};
  Confidence confidence = Confidence::kExact;

  void add(ServedKernel kernel);
  Count bytes() const { return traffic.total(); }
  double arithmetic_intensity() const { return ratio(flops, bytes()); }
};

// How long a step is predicted to take on one device.
struct PredictedStep {
  double seconds = 0, device_seconds = 0, host_seconds = 0;
  double own_spread = 0, run_spread = 0;  // see PredictedRun
  std::uint64_t unknown_ops = 0;          // are not in it
  RunMode mode = RunMode::kGraph;
  std::vector<std::string> notes{};  // what it rests on
};

struct ServedStep {
  LlmPhase phase = LlmPhase::kDecode;
  std::int64_t batch = 1, tokens = 0;      // of the prompt; in the cache before the step
  StepCosts served{}, eager{};             // eager: op by op, as captured
  std::vector<PredictedStep> predicted{};  // by device: as served, in eager mode as captured
  Count cache_bytes{};                     // keys and values that it leaves
  std::vector<MemorySplit> memory{};       // in use at each moment, as served
  MemorySplit at_peak{}, eager_peak{};
  bool is_absorbed = false;  // latent attention, in its absorbed form
  bool is_fused = false;     // attention that eager runs as products and a softmax

  Count peak() const { return at_peak.total(); }
};
// `devices`: each with its hardware.
ServedStep served_step(const Graph& graph, LlmPhase phase, std::int64_t batch, std::int64_t tokens,
                       const Routing& routing = {}, std::span<const ProfileOptions> devices = {});

// Multi-head latent attention of one layer in a decode step. Letters as in DeepSeek-V2's paper: H heads; n
// and r wide queries and keys, without and with rotation; v wide values; a latent c wide.
struct AbsorbedAttention {
  Count batch = 1, queries = 1, context = 1;  // context: tokens in the cache with the new ones
  Count heads = 1, nope = 0, rope = 0, value = 0, latent = 0;
  Count weight_bytes{};  // of W_UK and W_UV together, as they are stored
  DType activations = DType::kBFloat16, cache = DType::kBFloat16;  // their types
};
// The absorbed form: queries are multiplied by W_UK, attend to the latent itself as one key and value that
// all heads share, and W_UV makes values of what they gather. See docs/llm.md for the formula.
std::vector<ServedKernel> absorbed_kernels(const AbsorbedAttention& a);

}  // namespace opscope
