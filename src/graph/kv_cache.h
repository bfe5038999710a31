// What a language model keeps for its next token, layer by layer, as its own cache object says after a
// prefill: which layers grow, how far, and by how many bytes a token. Without this the tensors of a capture
// tell what is held at one context length only. How much is held at another: cost/kv_cache.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.h"

namespace opscope {

enum class KvKind : std::uint8_t {
  kFull,     // grows with every token
  kSliding,  // grows until its window is full
  kState,    // of one size: recurrent and convolution states
};

struct KvLayer {
  KvKind kind = KvKind::kFull;
  DType dtype = DType::kUndefined;  // as it is stored
  // Of one token of one sequence: `heads` keys of `key_width` elements, and values of `value_width`.
  std::int64_t heads = 0, key_width = 0, value_width = 0;
  std::int64_t window = 0;            // kSliding: tokens that a query sees, its own included
  std::uint64_t bytes_per_token = 0;  // of one sequence: keys, values, their scales, an indexer's keys
  std::uint64_t state_bytes = 0;      // of one sequence at any length: states, an encoder's keys and values
  std::uint64_t shared_bytes = 0;     // of all sequences together: the scale of a whole tensor
  friend bool operator==(const KvLayer&, const KvLayer&) = default;
};

// Multi-head latent attention, which keeps one vector for all heads of a token and expands it to keys and
// values: by the names of the configs of DeepSeek's models.
struct LatentAttention {
  std::int64_t layers = 0, heads = 0;
  std::int64_t kv_lora_rank = 0, qk_rope_head_dim = 0, qk_nope_head_dim = 0, v_head_dim = 0;
  bool empty() const { return layers == 0; }
  friend bool operator==(const LatentAttention&, const LatentAttention&) = default;
};

struct KvCache {
  std::string type;             // the class: "DynamicCache", "StaticCache"
  std::int64_t batch = 0;       // sequences
  std::int64_t past_len = 0;    // tokens of each in the cache before the step
  std::int64_t capacity = 0;    // tokens of each that it has room for; 0: it grows
  std::int64_t block = 1;       // tokens that are allocated together
  std::vector<KvLayer> layers;  // those that keep something
  LatentAttention latent;
  bool empty() const { return layers.empty(); }
  friend bool operator==(const KvCache&, const KvCache&) = default;
};

inline constexpr std::array<std::string_view, 3> kKvKinds{"full", "sliding", "state"};
constexpr std::string_view name(KvKind kind) { return kKvKinds[static_cast<std::size_t>(kind)]; }

}  // namespace opscope
