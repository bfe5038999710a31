// "did you mean": which of the known names a person may have meant.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <compare>
#include <numeric>

#include "base/text.h"

namespace opscope {
namespace {

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

template <class Text>
std::vector<std::string> nearest(std::string_view typed, std::span<const Text> candidates,
                                 std::size_t limit) {
  std::vector<Match> matches;
  if (typed.empty() || typed.size() > kLongest) return {};
  const auto wanted = folded(typed);
  for (std::size_t i = 0; i < candidates.size(); ++i)
    if (const auto match = compare(wanted, folded(candidates[i]), i); match.likeness != Likeness::kNone)
      matches.push_back(match);
  std::sort(matches.begin(), matches.end());
  if (matches.size() > limit) matches.resize(limit);
  std::vector<std::string> names;
  names.reserve(matches.size());
  for (const auto& match : matches) names.emplace_back(candidates[match.index]);
  return names;
}

std::string as_question(const std::vector<std::string>& names) {
  return names.empty() ? std::string{} : fmt::format("did you mean {}?", fmt::join(names, ", "));
}

}  // namespace

std::vector<std::string> nearest_names(std::string_view typed, std::span<const std::string_view> candidates,
                                       std::size_t limit) {
  return nearest(typed, candidates, limit);
}
std::vector<std::string> nearest_names(std::string_view typed, std::span<const std::string> candidates,
                                       std::size_t limit) {
  return nearest(typed, candidates, limit);
}
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> candidates) {
  return as_question(nearest_names(typed, candidates));
}
std::string did_you_mean(std::string_view typed, std::span<const std::string> candidates) {
  return as_question(nearest_names(typed, candidates));
}

}  // namespace opscope
