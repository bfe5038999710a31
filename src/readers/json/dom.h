// JSON that is small, or has to be read in another order than it is written in: simdjson's DOM, each item
// with the file that it is of, so that every getter throws an Error that says what was expected and where.
#pragma once

#include <simdjson.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace opscope::dom {

// Deep enough for graphs in graphs, far from the end of the stack.
inline constexpr std::size_t kMostDepth = 256;

// Where the JSON is from, for errors, and what to do about a damaged one.
struct Source {
  std::string where, hint{};
  [[noreturn]] void fail(const std::string& what) const { throw Error(what, where, hint); }
};

struct Field;

// A value with its key, where it has one. Refers to its source and document.
class Item {
 public:
  Item(simdjson::dom::element element, const Source& source, std::string_view key = {})
      : element_(element), source_(&source), key_(key) {}

  std::string_view key() const { return key_; }
  const Source& source() const { return *source_; }

  std::optional<Item> find(std::string_view key) const {  // nullopt where there is none, or it is null
    simdjson::dom::element found;
    if (element_.at_key(key).get(found) || found.is_null()) return std::nullopt;
    return Item(found, *source_, key);  // NOLINT(clang-analyzer-core.CallAndMessage): get filled it
  }
  Item at(std::string_view key) const {
    if (auto found = find(key)) return *std::move(found);
    source_->fail("missing key '" + std::string(key) + "'");
  }

  std::string_view text() const { return as<std::string_view>("a string"); }
  std::int64_t integer() const { return as<std::int64_t>("a whole number"); }
  std::uint64_t natural() const { return as<std::uint64_t>("a whole number of 0 or more"); }
  double real() const { return as<double>("a number"); }
  bool boolean() const { return as<bool>("true or false"); }
  bool is_text() const { return element_.is_string(); }
  bool is_integer() const { return element_.is_int64(); }
  bool is_object() const { return element_.is_object(); }
  std::vector<Item> items() const {  // of a list
    std::vector<Item> found;
    for (const auto item : as<simdjson::dom::array>("a list")) found.emplace_back(item, *source_);
    return found;
  }
  // What `get` makes of each item of a list: all(&Item::integer).
  template <class Get>
  auto all(Get get) const {
    std::vector<std::invoke_result_t<Get, Item>> found;
    for (const Item& item : items()) found.push_back(std::invoke(get, item));
    return found;
  }
  std::vector<Field> fields() const;  // of an object, in its order
  Field tagged() const;               // a union as PyTorch's schema has them: {"as_int": 3}

  // Of a field that has to be there.
  std::string_view text(std::string_view key) const { return at(key).text(); }
  std::vector<Item> items(std::string_view key) const { return at(key).items(); }
  // Of one that need not.
  std::string text_or(std::string_view key, std::string_view otherwise = {}) const {
    const auto found = find(key);
    return std::string(found ? found->text() : otherwise);
  }
  std::uint64_t natural_or(std::string_view key, std::uint64_t otherwise = 0) const {
    const auto found = find(key);
    return found ? found->natural() : otherwise;
  }
  double real_or(std::string_view key, double otherwise = 0) const {
    const auto found = find(key);
    return found ? found->real() : otherwise;
  }
  bool boolean_or(std::string_view key, bool otherwise = false) const {
    const auto found = find(key);
    return found ? found->boolean() : otherwise;
  }
  std::vector<std::string> texts(std::string_view key) const {  // none where there is no such list
    const auto list = find(key);
    return list ? list->all([](const Item& item) { return std::string(item.text()); })
                : std::vector<std::string>{};
  }

 private:
  template <class T>
  T as(const char* expected) const {
    T found;
    if (element_.get(found))
      source_->fail(key_.empty() ? std::string("expected ") + expected
                                 : "'" + std::string(key_) + "' is not " + expected);
    return found;
  }

  simdjson::dom::element element_;
  const Source* source_;
  std::string_view key_;
};

struct Field {
  std::string_view tag;
  Item item;
};

inline std::vector<Field> Item::fields() const {
  std::vector<Field> found;
  for (const auto [key, value] : as<simdjson::dom::object>("an object"))
    found.push_back({key, Item(value, *source_, key)});
  return found;
}

inline Field Item::tagged() const {
  for (const auto [key, value] : as<simdjson::dom::object>("an object"))
    return {key, Item(value, *source_, key)};
  source_->fail("a value without a kind");
}

// A parsed text. Items live no longer than it.
class Document {
 public:
  // `what`: what it should be, for the error: "a profile".
  Document(std::string_view json, Source source, const std::string& what)
      : source_(std::move(source)), text_(json) {
    if (parser_.allocate(std::max<std::size_t>(text_.size(), 64), kMostDepth))
      throw Error("not enough memory to read the file", source_.where);
    if (const auto code = parser_.parse(text_).get(root_)) source_.fail(problem(code, what));
  }
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;

  Item root() const { return {root_, source_}; }

 private:
  static std::string problem(simdjson::error_code code, const std::string& what) {
    if (code == simdjson::DEPTH_ERROR) return "not " + what + ": it is nested too deeply";
    return "not " + what + ": this is not JSON, or not all of it";
  }

  Source source_;
  simdjson::padded_string text_;
  simdjson::dom::parser parser_;
  simdjson::dom::element root_;
};

}  // namespace opscope::dom
