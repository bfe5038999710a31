// simdjson's on-demand parser with our errors: every getter throws an Error that says where in the document
// it was ("ops[12].scope") and what it expected. Private to the readers.
#pragma once

#include <simdjson.h>

#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
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
// Valid until the document goes.
inline std::string_view text(const Place& place, value item) {
  return take(place, item.get_string(), "a string");
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

// The keys of one kind of object, in the order in which they are written.
template <std::size_t N>
struct Keys {
  std::array<std::string_view, N> names;
  std::uint32_t required;  // bit i: names[i] must be there
};
inline constexpr std::uint32_t kAll = ~std::uint32_t{0};

[[noreturn]] void fail_unknown_key(const Place& place, std::string_view key);
[[noreturn]] void fail_repeated_key(const Place& place);
[[noreturn]] void fail_missing_key(const Place& place, std::string_view key);

// Which key this is: the one expected next costs one comparison, any other a search.
template <std::size_t N>
std::size_t find_key(const Place& place, const Keys<N>& keys, simdjson::ondemand::field& field,
                     std::size_t next) {
  for (; next < N; ++next) {
    if (field.key().unsafe_is_equal(keys.names[next])) return next;
    if ((keys.required >> next & 1) != 0) break;
  }
  const auto key = take(place, field.unescaped_key(), "a key");
  for (std::size_t i = 0; i < N; ++i)
    if (keys.names[i] == key) return i;
  fail_unknown_key(place, key);
}

// Calls visit(index in keys.names, value) for each field. Unknown, repeated and missing keys are errors.
template <std::size_t N, class Visit>
void each_field(Place& place, object fields, const Keys<N>& keys, Visit visit) {
  static_assert(N <= 32);
  std::uint32_t seen = 0;
  std::size_t next = 0;
  for (auto result : fields) {
    place.key = {};
    auto field = take(place, result, "an object that is closed");
    const auto index = find_key(place, keys, field, next);
    place.key = keys.names[index];
    if ((seen >> index & 1) != 0) fail_repeated_key(place);
    seen |= std::uint32_t{1} << index;
    next = index + 1;
    visit(index, field.value());
  }
  place.key = {};
  constexpr std::uint32_t kMask = N == 32 ? kAll : (std::uint32_t{1} << N) - 1;
  if (const auto missing = keys.required & kMask & ~seen; missing != 0)
    fail_missing_key(place, keys.names[static_cast<std::size_t>(std::countr_zero(missing))]);
}

template <std::size_t N, class Visit>
void each_field(Place& place, value item, const Keys<N>& keys, Visit visit) {
  each_field(place, take(place, item.get_object(), "an object"), keys, visit);
}

}  // namespace opscope::json
