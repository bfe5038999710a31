// Numbers and words as people read them: the same units and the same padding in every report and error.
// No locale: a foreign one changes nothing.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/count.h"

namespace opscope {

// Times are whole numbers inside, picoseconds of ops and nanoseconds of clocks, and seconds where people read
// them.
constexpr double kPicosecond = 1e-12, kNanosecond = 1e-9;

// How a zero is shown.
enum class Zero : std::uint8_t { kDigit, kDash };

// Three significant digits and a decimal unit: "0", "128", "803K", "1.61M", "3.64G". ">18.4E" when saturated.
std::string format_count(Count count, Zero zero = Zero::kDigit);
// Two decimals: "128", "9.41K", "147.97K", "11.69M". For parameters.
std::string format_params(Count count, Zero zero = Zero::kDigit);
// Decimal bytes: "512B", "3.85MB", "19.9MB", "107.9MB", "1.20TB".
std::string format_bytes(Count bytes, Zero zero = Zero::kDigit);
// Every digit, in groups: "1,814,073,344".
std::string format_exact(Count count);
// One decimal, "0.2", "33.7", "1234.5"; "<0.1" for what is positive and would round to 0.0.
std::string format_ratio(double ratio, Zero zero = Zero::kDigit);
// "99.8%", "<0.1%", "0%", "100%" for exactly all; "99.9%" for anything less.
std::string format_percent(double part, double whole, Zero zero = Zero::kDigit);
std::string format_percent(Count part, Count whole, Zero zero = Zero::kDigit);
// "850 us", "1.4 ms", "2.31 s".
std::string format_seconds(double seconds);
// Three significant digits: "0 ns", "850 ns", "12.3 us", "1.24 ms", "2.31 s", "125 s".
std::string format_time(double seconds, Zero zero = Zero::kDigit);
// "1x3x224x224", "scalar" for no dimensions.
std::string format_shape(std::span<const std::int64_t> shape);

// "a, b, c" of a range of texts.
template <class Texts>
std::string join(const Texts& texts, std::string_view between = ", ") {
  std::string joined;
  for (const auto& text : texts) joined.append(joined.empty() ? std::string_view() : between).append(text);
  return joined;
}

std::string join_numbers(std::span<const std::int64_t> numbers, std::string_view between);

// "conv2d + cat x6 + relu" of a range of texts: what comes several times in a row once, and what is behind
// the first `most` as a number.
template <class Texts>
std::string join_runs(const Texts& texts, const std::string& between, std::size_t most = SIZE_MAX) {
  std::string joined;
  for (std::size_t i = 0, end = 0, shown = 0; i < texts.size(); i = end) {
    while (end < texts.size() && texts[end] == texts[i]) ++end;
    joined += joined.empty() ? "" : between;
    if (shown++ == most) return joined + std::to_string(texts.size() - i) + " more";
    joined += texts[i];
    if (end - i > 1) joined += " x" + std::to_string(end - i);
  }
  return joined;
}
// "conv1" and "layer1.0" of "layer1.0.conv1"; all and "" of what has no dot.
constexpr std::string_view last_part(std::string_view path) { return path.substr(path.rfind('.') + 1); }
constexpr std::string_view parent_path(std::string_view path) {
  return path.find('.') == std::string_view::npos ? std::string_view() : path.substr(0, path.rfind('.'));
}

// Columns that a terminal uses for UTF-8 text: 2 for wide characters, 0 for combining ones.
int display_width(std::string_view text);
std::string pad_right(std::string_view text, int width);  // text, then spaces
std::string pad_left(std::string_view text, int width);   // spaces, then text
// At most `width` columns, the cut marked with an ellipsis; the middle form keeps both ends, for paths.
std::string truncate(std::string_view text, int width);
std::string truncate_middle(std::string_view text, int width);
// Words in lines of at most `width`, as `width_of` measures them, those after the first behind `indent`. A
// longer word has a line of its own.
template <class WidthOf>
std::vector<std::string> wrapped_lines(std::string_view text, double width, WidthOf width_of,
                                       const std::string& indent = {}) {
  std::vector<std::string> lines(text.empty() ? 0 : 1);
  while (!text.empty()) {
    const auto end = std::min(text.find(' '), text.size());
    const std::string word(text.substr(0, end)), longer = lines.back() + " " + word;
    if (lines.back().find_first_not_of(' ') == std::string::npos)
      lines.back() += word;
    else if (width_of(longer) <= width)
      lines.back() = longer;
    else
      lines.push_back(indent + word);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}
// Letters of ASCII in lower case, others as they are.
std::string lower_case(std::string_view text);
// Case aside.
bool contains_text(std::string_view text, std::string_view part);
// "json" of "folder/out.JSON", in lower case; "" where the file's name has no dot.
std::string file_extension(std::string_view path);
// What stands between separators, empty parts too: "a", "", "b" of "a,,b"; one empty part of "".
std::vector<std::string_view> split_by(std::string_view text, char separator);
// All of the text as a number; nullopt where it is none, or does not fit.
template <class Number>
std::optional<Number> number_from(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}
// True if every byte belongs to a well-formed character.
bool is_utf8(std::string_view text);
// With "?" for every byte that does not.
std::string valid_utf8(std::string_view text);

// Any range of texts, for as long as those live.
struct KnownNames : std::vector<std::string_view> {
  template <class Texts>
  KnownNames(const Texts& texts) : vector(texts.begin(), texts.end()) {}
};
// Candidates closest to what was typed, best first: few edits (swapped neighbours are one), case aside, then
// those that begin with it or contain it. Empty where nothing is near.
std::vector<std::string> nearest_names(std::string_view typed, const KnownNames& candidates,
                                       std::size_t limit = 3);
// "did you mean resnet18, resnet34, resnet101?", or `otherwise` where nothing is near: an Error's hint.
std::string did_you_mean(std::string_view typed, const KnownNames& candidates,
                         const std::string& otherwise = {});

// One UTF-8 character at a time.
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
