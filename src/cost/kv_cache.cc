#include "cost/kv_cache.h"

#include <algorithm>

namespace opscope {
namespace {

// Bytes of one sequence.
Count bytes_of_sequence(const KvCache& cache, std::int64_t tokens, std::int64_t block) {
  Count sum{};
  for (const KvLayer& layer : cache.layers)
    sum += Count{layer.bytes_per_token} * kv_tokens_allocated(layer, tokens, block) + layer.state_bytes;
  return sum;
}

Count shared_bytes(const KvCache& cache) {
  Count sum{};
  for (const KvLayer& layer : cache.layers) sum += layer.shared_bytes;
  return sum;
}

}  // namespace

std::int64_t kv_tokens_held(const KvLayer& layer, std::int64_t tokens) {
  if (layer.kind == KvKind::kState) return 0;
  return layer.kind == KvKind::kSliding ? std::min(tokens, layer.window) : tokens;
}

std::int64_t kv_tokens_allocated(const KvLayer& layer, std::int64_t tokens, std::int64_t block) {
  const std::int64_t held = kv_tokens_held(layer, tokens);
  if (held <= 0 || block <= 1) return std::max<std::int64_t>(held, 0);
  const std::int64_t first = tokens - held;
  return ((tokens - 1) / block - first / block + 1) * block;
}

Count kv_bytes_per_token(const KvCache& cache) {
  Count sum{};
  for (const KvLayer& layer : cache.layers) sum += layer.bytes_per_token;
  return sum;
}

Count kv_bytes_per_late_token(const KvCache& cache) {
  Count sum{};
  for (const KvLayer& layer : cache.layers)
    if (layer.kind == KvKind::kFull) sum += layer.bytes_per_token;
  return sum;
}

Count kv_bytes_held(const KvCache& cache, const KvDemand& demand) {
  return bytes_of_sequence(cache, demand.tokens, demand.block) * demand.batch + shared_bytes(cache);
}

Count kv_bytes_read(const KvCache& cache, std::int64_t tokens, std::int64_t batch) {
  return kv_bytes_held(cache, {.tokens = tokens, .batch = batch});
}

std::int64_t largest_kv_batch(const KvCache& cache, Count bytes, std::int64_t tokens, std::int64_t block) {
  const Count each = bytes_of_sequence(cache, tokens, block);
  return as_signed(each ? (bytes - shared_bytes(cache)) / each : Count{Count::kMax});
}

// What is held grows with the context, but for the blocks of a window, which may begin within one: then by a
// block less where it begins with one. The longest that fits is behind the last that does by halving, within
// a block.
std::optional<std::int64_t> longest_kv_context(const KvCache& cache, Count bytes, std::int64_t batch,
                                               std::int64_t block) {
  const auto fits = [&](std::int64_t tokens) {
    return kv_bytes_held(cache, {.tokens = tokens, .batch = batch, .block = block}) <= bytes;
  };
  constexpr std::int64_t kMost = std::int64_t{1} << 40;
  if (fits(kMost)) return std::nullopt;
  std::int64_t good = 0, bad = kMost;
  while (bad - good > 1) {
    const std::int64_t middle = good + (bad - good) / 2;
    (fits(middle) ? good : bad) = middle;
  }
  return good;
}

std::int64_t kv_layers(const KvCache& cache, KvKind kind) {
  return std::ranges::count(cache.layers, kind, &KvLayer::kind);
}

KvCache with_kv_dtype(const KvCache& cache, DType dtype) {
  KvCache other = cache;
  for (KvLayer& layer : other.layers) {
    if (layer.kind == KvKind::kState) continue;
    layer.dtype = dtype, layer.shared_bytes = 0;
    const Count elements = Count{layer.heads} * (Count{layer.key_width} + Count{layer.value_width});
    layer.bytes_per_token = bytes_of(dtype, elements).value();
  }
  return other;
}

LatentMacs latent_macs(const LatentAttention& latent, std::int64_t tokens, std::int64_t queries) {
  const Count heads = latent.heads, rank = latent.kv_lora_rank, rope = latent.qk_rope_head_dim;
  const Count nope = latent.qk_nope_head_dim, value = latent.v_head_dim, all = tokens, asking = queries;
  return {.expanded = all * heads * rank * (nope + value) + asking * all * heads * (nope + rope + value),
          .absorbed = asking * heads * rank * (nope + value) + asking * all * heads * (rank * 2 + rope)};
}

}  // namespace opscope
