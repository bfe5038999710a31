// A line at a time: a comment, a table's head, or a key and its value.
#include "hardware/plain_toml.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::string_view kSpaces = " \t\r";

bool is_key_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

class Reader {
 public:
  Reader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  std::vector<TomlItem> read() {
    if (!is_utf8(text_)) fail("this is not UTF-8 text");
    for (std::size_t at = 0; at < text_.size();) {
      const std::size_t end = std::min(text_.find('\n', at), text_.size());
      rest_ = text_.substr(at, end - at);
      ++line_;
      statement();
      at = end + 1;
    }
    return std::move(items_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "") const {
    throw Error(what, name_ + ":" + std::to_string(line_), hint);
  }

  void skip() { rest_.remove_prefix(std::min(rest_.find_first_not_of(kSpaces), rest_.size())); }
  bool take(char c) {
    skip();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!take(c)) fail(std::string("here a '") + c + "' is missing");
  }

  void statement() {
    skip();
    if (rest_.empty() || rest_.front() == '#') return;
    if (take('[')) {
      head();
    } else {
      const std::string path = joined(table_, key());
      need('=');
      value(path);
    }
    skip();
    if (!rest_.empty() && rest_.front() != '#') fail("'" + std::string(rest_) + "' is too much on this line");
  }

  void head() {
    table_ = key();
    need(']');
    if (std::ranges::count(tables_, table_)) fail("the table [" + table_ + "] is there twice");
    tables_.push_back(table_);
  }

  // "memory.bandwidth"
  std::string key() {
    std::string path = bare_key();
    while (take('.')) path.append(".").append(bare_key());
    return path;
  }
  std::string bare_key() {
    skip();
    const auto stop = std::ranges::find_if_not(rest_, is_key_letter);
    std::string name(rest_.begin(), stop);
    if (name.empty()) fail("here a key is missing", "for example kind = \"gpu\"");
    rest_.remove_prefix(name.size());
    return name;
  }
  static std::string joined(const std::string& table, const std::string& key) {
    return table.empty() ? key : table + "." + key;
  }

  void value(const std::string& path) {
    if (take('{')) return inline_table(path);
    TomlItem item{path, {}, false, line_};
    if (take('[')) {
      item.is_list = true;
      while (!take(']')) {
        item.values.push_back(string());
        if (!take(',')) {
          need(']');
          break;
        }
      }
    } else {
      item.values.push_back(string());
    }
    if (std::ranges::find(items_, path, &TomlItem::path) != items_.end())
      fail("'" + path + "' is there twice");
    items_.push_back(std::move(item));
  }

  void inline_table(const std::string& path) {
    if (take('}')) return;
    do {
      const std::string inner = joined(path, key());
      need('=');
      value(inner);
    } while (take(','));
    need('}');
  }

  std::string string() {
    skip();
    if (!rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') return number();
    if (rest_.starts_with("\"\"\"")) fail("text here is on one line, between one pair of quotes");
    if (!take('"'))
      fail("'" + std::string(rest_.substr(0, rest_.find_first_of(",]} \t"))) + "' is not a string",
           "quantities are written with their unit, in quotes: \"4.8 TB/s\"");
    std::string out;
    while (!rest_.empty() && rest_.front() != '"') out += letter();
    need('"');
    return out;
  }
  // Its digits as they stand.
  std::string number() {
    std::string digits(rest_.substr(0, rest_.find_first_not_of("0123456789.")));
    rest_.remove_prefix(digits.size());
    return digits;
  }
  char letter() {
    char c = rest_.front();
    rest_.remove_prefix(1);
    if (c != '\\') return c;
    if (rest_.empty() || (rest_.front() != '"' && rest_.front() != '\\'))
      fail("of escapes only \\\" and \\\\ are known here");
    c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }

  std::string_view text_, rest_;
  const std::string& name_;
  int line_ = 0;
  std::string table_;
  std::vector<std::string> tables_;
  std::vector<TomlItem> items_;
};

}  // namespace

std::vector<TomlItem> read_plain_toml(std::string_view text, const std::string& name) {
  return Reader(text, name).read();
}

}  // namespace opscope
