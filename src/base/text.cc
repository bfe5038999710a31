// UTF-8 text in columns of a terminal, numbers as reports show them, and which known name a person meant.
#include "base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <compare>
#include <iterator>
#include <numeric>
#include <utility>

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
  const auto* const after = std::ranges::upper_bound(table, code, {}, &CodeRange::first);
  return after != std::begin(table) && code <= std::prev(after)->last;
}

int width_of(char32_t code) {
  if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return 0;
  if (code < 0x300) return 1;
  if (is_in(kZeroWidth, code)) return 0;
  return is_in(kWide, code) ? 2 : 1;
}

// Bytes of the characters at the text's beginning that `pass` is true for.
template <class Pass>
std::size_t bytes_while(std::string_view text, const Pass& pass) {
  std::size_t at = 0;
  while (at < text.size()) {
    const auto character = decode_utf8(text.substr(at));
    if (!pass(character)) break;
    at += character.bytes;
  }
  return at;
}

// How many bytes of text fit in `width` columns.
std::size_t bytes_within(std::string_view text, int width) {
  return bytes_while(text, [&](const Utf8Character& next) { return (width -= width_of(next.code)) >= 0; });
}

// Where the last `width` columns of text begin.
std::size_t tail_begin(std::string_view text, int width) {
  int skip = display_width(text) - width;
  return bytes_while(
      text, [&](const Utf8Character& next) { return std::exchange(skip, skip - width_of(next.code)) > 0; });
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string spaces(int count) { return std::string(static_cast<std::size_t>(std::max(count, 0)), ' '); }

constexpr std::string_view kEllipsis = "\xe2\x80\xa6";

// How many decimals a number may have, tried in order: the first whose rounded digits stay below `limit`.
struct Precision {
  unsigned decimals;
  std::uint64_t limit;
};
constexpr std::array kThreeDigits{Precision{2, 1000}, Precision{1, 1000}, Precision{0, 1000}};
constexpr std::array kTwoDecimals{Precision{2, 100000}};
constexpr std::array kByteDigits{Precision{2, 1000}, Precision{1, 10000}};

constexpr std::string_view kUnits = "KMGTPE";
constexpr std::array<std::uint64_t, 3> kPowers{1, 10, 100};

std::uint64_t scaled(std::uint64_t count, std::uint64_t unit, unsigned decimals) {
  const auto wide = static_cast<unsigned __int128>(count) * kPowers[decimals];
  return static_cast<std::uint64_t>((wide + unit / 2) / unit);
}

std::string with_decimals(std::uint64_t digits, unsigned decimals) {
  const auto power = kPowers[decimals];
  if (decimals == 0) return fmt::format("{}", digits);
  return fmt::format("{}.{:0{}}", digits / power, digits % power, decimals);
}

std::string with_unit(std::uint64_t count, std::span<const Precision> precisions) {
  if (count < 1000) return fmt::format("{}", count);
  std::uint64_t unit = 1;
  for (const char letter : kUnits) {
    unit *= 1000;
    for (const auto [decimals, limit] : precisions)
      if (const auto digits = scaled(count, unit, decimals); digits < limit)
        return with_decimals(digits, decimals) + letter;
  }
  return fmt::format("{}", count);  // not reached: 2^64 is 18.4E
}

std::string format(Count count, Zero zero, std::span<const Precision> precisions, std::string_view suffix) {
  if (!count && zero == Zero::kDash) return "-";
  std::string text = count.saturated() ? ">" : "";
  return text.append(with_unit(count.value(), precisions)).append(suffix);
}

// Case and the kind of dash aside.
std::string folded(std::string_view text) {
  std::string out = lower_case(text);
  std::ranges::replace(out, '-', '_');
  return out;
}

// Insertions, deletions, substitutions and swaps of neighbours that turn a into b. Three rows of the table.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::array<std::vector<std::size_t>, 3> rows;
  for (auto& row : rows) row.resize(b.size() + 1);
  std::iota(rows[0].begin(), rows[0].end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    auto& row = rows[i % 3];
    const auto& above = rows[(i + 2) % 3];
    const auto& two_above = rows[(i + 1) % 3];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0u : 1u)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], two_above[j - 2] + 1);
    }
  }
  return rows[a.size() % 3][b.size()];
}

enum class Likeness : std::uint8_t { kFewEdits, kBeginsWithTyped, kContainsTyped, kBeginsTyped, kNone };

struct Match {
  Likeness likeness = Likeness::kNone;
  std::size_t distance = 0;       // edits, or how much longer one is than the other
  std::size_t differs_after = 0;  // letters of what was typed behind the common beginning
  std::size_t index = 0;
  auto operator<=>(const Match&) const = default;
};

std::size_t common_prefix(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

std::size_t length_difference(std::string_view a, std::string_view b) {
  return std::max(a.size(), b.size()) - std::min(a.size(), b.size());
}

Match compare(std::string_view typed, std::string_view candidate, std::size_t index) {
  constexpr std::size_t kMostEdits = 4;
  const auto most = std::clamp<std::size_t>(typed.size() / 3, 1, kMostEdits);
  Match match{.distance = length_difference(typed, candidate),
              .differs_after = typed.size() - common_prefix(typed, candidate),
              .index = index};
  // A short name that shares no letter is within a few edits too: ask for less than all of it to change.
  if (match.distance <= most && candidate.size() > 1)
    if (const auto edits = edit_distance(typed, candidate); edits <= most && edits < typed.size()) {
      match.likeness = Likeness::kFewEdits;
      match.distance = edits;
      return match;
    }
  if (typed.size() >= 2 && candidate.starts_with(typed))
    match.likeness = Likeness::kBeginsWithTyped;
  else if (typed.size() >= 3 && candidate.find(typed) != std::string_view::npos)
    match.likeness = Likeness::kContainsTyped;
  else if (candidate.size() >= 4 && typed.starts_with(candidate))
    match.likeness = Likeness::kBeginsTyped;
  return match;
}

// Longer input is no slip of the fingers, and the table grows with its square.
constexpr std::size_t kLongest = 200;

}  // namespace

int display_width(std::string_view text) {
  int width = 0;
  bytes_while(text, [&](const Utf8Character& next) {
    width += width_of(next.code);
    return true;
  });
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

std::vector<std::string_view> split_by(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t at = 0; at <= text.size(); at += parts.back().size() + 1)
    parts.push_back(text.substr(at, std::min(text.find(separator, at), text.size()) - at));
  return parts;
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
  return bytes_while(text, [](const Utf8Character& next) { return next.valid; }) == text.size();
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  bytes_while(text, [&](const Utf8Character& next) {
    out += next.valid ? text.substr(0, next.bytes) : "?";
    text.remove_prefix(next.bytes);
    return true;
  });
  return out;
}

std::string format_count(Count count, Zero zero) { return format(count, zero, kThreeDigits, ""); }
std::string format_params(Count count, Zero zero) { return format(count, zero, kTwoDecimals, ""); }
std::string format_bytes(Count bytes, Zero zero) { return format(bytes, zero, kByteDigits, "B"); }

std::string format_exact(Count count) {
  auto text = fmt::format("{}", count.value());
  for (auto at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

std::string format_ratio(double ratio, Zero zero) {
  if (!std::isfinite(ratio)) return "-";
  if (ratio == 0) return zero == Zero::kDash ? "-" : "0.0";
  if (ratio > 0 && ratio < 0.05) return "<0.1";
  return fmt::format("{:.1f}", ratio);
}

std::string format_percent(double part, double whole, Zero zero) {
  if (!(part > 0) || !(whole > 0)) return zero == Zero::kDash ? "-" : "0%";
  if (part >= whole) return "100%";
  const double percent = 100 * part / whole;
  if (percent < 0.05) return "<0.1%";
  return fmt::format("{:.1f}%", std::min(percent, 99.9));
}

std::string format_percent(Count part, Count whole, Zero zero) {
  return format_percent(static_cast<double>(part), static_cast<double>(whole), zero);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds < 0.9995e-3) return fmt::format("{:.0f} us", seconds * 1e6);
  if (seconds < 0.09995) return fmt::format("{:.1f} ms", seconds * 1e3);
  if (seconds < 0.9995) return fmt::format("{:.0f} ms", seconds * 1e3);
  return fmt::format("{:.{}f} s", seconds, seconds < 9.995 ? 2 : 1);
}

std::string format_time(double seconds, Zero zero) {
  if (!std::isfinite(seconds) || seconds < 0) return "-";
  if (seconds == 0) return zero == Zero::kDash ? "-" : "0 ns";
  constexpr std::array<std::string_view, 4> kTimeUnits{"ns", "us", "ms", "s"};
  double number = seconds * 1e9;
  std::size_t unit = 0;
  for (; unit + 1 < kTimeUnits.size() && number >= 999.5; ++unit) number /= 1000;
  const int decimals = unit == 0 || number >= 99.95 ? 0 : number >= 9.995 ? 1 : 2;
  return fmt::format("{:.{}f} {}", number, decimals, kTimeUnits[unit]);
}

std::string join_numbers(std::span<const std::int64_t> numbers, std::string_view between) {
  return fmt::format("{}", fmt::join(numbers, between));
}

std::string format_shape(std::span<const std::int64_t> shape) {
  return shape.empty() ? "scalar" : join_numbers(shape, "x");
}

std::vector<std::string> nearest_names(std::string_view typed, const KnownNames& candidates,
                                       std::size_t limit) {
  std::vector<Match> matches;
  if (typed.empty() || typed.size() > kLongest) return {};
  const auto wanted = folded(typed);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (const auto match = compare(wanted, folded(candidates[i]), i); match.likeness != Likeness::kNone)
      matches.push_back(match);
  std::ranges::sort(matches);
  if (matches.size() > limit) matches.resize(limit);
  std::vector<std::string> names;
  for (const auto& match : matches) names.emplace_back(candidates[match.index]);
  return names;
}

std::string did_you_mean(std::string_view typed, const KnownNames& candidates, const std::string& otherwise) {
  const auto near = nearest_names(typed, candidates);
  return near.empty() ? otherwise : "did you mean " + join(near) + "?";
}

}  // namespace opscope
