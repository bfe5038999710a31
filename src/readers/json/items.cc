// A scanner over a sliding buffer. It knows strings and brackets and no more: whether an item is good JSON is
// found out by whoever parses it.
#include "readers/json/items.h"

#include <simdjson.h>
#include <sys/stat.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/error.h"

namespace opscope {
namespace {

constexpr std::size_t kChunk = 1 << 18;

constexpr bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

// Outside strings, what changes anything while brackets are counted.
constexpr std::array<bool, 256> kMatters = [] {
  std::array<bool, 256> matters{};
  for (const char c : {'"', '{', '}', '[', ']'}) matters[static_cast<unsigned char>(c)] = true;
  return matters;
}();

void check_regular(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0)
    throw Error(errno == ENOENT ? "no such file" : std::string(std::strerror(errno)), path);
  if (S_ISDIR(status.st_mode)) throw Error("this is a folder", path);
}

}  // namespace

ByteSource bytes_source(std::string_view bytes) {
  return [bytes](char* buffer, std::size_t size) mutable {
    const std::size_t count = std::min(size, bytes.size());
    std::memcpy(buffer, bytes.data(), count);
    bytes.remove_prefix(count);
    return count;
  };
}

// zlib reads files that are not compressed as they are.
ByteSource file_source(const std::string& path) {
  check_regular(path);
  const std::shared_ptr<gzFile_s> file(gzopen(path.c_str(), "rb"), [](gzFile opened) {
    if (opened != nullptr) gzclose_r(opened);
  });
  if (!file) throw Error(errno == 0 ? "no memory" : std::strerror(errno), path);
  gzbuffer(file.get(), kChunk);
  return [file, path](char* buffer, std::size_t size) -> std::size_t {
    const int count = gzread(file.get(), buffer, static_cast<unsigned>(std::min<std::size_t>(size, kChunk)));
    int code = Z_OK;
    const char* const message = gzerror(file.get(), &code);
    if (code == Z_BUF_ERROR)
      throw Error("the compressed file is cut off", path, "copy it again, or record the trace again");
    if (count < 0 || (code != Z_OK && code != Z_STREAM_END))
      throw Error(std::string("cannot be read: ") + (code == Z_ERRNO ? std::strerror(errno) : message), path);
    return static_cast<std::size_t>(count);
  };
}

JsonItems::JsonItems(ByteSource source, std::string_view array, std::string where,
                     std::size_t most_item_bytes)
    : source_(std::move(source)),
      array_(array),
      where_(std::move(where)),
      most_item_bytes_(most_item_bytes),
      buffer_(2 * kChunk + simdjson::SIMDJSON_PADDING) {}

bool JsonItems::next(JsonItem& item) {
  if (place_ == Place::kStart) start();
  while (place_ != Place::kEnd) {
    const bool in_items = place_ == Place::kItems;
    // The format lets writers that were stopped leave out the bracket of a document that is an array.
    const int first = in_items && bare_ ? peek() : need();
    if (first < 0 || first == (in_items ? ']' : '}')) {
      if (first >= 0) ++at_;
      place_ = in_items && !bare_ ? Place::kFields : Place::kEnd;
      continue;
    }
    if (!in_items && !pass_key()) continue;
    pass_value();
    item = {in_items ? std::string_view{} : key_, passed()};
    return true;
  }
  if (peek() >= 0) fail("there is more behind the end of the JSON");
  return false;
}

void JsonItems::start() {
  if (fill() && size_ >= 3 && std::memcmp(buffer_.data(), "\xef\xbb\xbf", 3) == 0) at_ = 3;
  const int first = peek();
  if (first < 0) fail("the file is empty");
  bare_ = first == '[';
  if (!bare_ && first != '{')
    fail("this is not JSON", "export a trace with profiler.export_chrome_trace(FILE)");
  place_ = bare_ ? Place::kItems : Place::kFields;
  ++at_;
}

bool JsonItems::pass_key() {
  if (buffer_[at_] != '"') fail("expected a key in quotes");
  pass_string();
  key_.assign(passed().substr(1, passed().size() - 2));
  if (need() != ':') fail("expected ':' after \"" + key_ + "\"");
  ++at_;
  const int value = need();
  if (key_ != array_) return true;
  if (value != '[') fail("\"" + key_ + "\" is not an array");
  ++at_;
  place_ = Place::kItems;
  return false;
}

int JsonItems::peek() {
  while (true) {
    while (at_ < size_ && (is_space(buffer_[at_]) || buffer_[at_] == ',')) ++at_;
    item_ = at_;
    if (at_ < size_) return static_cast<unsigned char>(buffer_[at_]);
    if (!fill()) return -1;
  }
}

int JsonItems::need() {
  const int next = peek();
  if (next < 0) fail_cut_off();
  return next;
}

void JsonItems::pass_value() {
  const char first = buffer_[at_];
  if (first == '"') return pass_string();
  if (first == '{' || first == '[') return pass_brackets();
  pass_word();
}

void JsonItems::pass_string() {
  ++at_;  // the quote
  bool escaped = false;
  while (true) {
    for (; at_ < size_; ++at_) {
      if (escaped)
        escaped = false;
      else if (buffer_[at_] == '\\')
        escaped = true;
      else if (buffer_[at_] == '"')
        return void(++at_);
    }
    if (!fill()) fail_cut_off();
  }
}

void JsonItems::pass_brackets() {
  std::size_t depth = 0;
  while (true) {
    while (at_ < size_ && !kMatters[static_cast<unsigned char>(buffer_[at_])]) ++at_;
    if (at_ == size_) {
      if (!fill()) fail_cut_off();
      continue;
    }
    const char c = buffer_[at_];
    if (c == '"') {
      pass_string();
      continue;
    }
    ++at_;
    if (c == '{' || c == '[')
      ++depth;
    else if (--depth == 0)
      return;
  }
}

void JsonItems::pass_word() {
  const auto ends = [](char c) { return is_space(c) || c == ',' || c == '}' || c == ']' || c == ':'; };
  while (true) {
    while (at_ < size_ && !ends(buffer_[at_])) ++at_;
    if (at_ < size_ || !fill()) break;
  }
  if (at_ == item_) fail("expected a value");
}

bool JsonItems::fill() {
  if (at_ - item_ > most_item_bytes_)
    fail("one of its items is larger than " + std::to_string(most_item_bytes_ >> 20) + " MiB",
         "this is no trace of the profiler");
  if (item_ > 0) {  // what lies before the item is done with
    std::memmove(buffer_.data(), buffer_.data() + item_, size_ - item_);
    at_ -= item_, size_ -= item_, item_ = 0;
  }
  if (buffer_.size() - size_ < kChunk + simdjson::SIMDJSON_PADDING) buffer_.resize(buffer_.size() * 2);
  const std::size_t count = source_(buffer_.data() + size_, kChunk);
  size_ += count;
  return count > 0;
}

void JsonItems::fail(const std::string& what, const std::string& hint) const {
  throw Error(what, where_, hint);
}

void JsonItems::fail_cut_off() const {
  fail("the file ends in the middle",
       "it was not written to its end; copy it again, or record the trace again");
}

}  // namespace opscope
