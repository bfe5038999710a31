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

constexpr Family row{.category = Category::kCopy, .fusion = Fusion::kPointwise};

constexpr OpRow kRows[] = {
    row("aten::_autocast_to_full_precision aten::_autocast_to_reduced_precision aten::cpu aten::cuda "
        "aten::resolve_conj aten::resolve_neg",
        no_work, "none", copy_or_view) |
        kMayReturnInput,
    row("aten::_cast_Byte aten::_cast_Char aten::_cast_Double aten::_cast_Float aten::_cast_Half "
        "aten::_cast_Int aten::_cast_Long aten::_cast_Short aten::_copy_from aten::to_dense aten::to_mkldnn",
        no_work, "none", copy_or_view),
    row("aten::_chunk_cat aten::_pad_circular aten::_pad_enum aten::_reshape_copy aten::alias_copy "
        "aten::as_strided_copy aten::block_diag aten::channel_shuffle aten::constant_pad_nd "
        "aten::detach_copy aten::diag aten::diag_embed aten::diagflat aten::diagonal_copy aten::expand_copy "
        "aten::flip aten::fliplr aten::flipud aten::im2col aten::lift_fresh_copy "
        "aten::native_channel_shuffle aten::pad aten::permute_copy aten::pin_memory aten::pixel_shuffle "
        "aten::pixel_unshuffle aten::reflection_pad1d aten::reflection_pad2d aten::reflection_pad3d "
        "aten::repeat aten::replication_pad1d aten::replication_pad2d aten::replication_pad3d aten::roll "
        "aten::rot90 aten::select_copy aten::slice_copy aten::split_copy aten::split_with_sizes_copy "
        "aten::squeeze_copy aten::t_copy aten::tile aten::transpose_copy aten::unbind_copy aten::unfold_copy "
        "aten::unsqueeze_copy aten::view_as_complex_copy aten::view_as_real_copy aten::view_copy",
        no_work, "none"),
    row("aten::_to_copy", no_work, "none", copy_or_view) | kKeepsElements,
    row("aten::cat aten::column_stack aten::concat aten::concatenate aten::dstack aten::hstack "
        "aten::row_stack aten::stack aten::vstack",
        no_work, "none") |
        kConcatenates,
    row("aten::clone", no_work, "none") | kKeepsElements,
    row("aten::col2im", reduce<>, "m - n adds"),  // overlapping windows are added up
    row("aten::contiguous", no_work, "none", copy_or_view) | kKeepsElements | kMayReturnInput,
    row("aten::copy", no_work, "none", copy_traffic),
    row("aten::repeat_interleave", no_work, "none") | limited_by("repeat_interleave"),
    row("aten::to aten::type_as", no_work, "none", copy_or_view) | kLikeOther | kKeepsElements |
        kMayReturnInput,
    row("aten::tril aten::triu", no_work, "none") | kHasInPlace,
};

}  // namespace

std::span<const OpRow> copy_rules() { return kTable<kRows>; }

}  // namespace opscope
