// Views: another shape on the same memory. Nothing is computed and nothing moves, except where a reshape has
// to copy.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

constexpr OpRule row(std::string_view name, TrafficFunction traffic = no_traffic) {
  return {.name = name,
          .category = Category::kView,
          .fusion = Fusion::kView,
          .work = no_work,
          .traffic = traffic,
          .formula = "none"};
}

constexpr OpRow kRules[] = {
    row("aten::_conj"),
    row("aten::_neg_view"),
    row("aten::_reshape_alias"),
    row("aten::_unsafe_view"),
    row("aten::adjoint"),
    row("aten::alias") | kKeepsElements,
    row("aten::as_strided"),
    row("aten::atleast_1d"),
    row("aten::atleast_2d"),
    row("aten::atleast_3d"),
    row("aten::broadcast_tensors"),
    row("aten::broadcast_to"),
    row("aten::chunk"),
    row("aten::conj"),
    row("aten::data"),
    row("aten::detach") | kKeepsElements,
    row("aten::diagonal"),
    row("aten::dsplit"),
    row("aten::expand") | kKeepsElements,
    row("aten::expand_as") | kLikeOther,
    row("aten::flatten", copy_or_view) | kKeepsElements | kReshapes,
    row("aten::hsplit"),
    row("aten::imag"),
    row("aten::lift"),
    row("aten::lift_fresh"),
    row("aten::linalg_diagonal"),
    row("aten::mH"),
    row("aten::mT"),
    row("aten::matrix_H"),
    row("aten::meshgrid"),
    row("aten::moveaxis"),
    row("aten::movedim"),
    row("aten::narrow"),
    row("aten::numpy_T"),
    row("aten::permute"),
    row("aten::ravel", copy_or_view) | kReshapes,
    row("aten::real"),
    row("aten::reshape", copy_or_view) | kKeepsElements | kReshapes,
    row("aten::reshape_as", copy_or_view) | kLikeOther | kReshapes,
    row("aten::select") | kPicksFew | kKeepsElements,
    row("aten::slice") | kPicksFew | kKeepsElements,
    row("aten::split"),
    row("aten::split_with_sizes"),
    row("aten::squeeze") | kKeepsElements,
    row("aten::swapaxes"),
    row("aten::swapdims"),
    row("aten::t"),
    row("aten::tensor_split"),
    row("aten::transpose"),
    row("aten::unbind") | kPicksFew | kKeepsElements,
    row("aten::unflatten"),
    row("aten::unfold"),
    row("aten::unsafe_chunk"),
    row("aten::unsafe_split"),
    row("aten::unsafe_split_with_sizes"),
    row("aten::unsqueeze") | kKeepsElements,
    row("aten::view") | kPicksFew | kKeepsElements,
    row("aten::view_as") | kLikeOther,
    row("aten::view_as_complex"),
    row("aten::view_as_real"),
    row("aten::vsplit"),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> view_rules() { return kRules; }

}  // namespace opscope
