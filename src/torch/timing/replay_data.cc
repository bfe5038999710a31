#include <algorithm>
#include <array>

#include "ops/op_facts.h"
#include "torch/timing/replay_inputs.h"

namespace opscope::engine {

namespace {

// Arguments that are variances, or what is made of them.
constexpr std::array kUnitArguments =
    std::to_array<std::string_view>({"exp_avg_sqs", "invstd", "max_exp_avg_sqs", "result2", "rstd",
                                     "running_var", "save_invstd", "save_var", "std", "var"});
static_assert(std::ranges::is_sorted(kUnitArguments));

std::int64_t product(std::span<const std::int64_t> sizes) {
  std::int64_t result = 1;
  for (const auto size : sizes) result *= size;
  return result;
}

// What an integer has to stay below; at least 1.
std::int64_t limit_of(const OpCall& call, const IndexArgument& row, std::size_t position) {
  const auto* found = call.tensor(row.of);
  const TensorView of = found ? *found : TensorView{};  // its dimensions are all 1
  const auto dimension = call.integer("dim").value_or(0);
  const auto listed = call.ints(row.of);
  switch (row.within) {
    case Within::kRows:
      return of.dim(0);
    case Within::kDimension:
      return call.has("dim") ? of.dim(dimension) : product(of.shape);
    case Within::kEach:
      return of.dim(static_cast<std::int64_t>(position));
    case Within::kElements:
    case Within::kBags:
      return product(of.shape);
    case Within::kPlane:
      return of.dim(-2) * of.dim(-1);
    case Within::kVolume:
      return of.dim(-3) * of.dim(-2) * of.dim(-1);
    case Within::kClasses:
      return of.dim(of.rank() > 1 ? 1 : 0);
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
  for (const auto& row : facts_of(call.name()).index)
    if (row.argument == argument)
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
  const bool unit =
      is(call.name(), Fact::kTakesProbabilities) || std::ranges::binary_search(kUnitArguments, argument);
  return {unit ? Fill::kUnit : Fill::kAround0};
}

bool has_random_kernels(at::ScalarType type) {
  return type == at::kFloat || type == at::kDouble || type == at::kHalf || type == at::kBFloat16;
}

namespace {

// What was drawn for the begin, over and over: the values of more matter to no time, and drawing them takes
// seconds.
constexpr std::int64_t kDrawn = std::int64_t{1} << 18;

void repeat_begin(const at::Tensor& memory) {
  for (std::int64_t filled = kDrawn; filled < memory.numel();) {
    const auto more = std::min(filled, memory.numel() - filled);
    memory.narrow(0, filled, more).copy_(memory.narrow(0, 0, more));
    filled += more;
  }
}

}  // namespace

void fill_with(const at::Tensor& tensor, const Data& data) {
  if (tensor.dim() == 1 && tensor.numel() > kDrawn && data.fill != Fill::kAscending &&
      data.fill != Fill::kZero) {
    fill_with(tensor.narrow(0, 0, kDrawn), data);
    return repeat_begin(tensor);
  }
  switch (data.fill) {
    case Fill::kAround0:
    case Fill::kUnit: {
      const double low = data.fill == Fill::kUnit ? 0.1 : -1, high = data.fill == Fill::kUnit ? 0.9 : 1;
      if (has_random_kernels(tensor.scalar_type()))
        tensor.uniform_(low, high);
      else if (tensor.is_complex())
        at::view_as_real(tensor).uniform_(low, high);
      else
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
