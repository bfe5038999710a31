// Random numbers. How a generator makes them is not counted; what is done with them is.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

// Cumulative probabilities once, then a binary search for each sample; estimated.
MaybeWork multinomial(const OpCall& call) { return per_input<2>(call); }

constexpr Family row{.category = Category::kRandom, .fusion = Fusion::kPointwise, .traffic = write_only};

constexpr Family reading_row{.category = Category::kRandom, .fusion = Fusion::kPointwise};

constexpr Family estimated_row{
    .category = Category::kRandom, .fusion = Fusion::kPointwise, .confidence = Confidence::kEstimated};

constexpr OpRow kRules[] = {
    reading_row("aten::bernoulli", pointwise<1>, "n compares") | kTakesProbabilities,
    estimated_row("aten::binomial", pointwise_special, "n specials") | kTakesProbabilities,
    row("aten::cauchy", no_work, "none"),
    row("aten::exponential", no_work, "none"),
    row("aten::geometric", no_work, "none"),
    row("aten::log_normal", no_work, "none"),
    estimated_row("aten::multinomial", multinomial, "2*m flops") | kSpreads | kTakesProbabilities,
    reading_row("aten::normal", pointwise<2>, "2*n flops (scale, shift)"),
    row("aten::normal_", no_work, "none"),
    row("aten::normal_functional", no_work, "none"),
    estimated_row("aten::poisson", pointwise_special, "n specials") | kTakesProbabilities,
    row("aten::rand", no_work, "none"),
    row("aten::rand_like", no_work, "none"),
    row("aten::randint", no_work, "none"),
    row("aten::randint_like", no_work, "none"),
    row("aten::randn", no_work, "none"),
    row("aten::randn_like", no_work, "none"),
    row("aten::random", no_work, "none"),
    row("aten::randperm", no_work, "none"),
    row("aten::uniform", no_work, "none"),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> random_rules() { return kRules; }

}  // namespace opscope
