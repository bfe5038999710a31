// simdjson's on-demand parser with our errors: every getter throws an Error that says where in the document
// it was ("ops[12].scope") and what it expected. Private to the readers.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/error.h"

namespace opscope::json {

using simdjson::ondemand::array;
using simdjson::ondemand::object;
using simdjson::ondemand::value;

// Where the reader is: cheap to keep up to date, made into text for errors only. `item` is kNoItem outside
// lists.
struct Place {
  static constexpr std::uint64_t kNoItem = ~std::uint64_t{0};
  std::string file;
  std::string_view section;
  std::uint64_t item = kNoItem;
  std::string_view key;

  std::string path() const;
};

[[noreturn]] void fail(const Place& place, const std::string& what);
// What a parser's error code means for the person who has the file.
[[noreturn]] void fail(const Place& place, simdjson::error_code code, std::string_view expected);

// Each passes a parsing error on and says what it wanted.
template <class T>
T take(const Place& place, simdjson::simdjson_result<T> result, std::string_view expected) {
  T taken;
  if (const auto code = std::move(result).get(taken)) [[unlikely]]
    fail(place, code, expected);
  return taken;
}

// Nothing but spaces behind what was read.
inline bool at_end(simdjson::ondemand::document& document) {
  return document.current_location().error() == simdjson::OUT_OF_BOUNDS;
}

inline std::int64_t integer(const Place& place, value item) {
  return take(place, item.get_int64(), "a whole number");
}
inline std::uint64_t natural(const Place& place, value item) {
  return take(place, item.get_uint64(), "a whole number, not negative");
}
inline std::uint32_t id(const Place& place, value item) {
  const auto number = natural(place, item);
  if (number >= ~std::uint32_t{0}) [[unlikely]]
    fail(place, "number out of range");
  return static_cast<std::uint32_t>(number);
}
inline bool boolean(const Place& place, value item) { return take(place, item.get_bool(), "true or false"); }
// Valid until the document goes. Text without escapes is not copied.
inline std::string_view text(const Place& place, value item) {
  const std::string_view token = item.raw_json_token();
  if (!token.starts_with('"') || token.find('\\') != std::string_view::npos)
    return take(place, item.get_string(), "a string");
  take(place, item.get_raw_json_string(), "a string");
  return token.substr(1, token.rfind('"') - 1);
}
// A number, or one of the words "nan", "inf", "-inf".
double real(const Place& place, value item);

template <class Visit>
void each(const Place& place, array list, Visit visit) {
  for (auto item : list) visit(take(place, item, "an array that is closed"));
}
template <class Visit>
void each(const Place& place, value list, Visit visit) {
  each(place, take(place, list.get_array(), "an array"), visit);
}

// The same for a list whose items errors are to name: "ops[12]".
template <class Visit>
void each_item(Place& place, value list, Visit visit) {
  const auto items = take(place, list.get_array(), "an array");
  place.item = 0;
  each(place, items, [&](value item) {
    visit(item);
    ++place.item;
  });
  place.item = Place::kNoItem;
}
// A list inside another section: "capture.slow_path[3]".
template <class Visit>
void each_item(Place& place, std::string_view section, value list, Visit visit) {
  const auto outer = std::exchange(place.section, section);
  place.key = {};
  each_item(place, list, visit);
  place.section = outer;
}

// What a value is read into, by its type.
inline void read_into(const Place& place, value item, std::string& to) { to = text(place, item); }
inline void read_into(const Place& place, value item, std::uint32_t& to) { to = id(place, item); }
inline void read_into(const Place& place, value item, std::uint64_t& to) { to = natural(place, item); }
inline void read_into(const Place& place, value item, std::int64_t& to) { to = integer(place, item); }
inline void read_into(const Place& place, value item, double& to) { to = real(place, item); }
inline void read_into(const Place& place, value item, bool& to) { to = boolean(place, item); }

// A field of an object: its key, and what takes its value, a function or what it is read into.
template <class To>
struct Field {
  std::string_view key;
  bool required;
  To& to;

  void read(const Place& place, value item) const {
    if constexpr (std::is_invocable_v<To&, value>)
      to(item);
    else
      read_into(place, item, to);
  }
};
template <class To>
Field<To> need(std::string_view key, To&& to) {
  return {key, true, to};
}
template <class To>
Field<To> may(std::string_view key, To&& to) {
  return {key, false, to};
}

[[noreturn]] void fail_unknown_key(const Place& place, std::string_view key);
[[noreturn]] void fail_repeated_key(const Place& place);
[[noreturn]] void fail_missing_key(const Place& place, std::string_view key);

// The fields of one object, named in the order in which they are written: the one expected next costs one
// comparison, any other a search. Unknown, repeated and missing keys are errors.
template <class... To>
void read_fields(Place& place, object item, const Field<To>&... fields) {
  constexpr std::size_t kCount = sizeof...(To);
  static_assert(kCount <= 32);
  const std::array<std::string_view, kCount> keys{fields.key...};
  const std::array<bool, kCount> required{fields.required...};
  const auto find = [&](simdjson::ondemand::field& field, std::size_t next) {
    for (; next < kCount; ++next) {
      if (field.key().unsafe_is_equal(keys[next])) return next;
      if (required[next]) break;
    }
    const auto key = take(place, field.unescaped_key(), "a key");
    const auto found = std::ranges::find(keys, key);
    if (found == keys.end()) fail_unknown_key(place, key);
    return static_cast<std::size_t>(found - keys.begin());
  };
  std::uint32_t seen = 0;
  std::size_t next = 0;
  for (auto result : item) {
    place.key = {};
    auto field = take(place, result, "an object that is closed");
    const std::size_t index = find(field, next);
    place.key = keys[index];
    if ((seen >> index & 1) != 0) fail_repeated_key(place);
    seen |= std::uint32_t{1} << index;
    next = index + 1;
    std::size_t at = 0;
    (void)((at++ == index && (fields.read(place, field.value()), true)) || ...);
  }
  place.key = {};
  for (std::size_t i = 0; i < kCount; ++i)
    if (required[i] && (seen >> i & 1) == 0) fail_missing_key(place, keys[i]);
}
template <class... To>
void read_fields(Place& place, value item, const Field<To>&... fields) {
  read_fields(place, take(place, item.get_object(), "an object"), fields...);
}

}  // namespace opscope::json
