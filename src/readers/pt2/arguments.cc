#include "readers/pt2/arguments.h"

#include <fmt/format.h>

#include <limits>

#include "base/text.h"

namespace opscope {
namespace {

std::string_view memory_format(std::int64_t number) {
  constexpr std::string_view kNames[] = {"unknown", "contiguous", "channels_last", "channels_last_3d",
                                         "preserve"};
  return number >= 0 && number < 5 ? kNames[number] : kNames[0];
}

}  // namespace

Argument Pt2Arguments::argument(Pt2Frame& frame, std::string_view name, dom::Item item) {
  const auto [tag, value] = item.tagged();
  if (tag == "as_none") return out_.none(name);
  if (tag == "as_tensor") return out_.tensor(name, frame.tensor(value.text("name")));
  if (tag == "as_tensors" || tag == "as_optional_tensors") return tensor_list(frame, name, value);
  if (tag == "as_optional_tensor") return argument(frame, name, value);
  if (tag == "as_int") return out_.integer(name, value.integer());
  if (tag == "as_bool") return boolean(name, value);
  if (tag == "as_float") return out_.real(name, real(value));
  if (tag == "as_string" || tag == "as_operator") return out_.text(name, value.text());
  if (tag == "as_ints") return int_list(name, value);
  if (tag == "as_bools") return bool_list(name, value);
  if (tag == "as_floats") return float_list(name, value);
  if (tag == "as_sym_int") return sym_int(frame, name, value);
  if (tag == "as_sym_ints") return sym_int_list(frame, name, value);
  if (tag == "as_scalar_type") return out_.dtype(name, pt2_dtype(value.integer()));
  if (tag == "as_memory_format") return out_.text(name, memory_format(value.integer()));
  if (tag == "as_device") return out_.text(name, value.text("type"));
  return out_.text(name, tag.starts_with("as_") ? tag.substr(3) : tag);
}

Argument Pt2Arguments::boolean(std::string_view name, dom::Item value) {
  const bool truth = value.boolean();
  // Of a dropout and of a cast: it will not return its input.
  if (truth && (name == "train" || name == "copy")) flag = true;
  return out_.boolean(name, truth);
}

double Pt2Arguments::real(dom::Item value) {
  if (!value.is_text()) return value.real();
  const std::string_view word = value.text();
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

Argument Pt2Arguments::tensor_list(Pt2Frame& frame, std::string_view name, dom::Item value) {
  std::vector<ValueId> ids;
  for (const auto item : value.items()) {
    if (item.find("as_none")) {
      ids.push_back(kNone);
      continue;
    }
    const auto inner = item.find("as_tensor");
    ids.push_back(frame.tensor((inner ? *inner : item).text("name")));
  }
  return out_.tensors(name, ids);
}

Argument Pt2Arguments::int_list(std::string_view name, dom::Item value) {
  std::vector<std::int64_t> items;
  for (const auto item : value.items()) items.push_back(item.integer());
  return out_.ints(name, items);
}

Argument Pt2Arguments::bool_list(std::string_view name, dom::Item value) {
  std::vector<std::int64_t> items;
  for (const auto item : value.items()) items.push_back(item.boolean());
  auto made = out_.ints(name, items);
  made.kind = ArgumentKind::kBoolList;
  return made;
}

Argument Pt2Arguments::float_list(std::string_view name, dom::Item value) {
  std::vector<double> items;
  for (const auto item : value.items()) items.push_back(real(item));
  return {.name = out_.graph.intern(name),
          .kind = ArgumentKind::kFloatList,
          .range = out_.graph.add_reals(items)};
}

std::optional<std::int64_t> Pt2Arguments::sym_value(Pt2Frame& frame, dom::Item value) const {
  const auto [tag, item] = value.tagged();
  if (tag == "as_int") return item.integer();
  return frame.integer(item.text());
}

Argument Pt2Arguments::sym_int(Pt2Frame& frame, std::string_view name, dom::Item value) {
  const auto number = sym_value(frame, value);
  return number ? out_.integer(name, *number) : out_.text(name, "sym_int");
}

Argument Pt2Arguments::sym_int_list(Pt2Frame& frame, std::string_view name, dom::Item value) {
  std::vector<std::int64_t> items;
  for (const auto item : value.items()) {
    const auto number = sym_value(frame, item);
    if (!number) return out_.text(name, "sym_ints");
    items.push_back(*number);
  }
  return out_.ints(name, items);
}

void Pt2Arguments::collect_names(dom::Item item, std::vector<std::string_view>& names) const {
  const auto [tag, value] = item.tagged();
  if (tag == "as_tensor")
    names.push_back(value.text("name"));
  else if (tag == "as_tensors" || tag == "as_optional_tensors")
    for (const auto one : value.items()) {
      const auto inner = one.find("as_tensor");
      const auto name = (inner ? *inner : one).find("name");
      names.push_back(name ? name->text() : std::string_view{});
    }
  else if (tag == "as_optional_tensor")
    collect_names(value, names);
  else
    names.emplace_back();
}

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
