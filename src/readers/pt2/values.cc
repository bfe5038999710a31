#include "readers/pt2/values.h"

#include <fmt/format.h>

#include "base/text.h"

namespace opscope {
namespace {

struct ScalarType {
  std::int64_t number;
  DType dtype;
};
constexpr ScalarType kScalarTypes[] = {
    {1, DType::kUInt8},           {2, DType::kInt8},
    {3, DType::kInt16},           {4, DType::kInt32},
    {5, DType::kInt64},           {6, DType::kFloat16},
    {7, DType::kFloat32},         {8, DType::kFloat64},
    {9, DType::kComplex32},       {10, DType::kComplex64},
    {11, DType::kComplex128},     {12, DType::kBool},
    {13, DType::kBFloat16},       {28, DType::kUInt16},
    {29, DType::kFloat8E4M3FN},   {30, DType::kFloat8E5M2},
    {31, DType::kFloat8E4M3FNUZ}, {32, DType::kFloat8E5M2FNUZ},
    {33, DType::kFloat8E8M0FNU},  {34, DType::kUInt32},
    {35, DType::kUInt64},
};
constexpr std::int64_t kStrided = 7;
constexpr std::size_t kMostDims = 64;  // as torch

void index(std::unordered_map<std::string_view, dom::Item>& table, dom::Item graph, std::string_view key) {
  if (const auto values = graph.find(key))
    for (const auto& [name, meta] : values->fields()) table.emplace(name, meta);
}

// "s77" of Symbol('s77', positive=True, integer=True), or of a plain "s77"; "" for anything more.
std::string_view lone_symbol(std::string_view expression) {
  constexpr std::string_view kOpening = "Symbol('";
  if (!expression.starts_with(kOpening))
    return expression.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") == std::string_view::npos
               ? expression
               : std::string_view{};
  expression.remove_prefix(kOpening.size());
  const auto end = expression.find('\'');
  const bool alone = end != std::string_view::npos && expression.find(')') == expression.size() - 1;
  return alone ? expression.substr(0, end) : std::string_view{};
}

}  // namespace

DType pt2_dtype(std::int64_t scalar_type) {
  for (const auto& row : kScalarTypes)
    if (row.number == scalar_type) return row.dtype;
  return DType::kUndefined;
}

Pt2Frame::Pt2Frame(dom::Item graph, Symbols& symbols) : graph_(graph), symbols_(symbols) {
  index(tensors_, graph, "tensor_values");
  index(integers_, graph, "sym_int_values");
}

const dom::Item* Pt2Frame::meta(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

std::int64_t Pt2Frame::sym_int(dom::Item item) const {
  const auto [tag, value] = item.tagged();
  if (tag == "as_int") return value.integer();
  if (tag != "as_expr") graph_.source().fail("a size of an unknown kind");
  const auto number = symbols_.evaluate(value.text("expr_str"));
  return number.value_or(1);
}

ValueSpec Pt2Frame::spec(std::string_view name) const {
  const auto* found = meta(name);
  if (found == nullptr) graph_.source().fail("no shape for the value '" + truncate(name, 40) + "'");
  ValueSpec spec;
  spec.dtype = pt2_dtype(found->at("dtype").integer());
  for (const auto item : found->items("sizes")) {
    spec.shape.push_back(sym_int(item));
    if (spec.shape.back() < 0)
      throw Error(fmt::format("a dimension of '{}' would be {}", truncate(name, 40), spec.shape.back()),
                  graph_.source().where, "give other values with --dim");
    if (spec.shape.size() > kMostDims) graph_.source().fail("a value of more than 64 dimensions");
  }
  const auto layout = found->find("layout");
  spec.strided = !layout || layout->integer() == kStrided;
  const auto strides = found->find("strides");
  if (spec.strided && strides)
    for (const auto item : strides->items()) spec.strides.push_back(sym_int(item));
  if (spec.strides.size() != spec.shape.size()) spec.strides.clear();
  if (const auto offset = found->find("storage_offset")) spec.offset = sym_int(*offset);
  if (const auto device = found->find("device")) spec.device = device->text("type");
  return spec;
}

bool Pt2Frame::requires_grad(std::string_view name) const {
  const auto* found = meta(name);
  return found != nullptr && found->boolean_or("requires_grad");
}

std::optional<std::int64_t> Pt2Frame::integer(std::string_view name) const {
  if (const auto known = known_.find(name); known != known_.end()) return known->second;
  const auto found = integers_.find(name);
  if (found == integers_.end()) return std::nullopt;
  return sym_int(found->second);
}

ValueId Pt2Frame::tensor(std::string_view name) const {
  const auto found = made_.find(name);
  if (found == made_.end())
    graph_.source().fail("an op reads '" + truncate(name, 40) + "' before anything makes it");
  return found->second;
}

void Pt2Frame::describe_dims(std::string_view name) const {
  const auto* found = meta(name);
  if (found == nullptr) return;
  std::size_t i = 0;
  for (const auto item : found->items("sizes")) {
    const auto expression = item.find("as_expr");
    if (expression) {
      const auto symbol = lone_symbol(expression->text("expr_str"));
      if (!symbol.empty()) {
        auto words = fmt::format("dimension {} of {}", i, truncate(name, 40));
        const auto hint = expression->find("hint");
        const auto was = hint ? hint->find("as_int") : std::nullopt;
        if (was) words += fmt::format(", {} when it was exported", was->integer());
        symbols_.describe(symbol, words);
      }
    }
    ++i;
  }
}

}  // namespace opscope
