// A KV cache at other lengths and batches than it was seen at, against formulas written out.
#include "cost/kv_cache.h"

#include <gtest/gtest.h>

namespace opscope {
namespace {

// Of a token in a layer of Llama-3.1-8B: keys and values in bfloat16.
constexpr std::uint64_t kBytes = 2 * 8 * 128 * 2;

KvLayer full() {
  return {
      .dtype = DType::kBFloat16, .heads = 8, .key_width = 128, .value_width = 128, .bytes_per_token = kBytes};
}
KvLayer sliding(std::int64_t window) {
  KvLayer layer = full();
  layer.kind = KvKind::kSliding, layer.window = window;
  return layer;
}
KvCache cache_of(std::vector<KvLayer> layers) {
  KvCache cache;
  cache.layers = std::move(layers);
  return cache;
}

TEST(KvCacheBytes, FullAttentionGrowsWithEveryToken) {
  const KvCache llama = cache_of(std::vector<KvLayer>(32, full()));
  EXPECT_EQ(kv_bytes_per_token(llama), Count{131'072});
  EXPECT_EQ(kv_bytes_held(llama, {.tokens = 8192, .batch = 4}), Count{32 * kBytes * 8192 * 4});
  EXPECT_EQ(kv_bytes_read(llama, 8193, 4), Count{32 * kBytes * 8193 * 4});
  EXPECT_EQ(kv_layers(llama, KvKind::kFull), 32);
}

TEST(KvCacheBytes, ASlidingWindowFills) {
  const KvCache mixed = cache_of({full(), sliding(100)});
  EXPECT_EQ(kv_bytes_held(mixed, {.tokens = 60}), Count{2 * 60 * kBytes});
  EXPECT_EQ(kv_bytes_held(mixed, {.tokens = 1000}), Count{(1000 + 100) * kBytes});
  EXPECT_EQ(kv_bytes_per_token(mixed), Count{2 * kBytes});
  EXPECT_EQ(kv_bytes_per_late_token(mixed), Count{kBytes});
}

TEST(KvCacheBytes, BlocksAreWhole) {
  EXPECT_EQ(kv_tokens_allocated(full(), 33, 16), 48);
  EXPECT_EQ(kv_tokens_allocated(full(), 32, 16), 32);
  EXPECT_EQ(kv_tokens_allocated(full(), 0, 16), 0);
  // Tokens 11 to 42 of 43: blocks 0, 1 and 2; of 48, 16 to 47: blocks 1 and 2.
  EXPECT_EQ(kv_tokens_allocated(sliding(32), 43, 16), 48);
  EXPECT_EQ(kv_tokens_allocated(sliding(32), 48, 16), 32);
}

TEST(KvCacheBytes, StatesAndScalesDoNotGrow) {
  KvLayer state{.kind = KvKind::kState, .dtype = DType::kFloat32, .state_bytes = 4096};
  KvLayer scaled = full();
  scaled.shared_bytes = 8;
  const KvCache mixed = cache_of({state, scaled});
  EXPECT_EQ(kv_bytes_held(mixed, {.tokens = 10, .batch = 3}), Count{3 * (4096 + 10 * kBytes) + 8});
  EXPECT_EQ(kv_layers(mixed, KvKind::kState), 1);
}

TEST(KvCacheLimits, TheLargestThatFits) {
  const KvCache llama = cache_of(std::vector<KvLayer>(32, full()));
  const Count memory{std::uint64_t{8} << 30};
  EXPECT_EQ(largest_kv_batch(llama, memory, 8192), 8);
  EXPECT_EQ(largest_kv_batch(llama, memory - Count{1}, 8192), 7);
  EXPECT_EQ(longest_kv_context(llama, memory, 4), 16384);
  EXPECT_EQ(longest_kv_context(llama, Count{131'072 * 33}, 1, 16), 32);
  EXPECT_EQ(longest_kv_context(llama, Count{5}, 1), 0);
  // A model of states and windows holds no more from some length on.
  EXPECT_EQ(longest_kv_context(cache_of({sliding(64)}), Count{64 * kBytes}, 1), std::nullopt);
  EXPECT_EQ(longest_kv_context(cache_of({sliding(64)}), Count{63 * kBytes}, 1), 63);
}

TEST(KvCacheDType, TheSameElementsInFewerBits) {
  const KvCache llama = cache_of({full(), sliding(10)});
  EXPECT_EQ(kv_bytes_per_token(with_kv_dtype(llama, DType::kFloat8E4M3FN)), Count{kBytes});
  EXPECT_EQ(kv_bytes_per_token(with_kv_dtype(llama, DType::kInt4)), Count{kBytes / 2});
  EXPECT_EQ(with_kv_dtype(llama, DType::kInt8).layers[1].window, 10);
}

// DeepSeek-V3: 128 heads of 128 + 64, values of 128, latents of 512.
TEST(LatentAttentionWork, AbsorbedAndExpanded) {
  const LatentAttention deepseek{.layers = 61,
                                 .heads = 128,
                                 .kv_lora_rank = 512,
                                 .qk_rope_head_dim = 64,
                                 .qk_nope_head_dim = 128,
                                 .v_head_dim = 128};
  const auto [expanded, absorbed] = latent_macs(deepseek, 4097);
  EXPECT_EQ(expanded, Count{4097ull * 128 * 512 * (128 + 128) + 4097ull * 128 * (128 + 64 + 128)});
  EXPECT_EQ(absorbed, Count{128ull * 512 * (128 + 128) + 4097ull * 128 * (512 + 64 + 512)});
}

}  // namespace
}  // namespace opscope
