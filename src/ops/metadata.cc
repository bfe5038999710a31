// Questions about a tensor, and assertions: no arithmetic and no bytes worth counting.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

constexpr OpRule row(std::string_view name) {
  return {.name = name,
          .category = Category::kMetadata,
          .fusion = Fusion::kView,
          .work = no_work,
          .traffic = no_traffic,
          .formula = "none"};
}

constexpr OpRow kRules[] = {
    row("aten::_assert_async"),
    row("aten::_assert_scalar"),
    row("aten::_assert_tensor_metadata"),
    row("aten::_functional_assert_async"),
    row("aten::_has_compatible_shallow_copy_type"),
    row("aten::_is_zerotensor"),
    row("aten::_local_scalar_dense") | kGivesNumber | limited_by("item"),
    row("aten::_shape_as_tensor"),
    row("aten::_version"),
    row("aten::can_cast"),
    row("aten::device"),
    row("aten::dim"),
    row("aten::get_device"),
    row("aten::is_coalesced"),
    row("aten::is_complex"),
    row("aten::is_conj"),
    row("aten::is_contiguous"),
    row("aten::is_floating_point"),
    row("aten::is_inference"),
    row("aten::is_leaf"),
    row("aten::is_neg"),
    row("aten::is_nonzero") | kGivesNumber,
    row("aten::is_pinned"),
    row("aten::is_same_size"),
    row("aten::is_set_to"),
    row("aten::is_signed"),
    row("aten::item") | kGivesNumber | limited_by("item"),
    row("aten::numel"),
    row("aten::output_nr"),
    row("aten::promote_types"),
    row("aten::q_scale"),
    row("aten::q_zero_point"),
    row("aten::qscheme"),
    row("aten::record_stream"),
    row("aten::requires_grad_"),
    row("aten::resize_"),
    row("aten::resize_as_"),
    row("aten::result_type"),
    row("aten::retain_grad"),
    row("aten::retains_grad"),
    row("aten::set_"),
    row("aten::size"),
    row("aten::storage_offset"),
    row("aten::stride"),
    row("aten::sym_constrain_range"),
    row("aten::sym_constrain_range_for_size"),
    row("aten::sym_is_contiguous"),
    row("aten::sym_numel"),
    row("aten::sym_size"),
    row("aten::sym_storage_offset"),
    row("aten::sym_stride"),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> metadata_rules() { return kRules; }

}  // namespace opscope
