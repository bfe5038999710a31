// Writes JSON into a string as it goes: no tree, no allocation per item, the same bytes for the same calls.
// Strings that are not UTF-8 are written with U+FFFD in place of the bad bytes; NaN and infinities as null.
// A class derived from it may make something else than text of the same calls.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/count.h"
#include "base/text_blocks.h"

namespace opscope {

// kLines: one item per line, indented. kInline: all on one line, and so is everything inside.
enum class JsonLayout : std::uint8_t { kLines, kInline };
inline constexpr JsonLayout kInline = JsonLayout::kInline;

// Appends text as a JSON string, quotes included.
void append_json_string(std::string& out, std::string_view text);
// Shortest digits that read back as the same double, always with a '.' or an exponent; null if not finite.
void append_json_double(std::string& out, double value);

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}
  // `out` is emptied into `sink` whenever a block is full, and has the rest at the end.
  JsonWriter(std::string& out, const TextSink& sink) : out_(out), sink_(&sink) {}
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;
  virtual ~JsonWriter() = default;

  void begin_object(JsonLayout layout = JsonLayout::kLines) { begin('{', layout); }
  void end_object() { end('}'); }
  void begin_array(JsonLayout layout = JsonLayout::kLines) { begin('[', layout); }
  void end_array() { end(']'); }

  virtual void key(std::string_view name);

  virtual void null() { word("null"); }
  void value(std::string_view words) { text(words); }
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(double number) { real(number); }
  void value(std::same_as<bool> auto truth) { boolean(truth); }
  void value(std::signed_integral auto number) { integer(static_cast<std::int64_t>(number)); }
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) void value(T number) { natural(static_cast<std::uint64_t>(number)); }
  void value(Count number) { natural(number.value()); }
  template <class T>
  void value(const std::optional<T>& item) {  // null where there is none
    item ? value(*item) : null();
  }

  // key and value in one. What is costly to find may be a function: it is called where the field is wanted.
  template <class T>
  void field(std::string_view name, const T& item) {
    if constexpr (std::invocable<const T&>) {
      if (!wants(name)) return;
      key(name);
      value(item());
    } else {
      key(name);
      value(item);
    }
  }
  // Several that belong together: key, value, key, value.
  template <class T, class... More>
  void fields(std::string_view name, const T& item, const More&... more) {
    field(name, item);
    if constexpr (sizeof...(more) > 0) fields(more...);
  }
  // An array of scalars on one line.
  template <class Items>
  void list(std::string_view name, const Items& items) {
    key(name);
    list(items);
  }
  template <class Items>
  void list(const Items& items) {
    begin_array(JsonLayout::kInline);
    for (const auto& item : items) value(item);
    end_array();
  }

  // `write_fields` writes the fields of the object.
  template <class Write>
  void object(std::string_view name, Write&& write_fields, JsonLayout layout = JsonLayout::kLines) {
    key(name);
    begin_object(layout);
    write_fields();
    end_object();
  }
  template <class Write>
  void inline_object(std::string_view name, Write&& write_fields) {
    object(name, write_fields, JsonLayout::kInline);
  }
  // An array of objects, one on each line unless `layout` is another; `write_fields` writes the fields of a
  // row.
  template <class Rows, class Write>
  void objects(std::string_view name, Rows&& rows, Write&& write_fields,
               JsonLayout layout = JsonLayout::kInline) {
    key(name);
    begin_array();
    for (const auto& row : rows) {
      begin_object(layout);
      write_fields(row);
      end_object();
    }
    end_array();
  }

 protected:
  virtual bool wants(std::string_view) const { return true; }
  virtual void begin(char open, JsonLayout layout);
  virtual void end(char close);
  virtual void text(std::string_view words) {
    separate();
    append_json_string(out_, words);
  }
  virtual void real(double number) {
    separate();
    append_json_double(out_, number);
  }
  virtual void boolean(bool truth) { word(truth ? "true" : "false"); }
  virtual void integer(std::int64_t number);
  virtual void natural(std::uint64_t number);

 private:
  struct Level {
    JsonLayout layout;
    bool empty = true;
  };
  void separate();  // what goes before an item: comma, line break, indent
  void new_line();
  void word(std::string_view text) {
    separate();
    out_ += text;
  }

  std::string& out_;
  const TextSink* sink_ = nullptr;
  std::vector<Level> levels_;
  bool after_key_ = false;
};

}  // namespace opscope
