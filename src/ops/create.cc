// Creation: written once, never read; `empty` writes nothing. The arithmetic of ranges and windows is not
// counted.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

constexpr Family row{.category = Category::kCreate, .fusion = Fusion::kPointwise, .traffic = write_only};

constexpr OpRow kRules[] = {
    row("aten::_efficientzerotensor", no_work, "none", no_traffic),
    row("aten::arange", no_work, "none"),
    row("aten::bartlett_window", no_work, "none"),
    row("aten::blackman_window", no_work, "none"),
    row("aten::empty", no_work, "none", no_traffic),
    row("aten::empty_like", no_work, "none", no_traffic) | kValueFree,
    row("aten::empty_permuted", no_work, "none", no_traffic),
    row("aten::empty_quantized", no_work, "none", no_traffic),
    row("aten::empty_strided", no_work, "none", no_traffic),
    row("aten::eye", no_work, "none"),
    row("aten::fft_fftfreq", no_work, "none"),
    row("aten::fft_rfftfreq", no_work, "none"),
    row("aten::fill", no_work, "none"),
    row("aten::full", no_work, "none"),
    row("aten::full_like", no_work, "none") | kValueFree,
    row("aten::hamming_window", no_work, "none"),
    row("aten::hann_window", no_work, "none"),
    row("aten::kaiser_window", no_work, "none"),
    row("aten::linspace", no_work, "none"),
    row("aten::logspace", no_work, "none"),
    row("aten::new_empty", no_work, "none", no_traffic) | kValueFree,
    row("aten::new_empty_strided", no_work, "none", no_traffic),
    row("aten::new_full", no_work, "none") | kValueFree,
    row("aten::new_ones", no_work, "none") | kValueFree,
    row("aten::new_zeros", no_work, "none") | kValueFree,
    row("aten::ones", no_work, "none"),
    row("aten::ones_like", no_work, "none") | kValueFree,
    row("aten::range", no_work, "none"),
    row("aten::scalar_tensor", no_work, "none"),
    row("aten::tril_indices", no_work, "none"),
    row("aten::triu_indices", no_work, "none"),
    row("aten::vander", no_work, "none"),
    row("aten::zero", no_work, "none"),
    row("aten::zeros", no_work, "none"),
    row("aten::zeros_like", no_work, "none") | kValueFree,
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> create_rules() { return kRules; }

}  // namespace opscope
