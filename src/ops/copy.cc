// Ops that only move data. Those that may return their input as it is (contiguous, to) move nothing then.
#include "ops/rules.h"

namespace opscope {
namespace {

// Reads the source, not what it overwrites.
MaybeTraffic copy_traffic(const OpCall& call) {
  const TensorView* from = call.tensor("src");
  if (from == nullptr) return default_traffic(call);
  Traffic traffic;
  add_read(traffic, *from);
  add_writes(traffic, call);
  return traffic;
}

// Overlapping windows are added up.
MaybeWork fold(const OpCall& call) { return reduce<>(call); }

constexpr Family row{.category = Category::kCopy, .fusion = Fusion::kPointwise};

constexpr OpRow kRules[] = {
    row("aten::_autocast_to_full_precision", no_work, "none", copy_or_view) | kMayReturnInput,
    row("aten::_autocast_to_reduced_precision", no_work, "none", copy_or_view) | kMayReturnInput,
    row("aten::_cast_Byte", no_work, "none", copy_or_view),
    row("aten::_cast_Char", no_work, "none", copy_or_view),
    row("aten::_cast_Double", no_work, "none", copy_or_view),
    row("aten::_cast_Float", no_work, "none", copy_or_view),
    row("aten::_cast_Half", no_work, "none", copy_or_view),
    row("aten::_cast_Int", no_work, "none", copy_or_view),
    row("aten::_cast_Long", no_work, "none", copy_or_view),
    row("aten::_cast_Short", no_work, "none", copy_or_view),
    row("aten::_chunk_cat", no_work, "none"),
    row("aten::_copy_from", no_work, "none", copy_or_view),
    row("aten::_pad_circular", no_work, "none"),
    row("aten::_pad_enum", no_work, "none"),
    row("aten::_reshape_copy", no_work, "none"),
    row("aten::_to_copy", no_work, "none", copy_or_view) | kKeepsElements,
    row("aten::alias_copy", no_work, "none"),
    row("aten::as_strided_copy", no_work, "none"),
    row("aten::block_diag", no_work, "none"),
    row("aten::cat", no_work, "none") | kConcatenates,
    row("aten::channel_shuffle", no_work, "none"),
    row("aten::clone", no_work, "none") | kKeepsElements,
    row("aten::col2im", fold, "m - n adds"),
    row("aten::column_stack", no_work, "none") | kConcatenates,
    row("aten::concat", no_work, "none") | kConcatenates,
    row("aten::concatenate", no_work, "none") | kConcatenates,
    row("aten::constant_pad_nd", no_work, "none"),
    row("aten::contiguous", no_work, "none", copy_or_view) | kKeepsElements | kMayReturnInput,
    row("aten::copy", no_work, "none", copy_traffic),
    row("aten::cpu", no_work, "none", copy_or_view) | kMayReturnInput,
    row("aten::cuda", no_work, "none", copy_or_view) | kMayReturnInput,
    row("aten::detach_copy", no_work, "none"),
    row("aten::diag", no_work, "none"),
    row("aten::diag_embed", no_work, "none"),
    row("aten::diagflat", no_work, "none"),
    row("aten::diagonal_copy", no_work, "none"),
    row("aten::dstack", no_work, "none") | kConcatenates,
    row("aten::expand_copy", no_work, "none"),
    row("aten::flip", no_work, "none"),
    row("aten::fliplr", no_work, "none"),
    row("aten::flipud", no_work, "none"),
    row("aten::hstack", no_work, "none") | kConcatenates,
    row("aten::im2col", no_work, "none"),
    row("aten::lift_fresh_copy", no_work, "none"),
    row("aten::native_channel_shuffle", no_work, "none"),
    row("aten::pad", no_work, "none"),
    row("aten::permute_copy", no_work, "none"),
    row("aten::pin_memory", no_work, "none"),
    row("aten::pixel_shuffle", no_work, "none"),
    row("aten::pixel_unshuffle", no_work, "none"),
    row("aten::reflection_pad1d", no_work, "none"),
    row("aten::reflection_pad2d", no_work, "none"),
    row("aten::reflection_pad3d", no_work, "none"),
    row("aten::repeat", no_work, "none"),
    row("aten::repeat_interleave", no_work, "none") | limited_by("repeat_interleave"),
    row("aten::replication_pad1d", no_work, "none"),
    row("aten::replication_pad2d", no_work, "none"),
    row("aten::replication_pad3d", no_work, "none"),
    row("aten::resolve_conj", no_work, "none", copy_or_view) | kMayReturnInput,
    row("aten::resolve_neg", no_work, "none", copy_or_view) | kMayReturnInput,
    row("aten::roll", no_work, "none"),
    row("aten::rot90", no_work, "none"),
    row("aten::row_stack", no_work, "none") | kConcatenates,
    row("aten::select_copy", no_work, "none"),
    row("aten::slice_copy", no_work, "none"),
    row("aten::split_copy", no_work, "none"),
    row("aten::split_with_sizes_copy", no_work, "none"),
    row("aten::squeeze_copy", no_work, "none"),
    row("aten::stack", no_work, "none") | kConcatenates,
    row("aten::t_copy", no_work, "none"),
    row("aten::tile", no_work, "none"),
    row("aten::to", no_work, "none", copy_or_view) | kLikeOther | kKeepsElements | kMayReturnInput,
    row("aten::to_dense", no_work, "none", copy_or_view),
    row("aten::to_mkldnn", no_work, "none", copy_or_view),
    row("aten::transpose_copy", no_work, "none"),
    row("aten::tril", no_work, "none") | kHasInPlace,
    row("aten::triu", no_work, "none") | kHasInPlace,
    row("aten::type_as", no_work, "none", copy_or_view) | kLikeOther | kKeepsElements | kMayReturnInput,
    row("aten::unbind_copy", no_work, "none"),
    row("aten::unfold_copy", no_work, "none"),
    row("aten::unsqueeze_copy", no_work, "none"),
    row("aten::view_as_complex_copy", no_work, "none"),
    row("aten::view_as_real_copy", no_work, "none"),
    row("aten::view_copy", no_work, "none"),
    row("aten::vstack", no_work, "none") | kConcatenates,
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> copy_rules() { return kRules; }

}  // namespace opscope
