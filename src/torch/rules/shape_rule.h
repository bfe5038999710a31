// Shape rules: what an op's outputs look like, worked out in C++ without running PyTorch's meta kernels. One
// row and one function per op, in its family's file. A rule that sees anything it does not fully understand
// returns false, so that PyTorch itself decides, and raises its own errors.
#pragma once

#include <span>
#include <string_view>

#include "torch/engine/torch_headers.h"

namespace opscope::engine {

class Recording;
struct OpInfo;

using Sizes = c10::SmallVector<std::int64_t, 6>;

class RuleCall {
 public:
  RuleCall(Recording& recording, at::ArrayRef<c10::IValue> arguments, const OpInfo& info)
      : recording_(recording), arguments_(arguments), info_(info) {}

  std::size_t size() const { return arguments_.size(); }
  const c10::IValue& at(std::size_t i) const { return arguments_[i]; }
  bool none(std::size_t i) const { return arguments_[i].isNone(); }
  // A defined, strided tensor argument; nullptr otherwise.
  const at::Tensor* tensor(std::size_t i) const {
    return arguments_[i].isTensor() ? plain(arguments_[i].toTensor()) : nullptr;
  }
  const at::Tensor* plain(const at::Tensor& tensor) const;
  std::int64_t integer(std::size_t i, std::int64_t otherwise = 0) const {
    return arguments_[i].isInt() ? arguments_[i].toInt() : otherwise;
  }
  bool flag(std::size_t i) const { return arguments_[i].isBool() && arguments_[i].toBool(); }
  at::ScalarType dtype(std::size_t i, at::ScalarType otherwise) const {
    return arguments_[i].isInt() ? static_cast<at::ScalarType>(arguments_[i].toInt()) : otherwise;
  }
  Sizes ints(std::size_t i) const;  // an int list, or a single int as a list of one; empty for None

  Recording& recording() { return recording_; }
  const OpInfo& info() const { return info_; }

  // Results, in order.
  void output(c10::IntArrayRef sizes, at::ScalarType dtype);  // new memory, contiguous
  void output(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype);
  void output(c10::IntArrayRef sizes, at::ScalarType dtype, at::MemoryFormat format);
  void view(const at::Tensor& base, c10::IntArrayRef sizes, c10::IntArrayRef strides, std::int64_t offset);
  void same(std::size_t i) { results_.emplace_back(arguments_[i]); }  // the argument itself
  void undefined() { results_.emplace_back(at::Tensor()); }
  at::Tensor make(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype);
  at::Tensor make_view(const at::Tensor& base, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                       std::int64_t offset);
  // What the real kernel allocates on top of what it has made so far, and lets go again before it returns.
  void allocates(std::uint64_t bytes);
  void push(c10::IValue value) { results_.push_back(std::move(value)); }

  c10::SmallVector<c10::IValue, 3>& results() { return results_; }

 private:
  Recording& recording_;
  at::ArrayRef<c10::IValue> arguments_;
  const OpInfo& info_;
  c10::SmallVector<c10::IValue, 3> results_;
};

using ShapeRule = bool (*)(RuleCall&);

struct ShapeRuleRow {
  std::string_view name;  // "aten::conv2d", all overloads unless `overload` says which
  std::string_view overload;
  ShapeRule rule;
};

inline constexpr std::string_view kAnyOverload = "*";

ShapeRule find_shape_rule(std::string_view name, std::string_view overload);
std::span<const ShapeRuleRow> all_shape_rules();  // sorted by name and overload
std::span<const ShapeRuleRow> pointwise_shape_rules();
std::span<const ShapeRuleRow> activation_shape_rules();
std::span<const ShapeRuleRow> matmul_shape_rules();
std::span<const ShapeRuleRow> conv_shape_rules();
std::span<const ShapeRuleRow> norm_shape_rules();
std::span<const ShapeRuleRow> pool_shape_rules();
std::span<const ShapeRuleRow> resize_shape_rules();
std::span<const ShapeRuleRow> reduction_shape_rules();
std::span<const ShapeRuleRow> view_shape_rules();
std::span<const ShapeRuleRow> split_shape_rules();
std::span<const ShapeRuleRow> copy_shape_rules();
std::span<const ShapeRuleRow> cat_shape_rules();
std::span<const ShapeRuleRow> index_shape_rules();
std::span<const ShapeRuleRow> recurrent_shape_rules();
std::span<const ShapeRuleRow> quantised_shape_rules();
std::span<const ShapeRuleRow> fft_shape_rules();
std::span<const ShapeRuleRow> fold_shape_rules();
std::span<const ShapeRuleRow> backward_shape_rules();

Sizes contiguous_strides(c10::IntArrayRef sizes);
Sizes format_strides(c10::IntArrayRef sizes, at::MemoryFormat format);

}  // namespace opscope::engine
