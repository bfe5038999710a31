// UTF-8 text in columns of a terminal.
#include "base/text.h"

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace opscope {
namespace {

struct CodeRange {
  char32_t first, last;
};

// Combining marks, joiners and variation selectors: no column of their own.
constexpr CodeRange kZeroWidth[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},   {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x0e31, 0x0e31}, {0x0e34, 0x0e3a}, {0x0e47, 0x0e4e},   {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff},
    {0x200b, 0x200f}, {0x202a, 0x202e}, {0x2060, 0x2064},   {0x20d0, 0x20ff}, {0xfe00, 0xfe0f},
    {0xfe20, 0xfe2f}, {0xfeff, 0xfeff}, {0xe0100, 0xe01ef},
};
// East Asian wide and full-width characters, and emoji: two columns.
constexpr CodeRange kWide[] = {
    {0x1100, 0x115f}, {0x231a, 0x231b},   {0x23e9, 0x23ec},   {0x25fd, 0x25fe},   {0x2614, 0x2615},
    {0x2648, 0x2653}, {0x26a1, 0x26a1},   {0x26bd, 0x26be},   {0x2705, 0x2705},   {0x270a, 0x270b},
    {0x2728, 0x2728}, {0x274c, 0x274c},   {0x2753, 0x2755},   {0x2795, 0x2797},   {0x2b1b, 0x2b1c},
    {0x2e80, 0x303e}, {0x3041, 0x33ff},   {0x3400, 0x4dbf},   {0x4e00, 0x9fff},   {0xa000, 0xa4cf},
    {0xa960, 0xa97f}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6f},   {0xff00, 0xff60},
    {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
};

template <std::size_t N>
bool is_in(const CodeRange (&table)[N], char32_t code) {
  const auto after =
      std::upper_bound(std::begin(table), std::end(table), code,
                       [](char32_t value, const CodeRange& range) { return value < range.first; });
  return after != std::begin(table) && code <= std::prev(after)->last;
}

int width_of(char32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 0;
  if (code < 0x300) return 1;
  if (is_in(kZeroWidth, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

// How many bytes of text fit in `width` columns.
std::size_t bytes_within(std::string_view text, int width) {
  std::size_t at = 0;
  for (int used = 0; at < text.size();) {
    const auto character = decode_utf8(text.substr(at));
    used += width_of(character.code);
    if (used > width) break;
    at += character.bytes;
  }
  return at;
}

// Where the last `width` columns of text begin.
std::size_t tail_begin(std::string_view text, int width) {
  const int skip = display_width(text) - width;
  std::size_t at = 0;
  for (int skipped = 0; at < text.size() && skipped < skip;) {
    const auto character = decode_utf8(text.substr(at));
    skipped += width_of(character.code);
    at += character.bytes;
  }
  return at;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string spaces(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text.substr(at));
    width += width_of(character.code);
    at += character.bytes;
  }
  return width;
}

std::string pad_right(std::string_view text, int width) {
  return std::string(text) + spaces(width - display_width(text));
}

std::string pad_left(std::string_view text, int width) {
  return spaces(width - display_width(text)).append(text);
}

std::string truncate(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= 0) return {};
  return std::string(text.substr(0, bytes_within(text, width - 1))).append(kEllipsis);
}

std::string truncate_middle(std::string_view text, int width) {
  if (display_width(text) <= width) return std::string(text);
  if (width <= 0) return {};
  const int tail = width / 2;
  const auto head = text.substr(0, bytes_within(text, width - 1 - tail));
  return std::string(head).append(kEllipsis).append(text.substr(tail_begin(text, tail)));
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), lower);
  return result;
}

bool contains_text(std::string_view text, std::string_view part) {
  return !std::ranges::search(text, part, {}, lower, lower).empty() || part.empty();
}

std::string file_extension(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  const auto dot = name.rfind('.');
  return dot == std::string_view::npos ? std::string() : lower_case(name.substr(dot + 1));
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto character = decode_utf8(text.substr(at));
    if (!character.valid) return false;
    at += character.bytes;
  }
  return true;
}

}  // namespace opscope
