// Escaping, number formatting and layout. The hot path is the run of plain characters between escapes.
#include "base/json_writer.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/terminal_text.h"
#include "base/text.h"

namespace opscope {
namespace {

// 0: as it is. 'u': \u00XX. 'x': begins a character of several bytes. Otherwise the letter after the
// backslash.
constexpr std::array<char, 256> make_escapes() {
  std::array<char, 256> escapes{};
  for (std::size_t i = 0; i < 0x20; ++i) escapes[i] = 'u';
  for (std::size_t i = 0x80; i < 0x100; ++i) escapes[i] = 'x';
  escapes['"'] = '"';
  escapes['\\'] = '\\';
  escapes['\n'] = 'n';
  escapes['\r'] = 'r';
  escapes['\t'] = 't';
  escapes['\b'] = 'b';
  escapes['\f'] = 'f';
  escapes[0x7f] = 'u';
  return escapes;
}
constexpr auto kEscapes = make_escapes();

constexpr std::size_t kBlock = std::size_t{1} << 18;  // of text, before it goes to the sink

constexpr std::string_view kHexDigits = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

char escape_of(char c) { return kEscapes[static_cast<unsigned char>(c)]; }

// Writes what stands for the character that begins `rest`; returns how many bytes it had.
std::size_t append_special(std::string& out, std::string_view rest) {
  const char escape = escape_of(rest.front());
  if (escape == 'x') {
    const auto character = decode_utf8(rest);
    if (character.valid && is_control(character.code))  // JSON is shown in terminals too
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", std::uint32_t{character.code});
    else
      out.append(character.valid ? rest.substr(0, character.bytes) : kReplacement);
    return character.bytes;
  }
  out += '\\';
  out += escape;
  if (escape == 'u') {
    const auto byte = static_cast<unsigned char>(rest.front());
    out.append({'0', '0', kHexDigits[byte >> 4], kHexDigits[byte & 15]});
  }
  return 1;
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain = 0;  // where the run of plain characters began
  for (std::size_t i = 0; i < text.size();) {
    if (escape_of(text[i]) == 0) {
      ++i;
      continue;
    }
    out.append(text.substr(plain, i - plain));
    i += append_special(out, text.substr(i));
    plain = i;
  }
  out.append(text.substr(plain));
  out += '"';
}

void append_json_double(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "null";
    return;
  }
  const auto start = out.size();
  fmt::format_to(std::back_inserter(out), "{}", value);
  if (out.find_first_of(".e", start) == std::string::npos) out += ".0";
}

void JsonWriter::new_line() {
  out_ += '\n';
  out_.append(levels_.size() * 2, ' ');
}

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) return;
  auto& level = levels_.back();
  if (!level.empty) out_ += ',';
  level.empty = false;
  if (level.layout == JsonLayout::kLines) new_line();
}

void JsonWriter::begin(char open, JsonLayout layout) {
  separate();
  if (!levels_.empty() && levels_.back().layout == JsonLayout::kInline) layout = JsonLayout::kInline;
  out_ += open;
  levels_.push_back({layout});
}

void JsonWriter::end(char close) {
  OPSCOPE_CHECK(!levels_.empty() && !after_key_);
  const auto level = levels_.back();
  levels_.pop_back();
  if (level.layout == JsonLayout::kLines && !level.empty) new_line();
  out_ += close;
  if (sink_ == nullptr || out_.size() < kBlock) return;
  (*sink_)(out_);
  out_.clear();
}

void JsonWriter::key(std::string_view name) {
  OPSCOPE_CHECK(!levels_.empty() && !after_key_);
  separate();
  append_json_string(out_, name);
  out_ += levels_.back().layout == JsonLayout::kLines ? ": " : ":";
  after_key_ = true;
}

void JsonWriter::integer(std::int64_t number) {
  separate();
  const fmt::format_int digits(number);
  out_.append(digits.data(), digits.size());
}

void JsonWriter::natural(std::uint64_t number) {
  separate();
  const fmt::format_int digits(number);
  out_.append(digits.data(), digits.size());
}

}  // namespace opscope
