// Axes of sweeps, from lists of values and from their text.
#include <algorithm>
#include <charconv>
#include <numeric>

#include "analyse/sweep/sweep.h"
#include "analyse/sweep/values.h"
#include "base/error.h"

namespace opscope {
namespace {

std::vector<std::string> words_of(const char* flag, std::string_view text) {
  std::vector<std::string> words;
  for (bool more = true; more;) {
    const auto comma = text.find(',');
    more = comma != std::string_view::npos;
    std::string word(text.substr(0, comma));
    std::erase(word, ' ');
    if (word.empty())
      throw Error("a value is missing: '" + std::string(text) + "'", flag, "separate them by commas");
    if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
    text.remove_prefix(more ? comma + 1 : text.size());
  }
  return words;
}

bool is_pair(const std::string& word) { return sides_of(word).size() == 2; }

bool has_pairs(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i)
    if (text[i] == 'x' && text[i - 1] >= '0' && text[i - 1] <= '9') return true;
  return false;
}

}  // namespace

SweepAxis numeric_axis(std::string name, std::vector<std::int64_t> numbers) {
  SweepAxis axis{.name = std::move(name), .numbers = std::move(numbers), .texts = {}};
  for (const std::int64_t each : axis.numbers) axis.texts.push_back(std::to_string(each));
  return axis;
}

SweepAxis worded_axis(std::string name, std::vector<std::string> texts) {
  SweepAxis axis{.name = std::move(name), .numbers = {}, .texts = std::move(texts), .numeric = false};
  axis.numbers.resize(axis.texts.size());
  std::iota(axis.numbers.begin(), axis.numbers.end(), 0);
  return axis;
}

std::vector<std::int64_t> sides_of(std::string_view text) {
  std::vector<std::int64_t> sides;
  for (bool more = true; more;) {
    const auto times = text.find('x');
    more = times != std::string_view::npos;
    const std::string_view side = text.substr(0, times);
    std::int64_t value = 0;
    const auto [end, bad] = std::from_chars(side.data(), side.data() + side.size(), value);
    if (side.empty() || bad != std::errc{} || end != side.data() + side.size() || value < 1) return {};
    sides.push_back(value);
    text.remove_prefix(more ? times + 1 : text.size());
  }
  return sides;
}

SweepAxis axis_from_text(const std::string& name, const char* flag, std::string_view text) {
  if (name == "dtype") return worded_axis(name, words_of(flag, text));
  if (name != "image_size" || !has_pairs(text))
    return numeric_axis(name, parse_value_list(flag, text, name == "past_len" ? 0 : 1));
  std::vector<std::string> sizes = words_of(flag, text);
  for (const std::string& each : sizes)
    if (!is_pair(each) && sides_of(each).size() != 1)
      throw Error("an image has a height and a width: '" + each + "'", flag, "for example 384, or 480x640");
  return worded_axis(name, std::move(sizes));
}

}  // namespace opscope
