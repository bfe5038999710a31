// One UTF-8 character at a time.
#pragma once

#include <cstddef>
#include <string_view>

namespace opscope {

struct Utf8Character {
  char32_t code = 0;
  std::size_t bytes = 1;  // how many to step over, also where it is not valid
  bool valid = true;
};

// The character that begins `text`, which is not empty. Overlong forms, surrogates and what lies above
// U+10FFFF are not valid.
constexpr Utf8Character decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto first = byte(0);
  if (first < 0x80) return {first, 1, true};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  constexpr Utf8Character kBad{0xfffd, 1, false};
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return kBad;
  char32_t code = first & (0x7fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return kBad;
    code = (code << 6) | (byte(i) & 0x3fu);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (code < kSmallest[length] || is_surrogate || code > 0x10ffff) return kBad;
  return {code, length, true};
}

}  // namespace opscope
