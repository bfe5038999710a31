// Ops whose cost is not known, and yet something else of them.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

constexpr OpRule row(std::string_view name) { return {.name = name, .formula = {}}; }

constexpr OpRow kRules[] = {
    row("aten::_ctc_loss_backward") | kRowsByData,
    row("aten::_nested_tensor_from_mask") | kRowsByData,
    row("aten::_pack_padded_sequence") | kRowsByData | kPacked,
    row("aten::_pack_padded_sequence_backward") | kRowsByData,
    row("aten::_pad_packed_sequence") | kRowsByData | kPacked,
    row("aten::embedding_renorm") | indexes("indices", Within::kRows, "self"),
    row("aten::gather_backward") | indexes("index", Within::kDimension, "self"),
    row("aten::multi_margin_loss_backward") | indexes("target", Within::kClasses, "self"),
    row("aten::value_selecting_reduction_backward") | indexes("indices", Within::kListed, "sizes"),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> uncosted_rules() { return kRules; }

}  // namespace opscope
