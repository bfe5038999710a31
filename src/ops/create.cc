// Creation: written once, never read; `empty` writes nothing. Neither the arithmetic of ranges and windows
// nor how a generator makes random numbers is counted; what is done with those is.
#include "ops/rules.h"

namespace opscope {
namespace {

constexpr Family row{.category = Category::kCreate, .fusion = Fusion::kPointwise, .traffic = write_only};

// Cumulative probabilities once, then a binary search for each sample; estimated.
MaybeWork multinomial(const OpCall& call) { return per_input<2>(call); }

constexpr Family random_row{
    .category = Category::kRandom, .fusion = Fusion::kPointwise, .traffic = write_only};

constexpr Family reading_row{.category = Category::kRandom, .fusion = Fusion::kPointwise};

constexpr Family estimated_row{
    .category = Category::kRandom, .fusion = Fusion::kPointwise, .confidence = Confidence::kEstimated};

constexpr OpRow kRules[] = {
    row("aten::_efficientzerotensor", no_work, "none", no_traffic),
    row("aten::arange", no_work, "none"),
    row("aten::bartlett_window", no_work, "none"),
    reading_row("aten::bernoulli", pointwise<1>, "n compares") | kTakesProbabilities,
    estimated_row("aten::binomial", pointwise_special, "n specials") | kTakesProbabilities,
    row("aten::blackman_window", no_work, "none"),
    random_row("aten::cauchy", no_work, "none"),
    row("aten::empty", no_work, "none", no_traffic),
    row("aten::empty_like", no_work, "none", no_traffic) | kValueFree,
    row("aten::empty_permuted", no_work, "none", no_traffic),
    row("aten::empty_quantized", no_work, "none", no_traffic),
    row("aten::empty_strided", no_work, "none", no_traffic),
    random_row("aten::exponential", no_work, "none"),
    row("aten::eye", no_work, "none"),
    row("aten::fft_fftfreq", no_work, "none"),
    row("aten::fft_rfftfreq", no_work, "none"),
    row("aten::fill", no_work, "none"),
    row("aten::full", no_work, "none"),
    row("aten::full_like", no_work, "none") | kValueFree,
    random_row("aten::geometric", no_work, "none"),
    row("aten::hamming_window", no_work, "none"),
    row("aten::hann_window", no_work, "none"),
    row("aten::kaiser_window", no_work, "none"),
    row("aten::linspace", no_work, "none"),
    random_row("aten::log_normal", no_work, "none"),
    row("aten::logspace", no_work, "none"),
    estimated_row("aten::multinomial", multinomial, "2*m flops") | kSpreads | kTakesProbabilities,
    row("aten::new_empty", no_work, "none", no_traffic) | kValueFree,
    row("aten::new_empty_strided", no_work, "none", no_traffic),
    row("aten::new_full", no_work, "none") | kValueFree,
    row("aten::new_ones", no_work, "none") | kValueFree,
    row("aten::new_zeros", no_work, "none") | kValueFree,
    reading_row("aten::normal", pointwise<2>, "2*n flops (scale, shift)"),
    random_row("aten::normal_", no_work, "none"),
    random_row("aten::normal_functional", no_work, "none"),
    row("aten::ones", no_work, "none"),
    row("aten::ones_like", no_work, "none") | kValueFree,
    estimated_row("aten::poisson", pointwise_special, "n specials") | kTakesProbabilities,
    random_row("aten::rand", no_work, "none"),
    random_row("aten::rand_like", no_work, "none"),
    random_row("aten::randint", no_work, "none"),
    random_row("aten::randint_like", no_work, "none"),
    random_row("aten::randn", no_work, "none"),
    random_row("aten::randn_like", no_work, "none"),
    random_row("aten::random", no_work, "none"),
    random_row("aten::randperm", no_work, "none"),
    row("aten::range", no_work, "none"),
    row("aten::scalar_tensor", no_work, "none"),
    row("aten::tril_indices", no_work, "none"),
    row("aten::triu_indices", no_work, "none"),
    random_row("aten::uniform", no_work, "none"),
    row("aten::vander", no_work, "none"),
    row("aten::zero", no_work, "none"),
    row("aten::zeros", no_work, "none"),
    row("aten::zeros_like", no_work, "none") | kValueFree,
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> create_rules() { return kRules; }

}  // namespace opscope
