// Creation: written once, never read; `empty` writes nothing. Neither the arithmetic of ranges and windows
// nor how a generator makes random numbers is counted; what is done with those is.
#include "ops/rules.h"

namespace opscope {
namespace {

constexpr Family row{.category = Category::kCreate, .fusion = Fusion::kPointwise, .traffic = write_only};

constexpr Family random_row{
    .category = Category::kRandom, .fusion = Fusion::kPointwise, .traffic = write_only};

constexpr Family reading_row{.category = Category::kRandom, .fusion = Fusion::kPointwise};

constexpr Family estimated_row{
    .category = Category::kRandom, .fusion = Fusion::kPointwise, .confidence = Confidence::kEstimated};

constexpr OpRow kRows[] = {
    row("aten::_efficientzerotensor aten::empty aten::empty_permuted aten::empty_quantized "
        "aten::empty_strided aten::new_empty_strided",
        no_work, "none", no_traffic),
    row("aten::arange aten::bartlett_window aten::blackman_window aten::eye aten::fft_fftfreq "
        "aten::fft_rfftfreq aten::fill aten::full aten::hamming_window aten::hann_window aten::kaiser_window "
        "aten::linspace aten::logspace aten::ones aten::range aten::scalar_tensor aten::tril_indices "
        "aten::triu_indices aten::vander aten::zero aten::zeros",
        no_work, "none"),
    reading_row("aten::bernoulli", pointwise<1>, "n compares") | kTakesProbabilities,
    estimated_row("aten::binomial aten::poisson", pointwise_special, "n specials") | kTakesProbabilities,
    random_row("aten::cauchy aten::exponential aten::geometric aten::log_normal aten::normal_ "
               "aten::normal_functional aten::rand aten::rand_like aten::randint aten::randint_like "
               "aten::randn aten::randn_like aten::random aten::randperm aten::uniform",
               no_work, "none"),
    row("aten::empty_like aten::new_empty", no_work, "none", no_traffic) | kValueFree,
    row("aten::full_like aten::new_full aten::new_ones aten::new_zeros aten::ones_like aten::zeros_like",
        no_work, "none") |
        kValueFree,
    // Cumulative probabilities once, then a binary search for each sample.
    estimated_row("aten::multinomial", per_input<2>, "2*m flops") | kSpreads | kTakesProbabilities,
    reading_row("aten::normal", pointwise<2>, "2*n flops (scale, shift)"),
};

}  // namespace

std::span<const OpRow> create_rules() { return kTable<kRows>; }

}  // namespace opscope
