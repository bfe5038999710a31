// Latent attention by hand, what a device must have, and a step on several devices.
#include "analyse/llm/llm.h"

#include <gtest/gtest.h>

#include "analyse/memory/need.h"
#include "base/error.h"
#include "hardware/device.h"

namespace opscope {
namespace {

TEST(Llm, absorbed_attention_by_hand) {
  // DeepSeek-V3's layer at batch 3 with 100 tokens, weights of 2 bytes.
  AbsorbedAttention a{
      .batch = 3, .context = 100, .heads = 128, .nope = 128, .rope = 64, .value = 128, .latent = 512};
  a.weight_bytes = Count{2 * 512 * 128 * (128 + 128)};
  const auto kernels = absorbed_kernels(a);
  ASSERT_EQ(kernels.size(), 3u);
  StepCosts sum;
  for (const ServedKernel& kernel : kernels) sum.add(kernel);
  EXPECT_EQ(kernels[0].work[0].work.macs, Count{3 * 128 * 128 * 512});
  EXPECT_EQ(kernels[1].work[0].work.macs, Count{std::int64_t{3} * 128 * 100 * (512 + 64 + 512)});
  EXPECT_EQ(kernels[1].work[0].work.specials, Count{3 * 128 * 100});
  EXPECT_EQ(kernels[2].work[0].work.macs, Count{3 * 128 * 512 * 128});
  EXPECT_EQ(sum.traffic.weight_bytes, a.weight_bytes);
  // The cache once for all heads, and the queries.
  EXPECT_EQ(kernels[1].traffic.input_bytes, Count{2 * 3 * 100 * 576 + 2 * 3 * 128 * 576});
  EXPECT_EQ(kernels[1].traffic.output_bytes, Count{2 * 3 * 128 * 512});
  EXPECT_EQ(sum.flops, sum.work.macs * Count{2} + sum.work.other_flops + sum.work.specials);
}

TEST(Llm, a_cache_of_a_smaller_type_is_read_in_fewer_bytes) {
  AbsorbedAttention a{
      .batch = 1, .context = 1000, .heads = 16, .nope = 128, .rope = 64, .value = 128, .latent = 512};
  const Count wide = absorbed_kernels(a)[1].traffic.input_bytes;
  a.cache = DType::kFloat8E4M3FN;
  EXPECT_EQ(wide - absorbed_kernels(a)[1].traffic.input_bytes, Count{1000 * 576});
}

TEST(Llm, a_step_on_several_devices_takes_its_part_of_the_time) {
  ProfileOptions options;
  options.hardware = load_device("h200", "test");
  ServedKernel kernel;
  kernel.add(Category::kMatmul, DType::kBFloat16, {.macs = Count{1'000'000'000'000}});
  kernel.traffic.weight_bytes = Count{1'000'000};
  StepCosts step;
  step.add(kernel);
  const StepTime one = step_time(step, options, 1), four = step_time(step, options, 4);
  EXPECT_DOUBLE_EQ(one.seconds, 2e12 / options.hardware->peak(Units::kMatrix, "bfloat16")->rate.value);
  EXPECT_DOUBLE_EQ(four.seconds * 4, one.seconds);
  EXPECT_TRUE(one.is_compute_bound());
  EXPECT_FALSE(one.is_predicted);
}

TEST(MemoryNeed, the_reserve_is_of_what_comes_and_goes) {
  MemorySplit split;
  split[MemoryKind::kWeights] = 1000, split[MemoryKind::kKvCache] = 500,
  split[MemoryKind::kActivations] = 200;
  const MemoryNeed need = memory_need(split, Reserve::from("", Count{10'000}, false));
  EXPECT_EQ(need.tensors, Count{1700});
  EXPECT_EQ(need.allocator, Count{static_cast<std::uint64_t>(200 * kAllocatorShare)});
  EXPECT_EQ(need.fixed, Count{});
  EXPECT_EQ(memory_need(split, Reserve::from("", Count{std::uint64_t{24} << 30}, true)).fixed, kContextBytes);
  const MemoryNeed given = memory_need(split, Reserve::from("10%", Count{10'000}, true));
  EXPECT_EQ(given.total(), Count{2700});
  EXPECT_EQ(memory_need(split, Reserve::from("0", Count{10'000}, true)).total(), Count{1700});
  EXPECT_THROW(Reserve::from("20000", Count{10'000}, false), Error);
  EXPECT_THROW(Reserve::from("x%", Count{10'000}, false), Error);
}

}  // namespace
}  // namespace opscope
