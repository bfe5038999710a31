// How rules read arguments and make results, and the search for an op's rule.
#include "torch/rules/shape_rule.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "base/text.h"

namespace opscope::engine {
namespace {

std::vector<ShapeRuleRow> merged_rules() {
  static std::deque<std::string> in_place_names;
  std::vector<ShapeRuleRow> rows;
  for (const auto family : {pointwise_shape_rules(), matmul_shape_rules(), conv_shape_rules(),
                            norm_shape_rules(), spatial_shape_rules(), reduction_shape_rules(),
                            view_shape_rules(), copy_shape_rules(), cat_shape_rules(), index_shape_rules(),
                            recurrent_shape_rules(), linalg_shape_rules(), optimizer_shape_rules()})
    for (const auto& [names, overloads, rule, in_place] : family)
      for (const auto name : split_by(names, ' '))
        for (const auto overload : split_by(overloads, ' ')) {
          rows.push_back({name, overload, rule});
          if (in_place)
            rows.push_back({in_place_names.emplace_back(std::string(name) + '_'), overload, in_place});
        }
  std::ranges::sort(rows, {}, [](const ShapeRuleRow& row) { return std::pair(row.name, row.overload); });
  return rows;
}

// Rows for all overloads do not speak for those that write into a given tensor or name dimensions.
bool is_ordinary(std::string_view overload) {
  return overload.find("out") == overload.npos && overload.find("Out") == overload.npos &&
         overload.find("ame") == overload.npos;
}

}  // namespace

const at::Tensor* RuleCall::plain(const at::Tensor& tensor) const {
  if (!tensor.defined() || tensor.layout() != c10::kStrided) return nullptr;
  const auto keys = tensor.unsafeGetTensorImpl()->key_set();
  constexpr c10::DispatchKeySet odd{
      c10::DispatchKey::Conjugate,           c10::DispatchKey::Negative,   c10::DispatchKey::Python,
      c10::DispatchKey::Quantized,           c10::DispatchKey::ZeroTensor, c10::DispatchKey::FuncTorchBatched,
      c10::DispatchKey::FuncTorchGradWrapper};
  return keys.has_any(odd) ? nullptr : &tensor;
}

Sizes RuleCall::ints(std::size_t i) const {
  Sizes values;
  if (arguments_[i].isInt()) {
    values.push_back(arguments_[i].toInt());
  } else if (arguments_[i].isList()) {
    for (const c10::IValue& item : arguments_[i].toListRef()) values.push_back(item.toInt());
  }
  return values;
}

bool RuleCall::wants(std::size_t mask, std::size_t i) const {
  const auto flags = arguments_[mask].toBoolList();
  return i < flags.size() && flags.get(i);
}

at::Tensor RuleCall::make(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype) {
  at::Tensor made = make_abstract(sizes, strides, dtype, device());
  capture_.storages.own_new(made);
  return made;
}

at::Tensor RuleCall::make_view(const at::Tensor& base, c10::IntArrayRef sizes, c10::IntArrayRef strides,
                               std::int64_t offset) {
  auto& storages = capture_.storages;
  at::Tensor made =
      make_abstract_view(storages.standin(base), sizes, strides, offset, base.scalar_type(), device());
  storages.own(made, storages.id_of(base), storages.kind_of(base));
  return made;
}

void RuleCall::allocates(std::uint64_t bytes) { capture_.storages.lifetimes->allocate(bytes); }

bool RuleCall::output(c10::IntArrayRef sizes, at::ScalarType dtype) {
  return output(sizes, engine::contiguous_strides(sizes), dtype);
}

bool RuleCall::output(c10::IntArrayRef sizes, at::ScalarType dtype, at::MemoryFormat format) {
  return output(sizes, format_strides(sizes, format), dtype);
}

Sizes contiguous_strides(c10::IntArrayRef sizes) {
  Sizes strides(sizes.size());
  std::int64_t next = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = next;
    next *= std::max<std::int64_t>(sizes[i], 1);
  }
  return strides;
}

Sizes format_strides(c10::IntArrayRef sizes, at::MemoryFormat format) {
  const bool last_2d = format == at::MemoryFormat::ChannelsLast && sizes.size() == 4;
  const bool last_3d = format == at::MemoryFormat::ChannelsLast3d && sizes.size() == 5;
  if (!last_2d && !last_3d) return engine::contiguous_strides(sizes);
  const std::size_t rank = sizes.size();
  Sizes strides(rank);
  strides[1] = 1;
  std::int64_t next = sizes[1];
  for (std::size_t i = rank; i-- > 2;) {
    strides[i] = next;
    next *= sizes[i];
  }
  strides[0] = next;
  return strides;
}

std::span<const ShapeRuleRow> all_shape_rules() {
  static const std::vector<ShapeRuleRow> rows = merged_rules();
  return rows;
}

ShapeRule find_shape_rule(std::string_view name, std::string_view overload) {
  const auto rows = all_shape_rules();
  ShapeRule any = nullptr;
  for (const ShapeRuleRow& row : std::ranges::equal_range(rows, name, {}, &ShapeRuleRow::name)) {
    if (row.overload == overload) return row.rule;
    if (row.overload == kAnyOverload && is_ordinary(overload)) any = row.rule;
  }
  return any;
}

}  // namespace opscope::engine
