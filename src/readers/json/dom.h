// simdjson's DOM with our errors, for JSON that has to be read in another order than it is written in.
// Private to the readers.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace opscope::dom {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

// Deep enough for graphs in graphs, far from the end of the stack.
inline constexpr std::size_t kMostDepth = 256;

// `where`: the file. Every function throws Error for what is not as it should be.
[[noreturn]] inline void fail(const std::string& where, const std::string& what) {
  throw Error(what, where, "the file is damaged; export the model again");
}

// nullopt where there is no such key or it is null.
inline std::optional<element> field(element item, std::string_view key) {
  element found;
  if (item.at_key(key).get(found) || found.is_null()) return std::nullopt;
  return found;
}

inline element need(element item, std::string_view key, const std::string& where) {
  const auto found = field(item, key);
  if (!found) fail(where, "missing key '" + std::string(key) + "'");
  return *found;
}

inline std::string_view text(element item, const std::string& where) {
  std::string_view found;
  if (item.get(found)) fail(where, "expected a string in the graph");
  return found;
}
inline std::string_view text_field(element item, std::string_view key, const std::string& where) {
  return text(need(item, key, where), where);
}
inline std::int64_t integer(element item, const std::string& where) {
  std::int64_t found;
  if (item.get(found)) fail(where, "expected a whole number in the graph");
  return found;
}
inline array list(element item, const std::string& where) {
  array found;
  if (item.get(found)) fail(where, "expected a list in the graph");
  return found;
}
inline object fields(element item, const std::string& where) {
  object found;
  if (item.get(found)) fail(where, "expected an object in the graph");
  return found;
}
inline array list_field(element item, std::string_view key, const std::string& where) {
  return list(need(item, key, where), where);
}

// A union as PyTorch's schema has them: {"as_int": 3}.
struct Tagged {
  std::string_view tag;
  element item;
};
inline Tagged tagged(element item, const std::string& where) {
  for (const auto [key, value] : fields(item, where)) return {key, value};
  fail(where, "a value without a kind in the graph");
}

}  // namespace opscope::dom
