// An enum and the names of its values, in their order: what is printed is what is parsed.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace opscope {

// "a, b or c"; with " and " before the last, "a, b and c"
template <class Texts>
std::string one_of(const Texts& names, std::string_view last = " or ") {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? last : ", ").append(names[i]);
  return text;
}

// The names of an enum's values up to `last`.
template <class Enum>
std::vector<std::string_view> names_up_to(Enum last) {
  std::vector<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(last); ++i) names.push_back(name(static_cast<Enum>(i)));
  return names;
}

// The value whose name(value) is `word`, of an enum up to `last`.
template <class Enum>
std::optional<Enum> named(std::string_view word, Enum last) {
  for (int i = 0; i <= static_cast<int>(last); ++i)
    if (name(static_cast<Enum>(i)) == word) return static_cast<Enum>(i);
  return std::nullopt;
}

template <class Enum, std::size_t N>
struct Choices {
  std::array<std::string_view, N> names;

  constexpr std::string_view operator[](Enum value) const { return names[static_cast<std::size_t>(value)]; }

  // `problem`: "no convention called"; `hint`: where no name is near, "" for the list of them.
  Enum parse(std::string_view text, std::string_view problem, std::string_view where = "",
             std::string_view hint = "") const {
    const auto found = std::ranges::find(names, text);
    if (found != names.end()) return static_cast<Enum>(found - names.begin());
    throw Error(std::string(problem) + " '" + std::string(text) + "'", std::string(where),
                did_you_mean(text, names, hint.empty() ? "choose " + one_of(names) : std::string(hint)));
  }
};

// choices<Level>("module", "layer"): the last value is checked against the count.
template <class Enum, Enum last, class... Names>
constexpr auto choices(Names... names) {
  static_assert(sizeof...(Names) == static_cast<std::size_t>(last) + 1);
  return Choices<Enum, sizeof...(Names)>{{names...}};
}

}  // namespace opscope
