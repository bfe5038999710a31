#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace opscope {
namespace {

bool is_plain(unsigned char byte) { return byte >= 0x20 && byte < 0x7f; }

void append_escape(char32_t code, std::string& out) {
  constexpr std::string_view kLetters = "abtnvfr";
  const auto value = static_cast<std::uint32_t>(code);
  if (value >= 7 && value <= 13) {
    (out += '\\') += kLetters[value - 7];
  } else {
    fmt::format_to(std::back_inserter(out), fmt::runtime(value < 0x80 ? "\\x{:02x}" : "\\u{:04x}"), value);
  }
}

}  // namespace

std::string printable(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto plain = static_cast<std::size_t>(
        std::ranges::find_if_not(text, [](char c) { return is_plain(static_cast<unsigned char>(c)); }) -
        text.begin());
    out += text.substr(0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    const Utf8Character next = decode_utf8(text);
    const bool is_control = next.code < 0x20 || (next.code >= 0x7f && next.code < 0xa0);
    if (!next.valid)
      out += "\xef\xbf\xbd";
    else if (is_control && kept.find(text[0]) == std::string_view::npos)
      append_escape(next.code, out);
    else
      out += text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace opscope
