// Shape rules: what an op's outputs look like, worked out in C++ without running PyTorch's meta kernels. One
// row and one function per op, in its family's file. A rule that sees anything it does not fully understand
// returns false, so that PyTorch itself decides, and raises its own errors.
#pragma once

#include <span>
#include <string_view>

#include "torch/recording/size_bounds.h"
#include "torch/recording/storages.h"

namespace opscope::engine {

using Sizes = c10::SmallVector<std::int64_t, 6>;

class RuleCall {
 public:
  struct Capture {
    Storages& storages;
    SizeBounds& bounds;
    int threads;          // of a real run
    std::string_view op;  // "aten::conv2d"
  };
  RuleCall(const Capture& capture, at::ArrayRef<c10::IValue> arguments)
      : capture_(capture), arguments_(arguments) {}

  std::size_t size() const { return arguments_.size(); }
  const c10::IValue& at(std::size_t i) const { return arguments_[i]; }
  bool none(std::size_t i) const { return arguments_[i].isNone(); }
  // None, or below autograd a tensor that is none.
  bool absent(std::size_t i) const {
    return none(i) || (arguments_[i].isTensor() && !arguments_[i].toTensor().defined());
  }
  // A defined, strided tensor argument; nullptr otherwise.
  const at::Tensor* tensor(std::size_t i) const {
    return arguments_[i].isTensor() ? plain(arguments_[i].toTensor()) : nullptr;
  }
  const at::Tensor* plain(const at::Tensor& tensor) const;
  const at::Tensor* floats(std::size_t i) const {  // likewise, of a floating dtype
    const at::Tensor* found = tensor(i);
    return found && c10::isFloatingType(found->scalar_type()) ? found : nullptr;
  }
  std::int64_t integer(std::size_t i, std::int64_t otherwise = 0) const {
    return arguments_[i].isInt() ? arguments_[i].toInt() : otherwise;
  }
  bool flag(std::size_t i) const { return arguments_[i].isBool() && arguments_[i].toBool(); }
  at::ScalarType dtype(std::size_t i, at::ScalarType otherwise) const {
    return arguments_[i].isInt() ? static_cast<at::ScalarType>(arguments_[i].toInt()) : otherwise;
  }
  Sizes ints(std::size_t i) const;  // an int list, or a single int as a list of one; empty for None

  c10::Device device() const { return capture_.storages.device; }
  int threads() const { return capture_.threads; }
  bool is_unknown(const at::Tensor& tensor) const { return capture_.storages.is_unknown(tensor); }
  at::Tensor known_value(const at::Tensor& tensor) const { return capture_.storages.known_value(tensor); }
  // Sizes that depend on data: the user's limit, and the size to take for one that is at most `largest`.
  std::optional<std::int64_t> limit(std::string_view name) const { return capture_.bounds.limit(name); }
  std::int64_t bound(std::string_view name, std::int64_t largest) {
    return capture_.bounds.bound(capture_.op, name, largest);
  }

  // Results, in order. True, so that a rule can end with its last one.
  bool push(c10::IValue value) {
    results_.push_back(std::move(value));
    return true;
  }
  bool output(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype) {  // new memory
    return push(make(sizes, strides, dtype));
  }
  bool output(c10::IntArrayRef sizes, at::ScalarType dtype);  // contiguous
  bool output(c10::IntArrayRef sizes, at::ScalarType dtype, at::MemoryFormat format);
  bool view(const at::Tensor& base, c10::IntArrayRef sizes, c10::IntArrayRef strides, std::int64_t offset) {
    return push(make_view(base, sizes, strides, offset));
  }
  bool same(std::size_t i) { return push(arguments_[i]); }  // the argument itself
  // A gradient where the flags of argument `mask` ask for the i-th, else an undefined tensor.
  bool wants(std::size_t mask, std::size_t i) const;
  bool gradient(std::size_t mask, std::size_t i, c10::IntArrayRef sizes, at::ScalarType dtype) {
    return wants(mask, i) ? output(sizes, dtype) : push(at::Tensor());
  }
  at::Tensor known(const at::Tensor& value) { return capture_.storages.as_known(value); }
  at::Tensor make(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype);
  at::Tensor make_view(const at::Tensor& base, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                       std::int64_t offset);
  // What the real kernel allocates on top of what it has made so far, and lets go again before it returns.
  void allocates(std::uint64_t bytes);
  c10::SmallVector<c10::IValue, 3>& results() { return results_; }

 private:
  Capture capture_;
  at::ArrayRef<c10::IValue> arguments_;
  c10::SmallVector<c10::IValue, 3> results_;
};

using ShapeRule = bool (*)(RuleCall&);

// A family's row may have several names, and several overloads, with a space between them.
struct ShapeRuleRow {
  std::string_view name;      // "aten::conv2d"
  std::string_view overload;  // or kAnyOverload
  ShapeRule rule;
  ShapeRule in_place = nullptr;  // of the op with an underscore behind its name
};

inline constexpr std::string_view kAnyOverload = "*";

ShapeRule find_shape_rule(std::string_view name, std::string_view overload);
// For ops whose sizes depend on data; throws NeedsValues where not even a limit was given.
ShapeRule find_size_rule(std::string_view name);
struct NeedsValues {};
std::span<const ShapeRuleRow> all_shape_rules();  // one for each op, sorted by name and overload
std::span<const ShapeRuleRow> pointwise_shape_rules();
std::span<const ShapeRuleRow> matmul_shape_rules();
std::span<const ShapeRuleRow> conv_shape_rules();
std::span<const ShapeRuleRow> norm_shape_rules();
std::span<const ShapeRuleRow> spatial_shape_rules();
std::span<const ShapeRuleRow> reduction_shape_rules();
std::span<const ShapeRuleRow> view_shape_rules();
std::span<const ShapeRuleRow> copy_shape_rules();
std::span<const ShapeRuleRow> cat_shape_rules();
std::span<const ShapeRuleRow> index_shape_rules();
std::span<const ShapeRuleRow> recurrent_shape_rules();
std::span<const ShapeRuleRow> linalg_shape_rules();
std::span<const ShapeRuleRow> optimizer_shape_rules();

inline Sizes copy_of(c10::IntArrayRef values) { return Sizes(values.begin(), values.end()); }
inline Sizes sizes_of(const at::Tensor& tensor) { return copy_of(tensor.sizes()); }
// The tensor's sizes with another in dimension `dim`, which counts from the front.
inline Sizes with_size(const at::Tensor& tensor, std::int64_t dim, std::int64_t size) {
  Sizes sizes = sizes_of(tensor);
  sizes[static_cast<std::size_t>(dim)] = size;
  return sizes;
}
Sizes contiguous_strides(c10::IntArrayRef sizes);
Sizes format_strides(c10::IntArrayRef sizes, at::MemoryFormat format);

}  // namespace opscope::engine
