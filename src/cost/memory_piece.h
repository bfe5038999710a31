// What a run holds, and what for: a storage, or a value of a file that tells no storages.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/count.h"
#include "graph/graph.h"

namespace opscope {

enum class MemoryKind : std::uint8_t {
  kWeights,  // parameters, buffers and constants
  kInputs,
  kActivations,
  kWorkspace,  // what ops need while they run and do not give
  kKvCache,    // keys and values that a language model keeps for its next token
  kGradients,
  kOptimizerState,
};
inline constexpr std::size_t kMemoryKinds = 7;
std::string_view name(MemoryKind kind);  // "weights", "kv_cache"
// True for the names that captures give to what a language model keeps for its next token:
// "past_key_values.layers[0].keys", "cache_params.conv_states[3]".
bool names_cache(std::string_view value_name);

struct MemorySplit {
  std::array<Count, kMemoryKinds> bytes{};  // by kind
  Count& operator[](MemoryKind kind) { return bytes[static_cast<std::size_t>(kind)]; }
  Count operator[](MemoryKind kind) const { return bytes[static_cast<std::size_t>(kind)]; }
  Count total() const;
  friend bool operator==(const MemorySplit&, const MemorySplit&) = default;
};

// A storage, or a value of a file that tells no storages. It is held for its lifetime, where the capture
// tells it. Otherwise from the op that makes it to the last op that reads or writes it or any view of it, so
// that a result which nothing reads is gone after its op. Inputs are then held from the first op to the last
// one that reads them; what the model returns, gradients and an optimiser's state stay to the end.
struct MemoryPiece {
  Count bytes{};
  ValueId value = kNone;  // that says best what it is: one with a name, or the first in it
  MemoryKind kind = MemoryKind::kActivations;
  bool in_use = false;    // false: nothing holds it during the run
  bool returned = false;  // it is the model's result, or behind it
  Lifetime held{};        // weights: from before the first op to after the last
  OpId last_use = kNone;  // the last op that reads or writes it or a view of it; kNone: none does

  OpId first_op() const { return held.made == kNone ? 0 : held.made; }
  OpId last_op(std::size_t ops) const {
    return held.freed == kNone ? static_cast<OpId>(ops) - 1 : held.freed;
  }
};

}  // namespace opscope
