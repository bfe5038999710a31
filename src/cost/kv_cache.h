// How many bytes a KV cache holds and a decode step reads, at any context length and batch, from what the
// model's own cache said of its layers (graph/kv_cache.h); and what multi-head latent attention costs when it
// is absorbed, as servers run it, beside expanded, as eager transformers does.
#pragma once

#include <cstdint>
#include <optional>

#include "base/count.h"
#include "graph/kv_cache.h"
#include "ops/op_rule.h"

namespace opscope {

// A context of `tokens` tokens, the newest included, whose keys and values are in the cache.
struct KvDemand {
  std::int64_t tokens = 0, batch = 1;
  std::int64_t block = 1;  // tokens that are allocated together: 16 in a paged cache
};

// Tokens of one sequence that a layer holds: all of them, or the newest that its window sees.
std::int64_t kv_tokens_held(const KvLayer& layer, std::int64_t tokens);
// The same in whole blocks, as they lie from the first token on: a window may begin within a block.
std::int64_t kv_tokens_allocated(const KvLayer& layer, std::int64_t tokens, std::int64_t block);

// What one more token of one sequence adds while no window is full: what model cards state.
Count kv_bytes_per_token(const KvCache& cache);
// What it adds when every window is full: of full attention alone.
Count kv_bytes_per_late_token(const KvCache& cache);
Count kv_bytes_held(const KvCache& cache, const KvDemand& demand);
// What attention reads of it in the step that writes the last of `tokens`, each byte once: what is held but
// for the rest of the last block. The step also writes kv_bytes_per_token a sequence.
Count kv_bytes_read(const KvCache& cache, std::int64_t tokens, std::int64_t batch);

// The most sequences of `tokens` tokens, and the longest context of `batch` sequences, that fit into `bytes`.
// The length is nullopt where any fits: a model of states and full windows grows no more.
std::int64_t largest_kv_batch(const KvCache& cache, Count bytes, std::int64_t tokens, std::int64_t block = 1);
std::optional<std::int64_t> longest_kv_context(const KvCache& cache, Count bytes, std::int64_t batch,
                                               std::int64_t block = 1);

std::int64_t kv_layers(const KvCache& cache, KvKind kind);
// In this many bytes a stored element of another dtype: the cache as if it were held so, with no scales.
KvCache with_kv_dtype(const KvCache& cache, DType dtype);

// MACs of one layer's attention for `queries` new tokens of one sequence, the newest of `tokens`; the
// projections of the model's width are not in it. Queries see all tokens: prefill halves it by its mask.
struct LatentMacs {
  Count expanded;  // the latents of all tokens to keys and values, then attention over heads
  Count absorbed;  // queries to the latents' space, attention over latents, results back to values
};
LatentMacs latent_macs(const LatentAttention& latent, std::int64_t tokens, std::int64_t queries = 1);

}  // namespace opscope
