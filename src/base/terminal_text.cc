#include "base/terminal_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/text.h"

namespace opscope {
namespace {

struct Substitute {
  char32_t code;
  std::string_view ascii;
};

// What reports, bars, trees and plots are drawn with, sorted.
constexpr Substitute kSubstitutes[] = {
    {0x00a0, " "},  {0x00b1, "+-"}, {0x00b7, "-"}, {0x00d7, "x"},  {0x2019, "'"}, {0x2022, "*"},
    {0x2026, ".."}, {0x2190, "<-"}, {0x2191, "^"}, {0x2192, "->"}, {0x2193, "v"}, {0x2264, "<="},
    {0x2265, ">="}, {0x2500, "-"},  {0x2502, "|"}, {0x2514, "`"},  {0x251c, "|"}, {0x2524, "|"},
    {0x2534, "+"},  {0x256e, "\\"}, {0x256f, "/"}, {0x2575, "'"},  {0x2581, "_"}, {0x2582, "_"},
    {0x2583, "."},  {0x2584, "-"},  {0x2585, "="}, {0x2586, "+"},  {0x2587, "*"}, {0x2588, "#"},
    {0x2589, "#"},  {0x258a, "#"},  {0x258b, "#"}, {0x258c, "="},  {0x258d, "-"}, {0x258e, "-"},
    {0x258f, "-"},  {0x2591, "."},  {0x2592, ":"}, {0x2593, "%"},  {0x259a, "#"}, {0x259e, "#"},
    {0x25b2, "^"},  {0x25b8, ">"},  {0x25be, "v"}, {0x25cf, "o"},
};
static_assert(std::ranges::is_sorted(kSubstitutes, {}, &Substitute::code));

// "?" for each column of a character that has no substitute.
std::string ascii_of(char32_t code, std::string_view character) {
  const auto found = std::ranges::lower_bound(kSubstitutes, code, {}, &Substitute::code);
  if (found != std::end(kSubstitutes) && found->code == code) return std::string(found->ascii);
  return std::string(static_cast<std::size_t>(display_width(character)), '?');
}

std::string escaped(char32_t code) {
  if (code == '\t') return "\\t";
  return code < 0x100 ? fmt::format("\\x{:02x}", std::uint32_t{code})
                      : fmt::format("\\u{:04x}", std::uint32_t{code});
}

// Bytes of the colour sequence that the text begins with: "\x1b[1m".
std::size_t color_bytes(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const auto end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

bool is_plain(std::string_view line) {
  return std::ranges::all_of(line, [](char c) { return c >= ' ' && c < '\x7f'; });
}

// A substitute that is wider than what it stands for takes from the next gap between columns, so that a table
// stays aligned.
std::string clean_line(std::string_view line, const TerminalStyle& style) {
  std::string text;
  int debt = 0;  // columns
  for (std::size_t taken = 0; !line.empty(); line.remove_prefix(taken)) {
    taken = style.color ? color_bytes(line) : 0;
    if (taken > 0) {
      text += line.substr(0, taken);
      continue;
    }
    const Utf8Character character = decode_utf8(line);
    taken = character.bytes;
    const std::string_view bytes = line.substr(0, taken);
    if (bytes == " " && debt > 0 && text.ends_with(' ')) {
      --debt;
    } else if (!character.valid || is_control(character.code)) {
      text += escaped(character.valid ? character.code : static_cast<unsigned char>(line[0]));
    } else if (!style.ascii || character.code < 0x80) {
      text += bytes;
    } else {
      const std::string ascii = ascii_of(character.code, bytes);
      debt += static_cast<int>(ascii.size()) - display_width(bytes);
      text += ascii;
    }
  }
  return text;
}

// The column under which a broken line goes on: of what follows its first gap, "note  " or a flag's name in
// help.
int hanging_indent(std::string_view line, int width) {
  const auto words = std::min(line.find_first_not_of(' '), line.size());
  const auto gap = line.find("  ", words);
  if (gap != std::string_view::npos) {
    const auto next = line.find_first_not_of(' ', gap);
    if (next != std::string_view::npos)
      if (const int column = display_width(line.substr(0, next)); column <= width / 2) return column;
  }
  return std::min(static_cast<int>(words), width / 2);
}

// Bytes of the line's part that fits: up to a space, or in the midst of a word that is longer.
std::size_t fitting_bytes(std::string_view line, int width, int indent) {
  std::size_t at = 0, space = 0;
  for (int column = 0; at < line.size();) {
    if (const std::size_t color = color_bytes(line.substr(at))) {
      at += color;
      continue;
    }
    const std::size_t bytes = decode_utf8(line.substr(at)).bytes;
    if (line[at] == ' ' && column > indent) space = at;
    column += display_width(line.substr(at, bytes));
    if (column > width) return space > 0 ? space : std::max<std::size_t>(at, 1);
    at += bytes;
  }
  return at;
}

void append_broken(std::string& out, std::string_view line, int width) {
  const int indent = hanging_indent(line, width);
  std::string rest(line);
  for (;;) {
    const std::size_t bytes = fitting_bytes(rest, width, indent);
    out += rest.substr(0, rest.find_last_not_of(' ', bytes - 1) + 1);
    const auto next = rest.find_first_not_of(' ', bytes);
    if (next == std::string::npos) return;
    out += '\n';
    rest = std::string(static_cast<std::size_t>(indent), ' ') + rest.substr(next);
  }
}

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

std::string terminal_text(std::string_view text, const TerminalStyle& style) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const bool fits = style.width <= 0 || line.size() <= static_cast<std::size_t>(style.width);
    if (fits && is_plain(line)) {
      out += line;
    } else {
      const std::string clean = clean_line(line, style);
      style.width > 0 ? append_broken(out, clean, style.width) : void(out += clean);
    }
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

bool is_control(char32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

bool locale_is_ascii() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    return !contains_text(value, "utf-8") && !contains_text(value, "utf8");
  }
  return false;
}

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
    if (!next.valid)
      out += "\xef\xbf\xbd";
    else if (is_control(next.code) && kept.find(text[0]) == std::string_view::npos)
      append_escape(next.code, out);
    else
      out += text.substr(0, next.bytes);
    text.remove_prefix(next.bytes);
  }
  return out;
}

}  // namespace opscope
