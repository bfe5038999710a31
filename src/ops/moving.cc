// Ops that make, move or look at data: views and questions about a tensor move no bytes worth counting,
// copies that may return their input as it is (contiguous, to) move nothing then, and creation is written
// once, never read; `empty` writes nothing. Neither the arithmetic of ranges and windows nor how a generator
// makes random numbers is counted; what is done with those is.
#include "ops/rules.h"

namespace opscope {
namespace {

constexpr OpRow view_row(std::string_view name, TrafficFunction traffic = no_traffic,
                         Category category = Category::kView) {
  return Family{.category = category, .fusion = Fusion::kView, .traffic = traffic}(name, no_work, "none");
}

constexpr OpRow question(std::string_view name) { return view_row(name, no_traffic, Category::kMetadata); }

// Reads the source, not what it overwrites.
MaybeTraffic copy_traffic(const OpCall& call) {
  const TensorView* from = call.tensor("src");
  if (from == nullptr) return default_traffic(call);
  Traffic traffic;
  add_read(traffic, *from);
  add_writes(traffic, call);
  return traffic;
}

constexpr Family copy_row{.category = Category::kCopy, .fusion = Fusion::kPointwise};

constexpr Family create_row{
    .category = Category::kCreate, .fusion = Fusion::kPointwise, .traffic = write_only};

constexpr Family random_row{
    .category = Category::kRandom, .fusion = Fusion::kPointwise, .traffic = write_only};

constexpr Family reading_row{.category = Category::kRandom, .fusion = Fusion::kPointwise};

constexpr Family estimated_row{
    .category = Category::kRandom, .fusion = Fusion::kPointwise, .confidence = Confidence::kEstimated};

constexpr OpRow kRows[] = {
    question(
        "aten::_assert_async aten::_assert_scalar aten::_assert_tensor_metadata "
        "aten::_functional_assert_async aten::_has_compatible_shallow_copy_type "
        "aten::_has_same_storage_numel aten::_is_zerotensor "
        "aten::_shape_as_tensor aten::_version aten::can_cast aten::device aten::dim aten::get_device "
        "aten::is_coalesced aten::is_complex aten::is_conj aten::is_contiguous aten::is_floating_point "
        "aten::is_inference aten::is_leaf aten::is_neg aten::is_pinned aten::is_same_size aten::is_set_to "
        "aten::is_signed aten::numel aten::output_nr aten::promote_types aten::q_scale aten::q_zero_point "
        "aten::qscheme aten::record_stream aten::requires_grad_ aten::resize_ aten::resize_as_ "
        "aten::result_type aten::retain_grad aten::retains_grad aten::set_ aten::size aten::storage_offset "
        "aten::stride aten::sym_constrain_range aten::sym_constrain_range_for_size aten::sym_is_contiguous "
        "aten::sym_numel aten::sym_size aten::sym_storage_offset aten::sym_stride"),
    view_row(
        "aten::_conj aten::_neg_view aten::_reshape_alias aten::_unsafe_view aten::adjoint aten::as_strided "
        "aten::atleast_1d aten::atleast_2d aten::atleast_3d aten::broadcast_tensors aten::broadcast_to "
        "aten::chunk aten::conj aten::data aten::diagonal aten::dsplit aten::hsplit aten::imag aten::lift "
        "aten::lift_fresh aten::linalg_diagonal aten::mH aten::mT aten::matrix_H aten::meshgrid "
        "aten::moveaxis aten::movedim aten::narrow aten::numpy_T aten::permute aten::real aten::split "
        "aten::split_with_sizes aten::swapaxes aten::swapdims aten::t aten::tensor_split aten::transpose "
        "aten::unflatten aten::unfold aten::unsafe_chunk aten::unsafe_split aten::unsafe_split_with_sizes "
        "aten::view_as_complex aten::view_as_real aten::vsplit"),
    question("aten::_local_scalar_dense aten::item") | kGivesNumber | limited_by("item"),
    view_row("aten::alias aten::detach aten::expand aten::squeeze aten::unsqueeze") | kKeepsElements,
    view_row("aten::expand_as aten::view_as") | kLikeOther,
    view_row("aten::flatten aten::reshape", copy_or_view) | kKeepsElements | kReshapes,
    question("aten::is_nonzero") | kGivesNumber,
    view_row("aten::ravel", copy_or_view) | kReshapes,
    view_row("aten::reshape_as", copy_or_view) | kLikeOther | kReshapes,
    view_row("aten::select aten::slice aten::unbind aten::view") | kPicksFew | kKeepsElements,
    copy_row("aten::_autocast_to_full_precision aten::_autocast_to_reduced_precision aten::cpu aten::cuda "
             "aten::resolve_conj aten::resolve_neg",
             no_work, "none", copy_or_view) |
        kMayReturnInput,
    copy_row(
        "aten::_cast_Byte aten::_cast_Char aten::_cast_Double aten::_cast_Float aten::_cast_Half "
        "aten::_cast_Int aten::_cast_Long aten::_cast_Short aten::_copy_from aten::to_dense aten::to_mkldnn",
        no_work, "none", copy_or_view),
    copy_row(
        "aten::_chunk_cat aten::_pad_circular aten::_pad_enum aten::_reshape_copy aten::alias_copy "
        "aten::as_strided_copy aten::block_diag aten::channel_shuffle aten::constant_pad_nd "
        "aten::detach_copy aten::diag aten::diag_embed aten::diagflat aten::diagonal_copy aten::expand_copy "
        "aten::flip aten::fliplr aten::flipud aten::im2col aten::lift_fresh_copy "
        "aten::narrow_copy aten::native_channel_shuffle aten::pad aten::permute_copy aten::pin_memory "
        "aten::pixel_shuffle "
        "aten::pixel_unshuffle aten::reflection_pad1d aten::reflection_pad2d aten::reflection_pad3d "
        "aten::repeat aten::replication_pad1d aten::replication_pad2d aten::replication_pad3d aten::roll "
        "aten::rot90 aten::select_copy aten::slice_copy aten::split_copy aten::split_with_sizes_copy "
        "aten::squeeze_copy aten::t_copy aten::tile aten::transpose_copy aten::unbind_copy aten::unfold_copy "
        "aten::unsqueeze_copy aten::view_as_complex_copy aten::view_as_real_copy aten::view_copy",
        no_work, "none"),
    // Padding is neither read nor kept.
    copy_row("aten::_pack_padded_sequence", no_work, "none", read_selected) | kRowsByData | kPacked,
    copy_row("aten::_pack_padded_sequence_backward", no_work, "none") | kRowsByData,
    copy_row("aten::_pad_packed_sequence", no_work, "none") | kRowsByData | kPacked,
    copy_row("aten::_to_copy", no_work, "none", copy_or_view) | kKeepsElements,
    copy_row("aten::cat aten::column_stack aten::concat aten::concatenate aten::dstack aten::hstack "
             "aten::row_stack aten::stack aten::vstack",
             no_work, "none") |
        kConcatenates,
    copy_row("aten::clone", no_work, "none") | kKeepsElements,
    copy_row("aten::col2im", reduce<>, "m - n adds"),  // overlapping windows are added up
    copy_row("aten::contiguous", no_work, "none", copy_or_view) | kKeepsElements | kMayReturnInput,
    copy_row("aten::copy", no_work, "none", copy_traffic),
    copy_row("aten::repeat_interleave", no_work, "none") | limited_by("repeat_interleave"),
    copy_row("aten::to aten::type_as", no_work, "none", copy_or_view) | kLikeOther | kKeepsElements |
        kMayReturnInput,
    copy_row("aten::tril aten::triu", no_work, "none") | kHasInPlace,
    create_row("aten::_efficientzerotensor aten::empty aten::empty_permuted aten::empty_quantized "
               "aten::empty_strided aten::new_empty_strided",
               no_work, "none", no_traffic),
    create_row(
        "aten::arange aten::bartlett_window aten::blackman_window aten::eye aten::fft_fftfreq "
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
    create_row("aten::empty_like aten::new_empty", no_work, "none", no_traffic) | kValueFree,
    create_row(
        "aten::full_like aten::new_full aten::new_ones aten::new_zeros aten::ones_like aten::zeros_like",
        no_work, "none") |
        kValueFree,
    // Cumulative probabilities once, then a binary search for each sample.
    estimated_row("aten::multinomial", per_input<2>, "2*m flops") | kSpreads | kTakesProbabilities,
    reading_row("aten::normal", pointwise<2>, "2*n flops (scale, shift)"),
};

}  // namespace

std::span<const OpRow> moving_rules() { return kTable<kRows>; }

}  // namespace opscope
