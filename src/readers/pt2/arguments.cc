#include "readers/pt2/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace opscope {
namespace {

// schema.py's ScalarType.
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

// kUndefined for a number that is none of them.
DType dtype_of(std::int64_t scalar_type) {
  const auto* const row = std::ranges::find(kScalarTypes, scalar_type, &ScalarType::number);
  return row == std::end(kScalarTypes) ? DType::kUndefined : row->dtype;
}

std::string_view memory_format(std::int64_t number) {
  constexpr std::string_view kNames[] = {"unknown", "contiguous", "channels_last", "channels_last_3d",
                                         "preserve"};
  return number >= 0 && number < 5 ? kNames[number] : kNames[0];
}

double real(dom::Item value) {
  if (!value.is_text()) return value.real();
  const std::string_view word = value.text();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

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

Argument pt2_argument(GraphAssembler& out, const Pt2Frame& frame, std::string_view name, dom::Item item) {
  const auto [tag, value] = item.tagged();
  if (tag == "as_none") return out.none(name);
  if (tag == "as_tensor") return out.tensor(name, frame.tensor(value.text("name")));
  if (tag == "as_tensors" || tag == "as_optional_tensors")
    return out.tensors(name, value.all([&](dom::Item one) {
      return one.find("as_none") ? kNone : frame.tensor(one.find("as_tensor").value_or(one).text("name"));
    }));
  if (tag == "as_optional_tensor") return pt2_argument(out, frame, name, value);
  if (tag == "as_int") return out.integer(name, value.integer());
  if (tag == "as_bool") return out.boolean(name, value.boolean());
  if (tag == "as_float") return out.real(name, real(value));
  if (tag == "as_string" || tag == "as_operator") return out.text(name, value.text());
  if (tag == "as_ints") return out.list(name, value.all(&dom::Item::integer));
  if (tag == "as_bools") return out.list(name, value.all(&dom::Item::boolean));
  if (tag == "as_floats") return out.list(name, value.all(real));
  if (tag == "as_sym_int") {
    const auto number = sym_value(frame, value);
    return number ? out.integer(name, *number) : out.text(name, "sym_int");
  }
  if (tag == "as_sym_ints") {
    std::vector<std::int64_t> items;
    for (const auto one : value.items()) {
      const auto number = sym_value(frame, one);
      if (!number) return out.text(name, "sym_ints");
      items.push_back(*number);
    }
    return out.list(name, items);
  }
  if (tag == "as_scalar_type") return out.dtype(name, dtype_of(value.integer()));
  if (tag == "as_memory_format") return out.text(name, memory_format(value.integer()));
  if (tag == "as_device") return out.text(name, value.text("type"));
  return out.text(name, tag.starts_with("as_") ? tag.substr(3) : tag);
}

std::optional<std::int64_t> sym_value(const Pt2Frame& frame, dom::Item value) {
  const auto [tag, item] = value.tagged();
  return tag == "as_int" ? item.integer() : frame.integer(item.text());
}

std::string_view tensor_name(dom::Item item) {
  const auto name = item.find("as_tensor").value_or(item).find("name");
  return name ? name->text() : std::string_view{};
}

void collect_names(dom::Item item, std::vector<std::string_view>& names) {
  const auto [tag, value] = item.tagged();
  if (tag == "as_tensor")
    names.push_back(value.text("name"));
  else if (tag == "as_tensors" || tag == "as_optional_tensors")
    for (const auto one : value.items()) names.push_back(tensor_name(one));
  else if (tag == "as_optional_tensor")
    collect_names(value, names);
  else
    names.emplace_back();
}

Pt2Frame::Pt2Frame(dom::Item graph, Symbols& symbols) : graph_(graph), symbols_(symbols) {
  index(tensors_, graph, "tensor_values");
  index(integers_, graph, "sym_int_values");
}

ValueSpec Pt2Frame::spec(std::string_view name) const {
  const auto* found = meta(name);
  if (found == nullptr) graph_.source().fail("no shape for the value '" + truncate(name, 40) + "'");
  ValueSpec spec;
  spec.dtype = dtype_of(found->at("dtype").integer());
  for (const auto item : found->items("sizes")) {
    spec.shape.push_back(sym_int(item));
    if (spec.shape.back() < 0)
      throw Error(fmt::format("a dimension of '{}' would be {}", truncate(name, 40), spec.shape.back()),
                  graph_.source().where, "give other values with --dim");
    if (spec.shape.size() > kMostDims) graph_.source().fail("a value of more than 64 dimensions");
  }
  const auto layout = found->find("layout");
  const bool is_strided = !layout || layout->integer() == kStrided;
  if (!is_strided) spec.strides.emplace();
  if (const auto strides = found->find("strides"); is_strided && strides)
    spec.strides = strides->all([&](dom::Item item) { return sym_int(item); });
  if (is_strided && spec.strides && spec.strides->size() != spec.shape.size()) spec.strides.reset();
  if (const auto offset = found->find("storage_offset")) spec.offset = sym_int(*offset);
  if (const auto device = found->find("device")) spec.device = device->text("type");
  return spec;
}

void Pt2Frame::describe_dims(std::string_view name) const {
  const auto* found = meta(name);
  if (found == nullptr) return;
  std::size_t i = 0;
  for (const auto item : found->items("sizes")) {
    const auto at = i++;
    const auto expression = item.find("as_expr");
    const auto symbol = expression ? lone_symbol(expression->text("expr_str")) : std::string_view{};
    if (symbol.empty()) continue;
    auto words = fmt::format("dimension {} of {}", at, truncate(name, 40));
    const auto hint = expression->find("hint");
    if (const auto was = hint ? hint->find("as_int") : std::nullopt)
      words += fmt::format(", {} when it was exported", was->integer());
    symbols_.describe(symbol, words);
  }
}

}  // namespace opscope
