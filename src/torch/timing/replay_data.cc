#include "torch/timing/replay_data.h"

#include <algorithm>
#include <array>

#include "ops/op_rule.h"
#include "ops/replay_plan.h"

namespace opscope::engine {

namespace {

// What an integer argument counts in.
enum class Within : std::uint8_t {
  kRows,       // the first dimension of `of`
  kDimension,  // the dimension of `of` that the argument dim names
  kEach,       // a list: the i-th in the i-th dimension of `of`
  kElements,   // all of `of`
  kPlane,      // the last two dimensions of `of`
  kVolume,     // the last three
  kClasses,    // the second dimension of `of`, or its only one
  kNumber,     // the integer argument `of`
  kListed,     // the entry of the list `of` that dim names
  kPlaneOf,    // the product of the list `of`
  kBags,       // where each bag begins among the elements of `of`
};

struct IndexRow {
  std::string_view op, argument;
  Within within;
  std::string_view of;
};

constexpr std::array kIndexRows = std::to_array<IndexRow>({
    {"aten::_embedding_bag", "indices", Within::kRows, "weight"},
    {"aten::_embedding_bag", "offsets", Within::kBags, "indices"},
    {"aten::_embedding_bag_forward_only", "indices", Within::kRows, "weight"},
    {"aten::_embedding_bag_forward_only", "offsets", Within::kBags, "indices"},
    {"aten::_index_put_impl", "indices", Within::kEach, "self"},
    {"aten::_unsafe_index", "indices", Within::kEach, "self"},
    {"aten::_unsafe_index_put", "indices", Within::kEach, "self"},
    {"aten::adaptive_max_pool2d_backward", "indices", Within::kPlane, "self"},
    {"aten::adaptive_max_pool3d_backward", "indices", Within::kVolume, "self"},
    {"aten::cross_entropy_loss", "target", Within::kClasses, "self"},
    {"aten::embedding", "indices", Within::kRows, "weight"},
    {"aten::embedding_backward", "indices", Within::kNumber, "num_weights"},
    {"aten::embedding_bag", "indices", Within::kRows, "weight"},
    {"aten::embedding_bag", "offsets", Within::kBags, "indices"},
    {"aten::embedding_dense_backward", "indices", Within::kNumber, "num_weights"},
    {"aten::embedding_renorm", "indices", Within::kRows, "self"},
    {"aten::gather", "index", Within::kDimension, "self"},
    {"aten::gather_backward", "index", Within::kDimension, "self"},
    {"aten::index", "indices", Within::kEach, "self"},
    {"aten::index_add", "index", Within::kDimension, "self"},
    {"aten::index_copy", "index", Within::kDimension, "self"},
    {"aten::index_fill", "index", Within::kDimension, "self"},
    {"aten::index_put", "indices", Within::kEach, "self"},
    {"aten::index_reduce", "index", Within::kDimension, "self"},
    {"aten::index_select", "index", Within::kDimension, "self"},
    {"aten::index_select_backward", "index", Within::kListed, "self_sizes"},
    {"aten::max_pool2d_with_indices_backward", "indices", Within::kPlane, "self"},
    {"aten::max_pool3d_with_indices_backward", "indices", Within::kVolume, "self"},
    {"aten::max_unpool2d", "indices", Within::kPlaneOf, "output_size"},
    {"aten::max_unpool3d", "indices", Within::kPlaneOf, "output_size"},
    {"aten::multi_margin_loss", "target", Within::kClasses, "self"},
    {"aten::multi_margin_loss_backward", "target", Within::kClasses, "self"},
    {"aten::nll_loss", "target", Within::kClasses, "self"},
    {"aten::nll_loss2d", "target", Within::kClasses, "self"},
    {"aten::nll_loss2d_backward", "target", Within::kClasses, "self"},
    {"aten::nll_loss2d_forward", "target", Within::kClasses, "self"},
    {"aten::nll_loss_backward", "target", Within::kClasses, "self"},
    {"aten::nll_loss_forward", "target", Within::kClasses, "self"},
    {"aten::nll_loss_nd", "target", Within::kClasses, "self"},
    {"aten::one_hot", "self", Within::kNumber, "num_classes"},
    {"aten::put", "index", Within::kElements, "self"},
    {"aten::scatter", "index", Within::kDimension, "self"},
    {"aten::scatter_add", "index", Within::kDimension, "self"},
    {"aten::scatter_reduce", "index", Within::kDimension, "self"},
    {"aten::take", "index", Within::kElements, "self"},
    {"aten::take_along_dim", "indices", Within::kDimension, "self"},
    {"aten::value_selecting_reduction_backward", "indices", Within::kListed, "sizes"},
});
static_assert(std::ranges::is_sorted(kIndexRows, {}, &IndexRow::op));

// Ops whose floats are probabilities or have to be above 0, and that check it, on a device by ending the
// program.
constexpr std::array kUnitOps = std::to_array<std::string_view>({
    "aten::bernoulli",
    "aten::binary_cross_entropy",
    "aten::binary_cross_entropy_backward",
    "aten::binomial",
    "aten::log",
    "aten::log10",
    "aten::log1p",
    "aten::log2",
    "aten::logit",
    "aten::multinomial",
    "aten::poisson",
    "aten::pow",
    "aten::rsqrt",
    "aten::sqrt",
});
static_assert(std::ranges::is_sorted(kUnitOps));

// Arguments that are variances, or what is made of them.
constexpr std::array kUnitArguments = std::to_array<std::string_view>({
    "exp_avg_sqs",
    "invstd",
    "max_exp_avg_sqs",
    "result2",
    "rstd",
    "running_var",
    "save_invstd",
    "save_var",
    "std",
    "var",
});
static_assert(std::ranges::is_sorted(kUnitArguments));

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t result = 1;
  for (const auto size : sizes) result *= size;
  return result;
}

std::int64_t last_dimensions(const TensorView* tensor, std::int64_t count) {
  std::int64_t result = 1;
  for (std::int64_t i = 1; tensor && i <= count; ++i) result *= tensor->dim(-i);
  return result;
}

std::int64_t elements(const TensorView* tensor) { return tensor ? product(tensor->shape) : 1; }

// What an integer has to stay below; at least 1.
std::int64_t limit_of(const OpCall& call, const IndexRow& row, std::size_t position) {
  const auto* of = call.tensor(row.of);
  const auto dimension = call.integer("dim").value_or(0);
  const auto listed = call.ints(row.of);
  switch (row.within) {
    case Within::kRows:
      return of ? of->dim(0) : 1;
    case Within::kDimension:
      return !call.has("dim") ? elements(of) : of ? of->dim(dimension) : 1;
    case Within::kEach:
      return of ? of->dim(static_cast<std::int64_t>(position)) : 1;
    case Within::kElements:
    case Within::kBags:
      return elements(of);
    case Within::kPlane:
      return last_dimensions(of, 2);
    case Within::kVolume:
      return last_dimensions(of, 3);
    case Within::kClasses:
      return of ? of->dim(of->rank() > 1 ? 1 : 0) : 1;
    case Within::kNumber:
      return call.integer(row.of).value_or(1);
    case Within::kListed: {
      const auto at = dimension < 0 ? dimension + static_cast<std::int64_t>(listed.size()) : dimension;
      return static_cast<std::size_t>(at) < listed.size() ? listed[static_cast<std::size_t>(at)] : 1;
    }
    case Within::kPlaneOf:
      return product(listed);
  }
  return 1;
}

Data integers(const OpCall& call, std::string_view argument, std::size_t position) {
  const auto name = functional_name(call.name());
  for (const auto& row : kIndexRows)
    if (row.op == name && row.argument == argument)
      return {row.within == Within::kBags ? Fill::kAscending : Fill::kBelow,
              std::max<std::int64_t>(limit_of(call, row, position), 1)};
  const auto* rule = find_rule(call.name());
  const bool computes =
      rule && (rule->category == Category::kPointwise || rule->category == Category::kReduction);
  return {computes ? Fill::kSmall : Fill::kZero, 1};
}

}  // namespace

Data data_for(const OpCall& call, std::string_view argument, std::size_t position, DType dtype) {
  if (dtype == DType::kBool) return {Fill::kCoin};
  if (!info(dtype).is_float && !info(dtype).is_complex) return integers(call, argument, position);
  const bool unit = std::ranges::binary_search(kUnitOps, functional_name(call.name())) ||
                    std::ranges::binary_search(kUnitArguments, argument);
  return {unit ? Fill::kUnit : Fill::kAround0};
}

void fill_with(const at::Tensor& tensor, const Data& data) {
  const auto type = tensor.scalar_type();
  const bool plain = type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
  switch (data.fill) {
    case Fill::kAround0:
    case Fill::kUnit: {
      const double low = data.fill == Fill::kUnit ? 0.1 : -1, high = data.fill == Fill::kUnit ? 0.9 : 1;
      if (plain)
        tensor.uniform_(low, high);
      else if (tensor.is_complex())
        at::view_as_real(tensor).uniform_(low, high);
      else  // 8-bit floats have no random kernels
        tensor.copy_(at::empty(tensor.sizes(), tensor.options().dtype(at::kFloat)).uniform_(low, high));
      return;
    }
    case Fill::kZero:
      tensor.zero_();
      return;
    case Fill::kSmall:
      tensor.random_(1, 8);
      return;
    case Fill::kBelow:
      tensor.random_(0, data.limit);
      return;
    case Fill::kAscending: {
      const auto count = std::max<std::int64_t>(tensor.numel(), 1);
      tensor.copy_(at::arange(tensor.numel(), tensor.options()).mul_(data.limit / count));
      return;
    }
    case Fill::kCoin:
      tensor.random_(0, 2);
      return;
  }
}

}  // namespace opscope::engine
