#include "readers/pt2/arguments.h"

#include <limits>

namespace opscope {
namespace {

std::string_view memory_format(std::int64_t number) {
  constexpr std::string_view kNames[] = {"unknown", "contiguous", "channels_last", "channels_last_3d",
                                         "preserve"};
  return number >= 0 && number < 5 ? kNames[number] : kNames[0];
}

}  // namespace

Argument Pt2Arguments::argument(Pt2Frame& frame, std::string_view name, dom::element item) {
  const auto [tag, value] = dom::tagged(item, where_);
  if (tag == "as_none") return out_.none(name);
  if (tag == "as_tensor") return out_.tensor(name, frame.tensor(dom::text_field(value, "name", where_)));
  if (tag == "as_tensors" || tag == "as_optional_tensors") return tensor_list(frame, name, value);
  if (tag == "as_optional_tensor") return argument(frame, name, value);
  if (tag == "as_int") return out_.integer(name, dom::integer(value, where_));
  if (tag == "as_bool") return boolean(name, value);
  if (tag == "as_float") return out_.real(name, real(value));
  if (tag == "as_string" || tag == "as_operator") return out_.text(name, dom::text(value, where_));
  if (tag == "as_ints") return int_list(name, value);
  if (tag == "as_bools") return bool_list(name, value);
  if (tag == "as_floats") return float_list(name, value);
  if (tag == "as_sym_int") return sym_int(frame, name, value);
  if (tag == "as_sym_ints") return sym_int_list(frame, name, value);
  if (tag == "as_scalar_type") return out_.dtype(name, pt2_dtype(dom::integer(value, where_)));
  if (tag == "as_memory_format") return out_.text(name, memory_format(dom::integer(value, where_)));
  if (tag == "as_device") return out_.text(name, dom::text_field(value, "type", where_));
  return out_.text(name, tag.starts_with("as_") ? tag.substr(3) : tag);
}

Argument Pt2Arguments::boolean(std::string_view name, dom::element value) {
  bool truth = false;
  if (value.get(truth)) dom::fail(where_, "expected true or false in the graph");
  // Of a dropout and of a cast: it will not return its input.
  if (truth && (name == "train" || name == "copy")) flag = true;
  return out_.boolean(name, truth);
}

double Pt2Arguments::real(dom::element value) const {
  double number = 0;
  std::string_view word;
  if (!value.get(number)) return number;
  if (value.get(word)) dom::fail(where_, "expected a number in the graph");
  if (word == "Infinity") return std::numeric_limits<double>::infinity();
  if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::numeric_limits<double>::quiet_NaN();
}

Argument Pt2Arguments::tensor_list(Pt2Frame& frame, std::string_view name, dom::element value) {
  std::vector<ValueId> ids;
  for (const auto item : dom::list(value, where_)) {
    if (dom::field(item, "as_none")) {
      ids.push_back(kNone);
      continue;
    }
    const auto inner = dom::field(item, "as_tensor");
    ids.push_back(frame.tensor(dom::text_field(inner ? *inner : item, "name", where_)));
  }
  return out_.tensors(name, ids);
}

Argument Pt2Arguments::int_list(std::string_view name, dom::element value) {
  std::vector<std::int64_t> items;
  for (const auto item : dom::list(value, where_)) items.push_back(dom::integer(item, where_));
  return out_.ints(name, items);
}

Argument Pt2Arguments::bool_list(std::string_view name, dom::element value) {
  std::vector<std::int64_t> items;
  for (const auto item : dom::list(value, where_)) {
    bool truth = false;
    if (item.get(truth)) dom::fail(where_, "expected true or false in the graph");
    items.push_back(truth);
  }
  auto made = out_.ints(name, items);
  made.kind = ArgumentKind::kBoolList;
  return made;
}

Argument Pt2Arguments::float_list(std::string_view name, dom::element value) {
  std::vector<double> items;
  for (const auto item : dom::list(value, where_)) items.push_back(real(item));
  return {.name = out_.graph.intern(name),
          .kind = ArgumentKind::kFloatList,
          .range = out_.graph.add_reals(items)};
}

std::optional<std::int64_t> Pt2Arguments::sym_value(Pt2Frame& frame, dom::element value) const {
  const auto [tag, item] = dom::tagged(value, where_);
  if (tag == "as_int") return dom::integer(item, where_);
  return frame.integer(dom::text(item, where_));
}

Argument Pt2Arguments::sym_int(Pt2Frame& frame, std::string_view name, dom::element value) {
  const auto number = sym_value(frame, value);
  return number ? out_.integer(name, *number) : out_.text(name, "sym_int");
}

Argument Pt2Arguments::sym_int_list(Pt2Frame& frame, std::string_view name, dom::element value) {
  std::vector<std::int64_t> items;
  for (const auto item : dom::list(value, where_)) {
    const auto number = sym_value(frame, item);
    if (!number) return out_.text(name, "sym_ints");
    items.push_back(*number);
  }
  return out_.ints(name, items);
}

void Pt2Arguments::collect_names(dom::element item, std::vector<std::string_view>& names) const {
  const auto [tag, value] = dom::tagged(item, where_);
  if (tag == "as_tensor")
    names.push_back(dom::text_field(value, "name", where_));
  else if (tag == "as_tensors" || tag == "as_optional_tensors")
    for (const auto one : dom::list(value, where_)) {
      const auto inner = dom::field(one, "as_tensor");
      const auto name = dom::field(inner ? *inner : one, "name");
      names.push_back(name ? dom::text(*name, where_) : std::string_view{});
    }
  else if (tag == "as_optional_tensor")
    collect_names(value, names);
  else
    names.emplace_back();
}

}  // namespace opscope
