// The parts of a capture that end in the graph's pools: lists, names, and the arguments of an op. The inverse
// of the writer's arguments: plain JSON where its type says enough, {"kind": ..} otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "readers/json/access.h"

namespace opscope {

class ArgumentReader {
 public:
  ArgumentReader(Graph& graph, json::Place& place) : graph_(graph), place_(place) {}

  StringId string(json::value item) { return graph_.intern(json::text(place_, item)); }
  // Most values have the dtype and the device of the one before.
  DType dtype(json::value item) {
    const auto word = json::text(place_, item);
    if (name(last_dtype_) == word) return last_dtype_;
    const auto found = dtype_from_name(word);
    if (!found) json::fail(place_, "not a dtype that opscope knows");
    return last_dtype_ = *found;
  }
  StringId device(json::value item) {
    const auto word = json::text(place_, item);
    if (graph_.text(last_device_) != word) last_device_ = graph_.intern(word);
    return last_device_;
  }
  // Takers of fields. Ids are there for people; they are the index or the file is not ours.
  auto check_id(std::size_t index) const {
    return [this, index](json::value item) {
      if (json::natural(place_, item) != index) json::fail(place_, "expected " + std::to_string(index));
    };
  }
  auto to_string(StringId& to) {
    return [this, &to](json::value item) { to = string(item); };
  }
  auto to_own_string(StringId& to) {  // of paths and the like, which hardly repeat
    return [this, &to](json::value item) { to = graph_.add_text(json::text(place_, item)); };
  }

  Range integers(json::value list) { return kept_once(collect(list, graph_.dims, json::integer)); }
  Range references(json::value list) { return collect(list, graph_.value_refs, json::id); }
  Range node_references(json::value list) { return collect(list, graph_.node_refs, json::id); }
  // {"input":{"tensor":0},"stride":{"ints":[2,2]},"bias":null}
  Range arguments(json::value object) {
    const auto begin = graph_.arguments.size();
    for (auto result : json::take(place_, object.get_object(), "an object")) {
      auto field = json::take(place_, result, "an object that is closed");
      Argument argument;
      argument.name = argument_name(json::take(place_, field.unescaped_key(), "a key"));
      read(argument, field.value());
      graph_.arguments.push_back(argument);
    }
    return since(begin, graph_.arguments);
  }

 private:
  using Type = simdjson::ondemand::json_type;

  Range reals(json::value list) { return collect(list, graph_.reals, json::real); }
  Range booleans(json::value list) { return collect(list, graph_.dims, json::boolean); }
  Range optional_references(json::value list) {
    return collect(list, graph_.value_refs, [](const json::Place& place, json::value item) {
      const bool is_absent = json::take(place, item.is_null(), "a value's id or null");
      return is_absent ? kNone : json::id(place, item);
    });
  }

  // A model has few argument names and uses them over and over: a small direct-mapped memory saves the
  // look-up.
  StringId argument_name(std::string_view word) {
    std::size_t slot = word.size() * 31;
    if (!word.empty())
      slot += static_cast<unsigned char>(word.front()) * 7u + static_cast<unsigned char>(word.back());
    auto& recent = recent_names_[slot % recent_names_.size()];
    if (graph_.text(recent) != word) recent = graph_.intern(word);
    return recent;
  }

  // Few shapes, strides and lists are used over and over: a list that was read lately is not kept again.
  Range kept_once(Range list) {
    const std::span<const std::int64_t> numbers(graph_.dims.data() + list.begin, list.size);
    std::uint64_t hash = 0;
    for (const std::int64_t number : numbers)
      hash = (hash + static_cast<std::uint64_t>(number)) * 0x9E3779B97F4A7C15;  // the upper bits are mixed
    Range& recent = recent_lists_[hash >> 56];
    if (!std::ranges::equal(numbers, std::span(graph_.dims.data() + recent.begin, recent.size)))
      return recent = list;
    graph_.dims.resize(list.begin);
    return recent;
  }

  static void set(Argument& argument, ArgumentKind kind, std::int64_t integer) {
    argument = {.name = argument.name, .kind = kind, .integer = integer};
  }
  static void set(Argument& argument, ArgumentKind kind, Range range) {
    argument = {.name = argument.name, .kind = kind, .range = range};
  }
  static void set(Argument& argument, ArgumentKind kind, double real) {
    argument = {.name = argument.name, .kind = kind, .real = real};
  }

  void read(Argument& argument, json::value item) {
    switch (json::take(place_, item.type(), "an argument")) {
      case Type::null:
        if (!json::take(place_, item.is_null(), "null")) json::fail(place_, "expected null");
        return;
      case Type::boolean:
        return set(argument, ArgumentKind::kBool, std::int64_t{json::boolean(place_, item)});
      case Type::string:
        return set(argument, ArgumentKind::kString, std::int64_t{string(item)});
      case Type::number:
        return read_number(argument, item);
      case Type::object:
        return read_tagged(argument, item);
      case Type::array:
        json::fail(place_, "a list that does not say of what, as {\"ints\":[1]} does");
    }
  }

  // 1 is an int, 1.0 a float.
  void read_number(Argument& argument, json::value item) {
    auto number = json::take(place_, item.get_number(), "a number");
    if (number.is_double()) return set(argument, ArgumentKind::kFloat, number.get_double());
    if (!number.is_int64()) json::fail(place_, "number out of range");
    set(argument, ArgumentKind::kInt, number.get_int64());
  }

  void read_tagged(Argument& argument, json::value item) {
    using enum ArgumentKind;
    const auto outer = place_.key;
    bool has_kind = false;
    // A field that sets the argument to what `reads` gives of its value.
    const auto kind = [&](ArgumentKind is, auto reads) {
      return [&, is, reads](json::value it) {
        if (std::exchange(has_kind, true)) json::fail(place_, "an argument has one kind only");
        set(argument, is, reads(it));
      };
    };
    const auto list = [&](ArgumentKind is, Range (ArgumentReader::*reads)(json::value)) {
      return kind(is, [this, reads](json::value it) { return (this->*reads)(it); });
    };
    json::read_fields(
        place_, item,
        json::may("tensor",
                  kind(kTensor, [&](json::value it) { return std::int64_t{json::id(place_, it)}; })),
        json::may("tensors", list(kTensorList, &ArgumentReader::optional_references)),
        json::may("float", kind(kFloat, [&](json::value it) { return json::real(place_, it); })),
        json::may("dtype",
                  kind(kDType, [&](json::value it) { return static_cast<std::int64_t>(dtype(it)); })),
        json::may("ints", list(kIntList, &ArgumentReader::integers)),
        json::may("floats", list(kFloatList, &ArgumentReader::reals)),
        json::may("bools", list(kBoolList, &ArgumentReader::booleans)));
    place_.key = outer;
    if (!has_kind) json::fail(place_, "an argument without a kind");
  }

  template <class T>
  Range since(std::size_t begin, const std::vector<T>& pool) const {
    if (pool.size() >= kNone) json::fail(place_, "more than 2^32 - 2 items of one kind");
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(pool.size() - begin)};
  }

  // A list's items, each read by `one`, at the end of a pool.
  template <class T, class Read>
  Range collect(json::value list, std::vector<T>& pool, Read one) {
    const auto begin = pool.size();
    json::each(place_, list, [&](json::value item) { pool.push_back(one(place_, item)); });
    return since(begin, pool);
  }

  Graph& graph_;
  json::Place& place_;
  DType last_dtype_ = DType::kUndefined;
  StringId last_device_ = 0;
  std::array<StringId, 256> recent_names_{};
  std::array<Range, 256> recent_lists_{};  // in dims
};

}  // namespace opscope
