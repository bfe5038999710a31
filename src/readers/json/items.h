// A JSON document of any size, one item at a time: the fields of the object at the top, and the items of the
// one array in it that is long. Only the item at hand is in memory. What an item says is left to others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace opscope {

// Fills the buffer as far as there are bytes; 0 at the end. Throws Error.
using ByteSource = std::function<std::size_t(char* buffer, std::size_t size)>;
ByteSource bytes_source(std::string_view bytes);
// A file as it is, or what gzip made of it. Throws Error where it cannot be opened, or is cut off.
ByteSource file_source(const std::string& path);

struct JsonItem {
  std::string_view key;   // of a field at the top; "" for an item of the array
  std::string_view text;  // its JSON; simdjson may read its padding behind it. Until the next item
};

class JsonItems {
 public:
  // `array`: the field whose items come one by one. A document that is an array has just these. `where`: the
  // file's name, for errors.
  JsonItems(ByteSource source, std::string_view array, std::string where, std::size_t most_item_bytes);

  // False at the document's end. Throws Error where it ends too early, an item is larger than allowed, or it
  // is no such document.
  bool next(JsonItem& item);

 private:
  enum class Place : std::uint8_t { kStart, kFields, kItems, kEnd };

  void start();
  // The next character that is no space nor comma, not taken, where an item may begin; -1 at the end.
  int peek();
  int need();  // the same where the document must not end
  // Moves over a field's key; false where it is the array's, whose items come next.
  bool pass_key();
  // Moves over one value, which then is at item_..at_.
  void pass_value();
  void pass_string();
  void pass_brackets();
  void pass_word();
  bool fill();  // more bytes behind those there are; false at the end
  std::string_view passed() const { return {buffer_.data() + item_, at_ - item_}; }
  [[noreturn]] void fail(const std::string& what, const std::string& hint = {}) const;
  [[noreturn]] void fail_cut_off() const;

  ByteSource source_;
  std::string_view array_;
  std::string where_;
  std::size_t most_item_bytes_;
  std::vector<char> buffer_;
  std::size_t item_ = 0, at_ = 0, size_ = 0;  // begin of the item, where we are, end of what was read
  Place place_ = Place::kStart;
  bool bare_ = false;  // the document is the array
  std::string key_;
};

}  // namespace opscope
