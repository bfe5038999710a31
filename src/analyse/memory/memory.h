// Memory over time as a person asks about it: what is held at the peak and by whom, how each phase of a
// training step does, and which changes would lower the peak by how much.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "analyse/memory/kv_step.h"
#include "analyse/profile/profile.h"

namespace opscope {

// What a module's ops made that is in use at the peak, and the weights it owns.
struct MemoryOwner {
  ModuleId module = 0;
  std::uint32_t depth = 0;
  Count held{};              // its own and that of all modules below it, weights not
  Count own_held{};          // by its own ops
  Count weights{};           // each storage once, with the first module that owns it
  std::uint32_t pieces = 0;  // how many of the storages are in `held`
};

struct MemoryPhase {
  std::string_view name{};  // "forward"; text of the graph
  OpId begin = 0, end = 0;  // ops of begin..end-1
  OpId peak_op = kNone;     // kNone where it has no ops
  Count peak{};             // weights not
  MemorySplit at_peak{};    // weights included; in a MemoryReport
};

// A change to the model or to the way it is run.
enum class Remedy : std::uint8_t {
  kInPlace,         // a pointwise op writes into the input that dies there
  kFreeEarlier,     // what is held longer than it is used
  kCheckpoint,      // inner activations of a block are computed again in the backward pass
  kFusedAttention,  // scores that are written out
  kLastLogits,      // one position of the result in place of all
  kChunk,           // a block that treats rows alike, on part of them at a time
  kHalfWeights,
  kHalfAll,  // weights and all that the run makes
};
std::string_view name(Remedy remedy);  // "in_place", "free_earlier"

struct MemoryAdvice {
  Remedy remedy = Remedy::kInPlace;
  std::string where{};     // "encoder.layer.*.intermediate"
  std::string change{};    // "let gelu write into its input"
  std::size_t places = 1;  // layers, storages or calls it concerns
  Count saved_bytes{};     // of the peak, by a sweep over the changed run
  Count flops{};           // it costs more
};

struct MemoryReport {
  const Profile* profile = nullptr;  // not owned
  std::vector<MemoryPiece> pieces;
  std::vector<MemorySplit> splits;   // by op, weights included
  std::vector<std::uint32_t> held;   // pieces in use at the peak, weights not; by bytes, the most first
  std::vector<MemoryOwner> owners;   // in tree order, as Profile::modules
  std::vector<MemoryPhase> phases;   // one, "forward", where the capture has none
  std::vector<MemoryAdvice> advice;  // by bytes saved, the most first
  std::optional<KvStep> kv_step;     // of a run that is given a KV cache
  bool is_advised = false;           // advice was asked for
  bool is_training = false;
  bool lifetimes_told = false;  // false: by last use

  const Graph& graph() const { return *profile->graph; }
  const MemoryTimeline& timeline() const { return profile->memory(); }
};

struct MemoryOptions {
  bool advice = true;
};

// Linear in the graph, but for sorting what is held at the peak.
MemoryReport make_memory_report(const Profile& profile, const MemoryOptions& options = {});

// The phases without their splits, for the profile's own reports.
std::vector<MemoryPhase> memory_phases(const Graph& graph, const MemoryTimeline& timeline);

// "encoder.layer.3.attention" -> "encoder.layer.*.attention".
std::string pattern_of(std::string_view layer);
// The layer that an op is in, by name.
std::string_view layer_name(const Profile& profile, OpId op);

}  // namespace opscope
