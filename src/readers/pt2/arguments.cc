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

}  // namespace opscope
