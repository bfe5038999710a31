// Views, questions about a tensor, and assertions: no arithmetic, and no bytes worth counting.
#include "ops/rules.h"

namespace opscope {
namespace {

constexpr OpRow row(std::string_view name, TrafficFunction traffic = no_traffic,
                    Category category = Category::kView) {
  return Family{.category = category, .fusion = Fusion::kView, .traffic = traffic}(name, no_work, "none");
}

constexpr OpRow question(std::string_view name) { return row(name, no_traffic, Category::kMetadata); }

constexpr OpRow kRows[] = {
    question(
        "aten::_assert_async aten::_assert_scalar aten::_assert_tensor_metadata "
        "aten::_functional_assert_async aten::_has_compatible_shallow_copy_type aten::_is_zerotensor "
        "aten::_shape_as_tensor aten::_version aten::can_cast aten::device aten::dim aten::get_device "
        "aten::is_coalesced aten::is_complex aten::is_conj aten::is_contiguous aten::is_floating_point "
        "aten::is_inference aten::is_leaf aten::is_neg aten::is_pinned aten::is_same_size aten::is_set_to "
        "aten::is_signed aten::numel aten::output_nr aten::promote_types aten::q_scale aten::q_zero_point "
        "aten::qscheme aten::record_stream aten::requires_grad_ aten::resize_ aten::resize_as_ "
        "aten::result_type aten::retain_grad aten::retains_grad aten::set_ aten::size aten::storage_offset "
        "aten::stride aten::sym_constrain_range aten::sym_constrain_range_for_size aten::sym_is_contiguous "
        "aten::sym_numel aten::sym_size aten::sym_storage_offset aten::sym_stride"),
    row("aten::_conj aten::_neg_view aten::_reshape_alias aten::_unsafe_view aten::adjoint aten::as_strided "
        "aten::atleast_1d aten::atleast_2d aten::atleast_3d aten::broadcast_tensors aten::broadcast_to "
        "aten::chunk aten::conj aten::data aten::diagonal aten::dsplit aten::hsplit aten::imag aten::lift "
        "aten::lift_fresh aten::linalg_diagonal aten::mH aten::mT aten::matrix_H aten::meshgrid "
        "aten::moveaxis aten::movedim aten::narrow aten::numpy_T aten::permute aten::real aten::split "
        "aten::split_with_sizes aten::swapaxes aten::swapdims aten::t aten::tensor_split aten::transpose "
        "aten::unflatten aten::unfold aten::unsafe_chunk aten::unsafe_split aten::unsafe_split_with_sizes "
        "aten::view_as_complex aten::view_as_real aten::vsplit"),
    question("aten::_local_scalar_dense aten::item") | kGivesNumber | limited_by("item"),
    row("aten::alias aten::detach aten::expand aten::squeeze aten::unsqueeze") | kKeepsElements,
    row("aten::expand_as aten::view_as") | kLikeOther,
    row("aten::flatten aten::reshape", copy_or_view) | kKeepsElements | kReshapes,
    question("aten::is_nonzero") | kGivesNumber,
    row("aten::ravel", copy_or_view) | kReshapes,
    row("aten::reshape_as", copy_or_view) | kLikeOther | kReshapes,
    row("aten::select aten::slice aten::unbind aten::view") | kPicksFew | kKeepsElements,
};

}  // namespace

std::span<const OpRow> view_rules() { return kTable<kRows>; }

}  // namespace opscope
