// Axes of sweeps, from lists of values and from their text.
#include "analyse/sweep/sweep.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <unordered_set>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

std::vector<std::string> words_of(const char* flag, std::string_view text) {
  std::vector<std::string> words;
  for (const std::string_view part : split_by(text, ',')) {
    std::string word(part);
    std::erase(word, ' ');
    if (word.empty())
      throw Error("a value is missing: '" +
                      std::string(text.substr(static_cast<std::size_t>(part.data() - text.data()))) + "'",
                  flag, "separate them by commas");
    if (std::ranges::find(words, word) == words.end()) words.push_back(std::move(word));
  }
  return words;
}

bool has_pairs(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i)
    if (text[i] == 'x' && text[i - 1] >= '0' && text[i - 1] <= '9') return true;
  return false;
}

constexpr std::size_t kMostValues = 1'000'000;  // of one list
constexpr std::int64_t kLargest = std::int64_t{1} << 40;
constexpr const char* kForms = "for example 1,2,4 or 1,2,4,..,256 or 128:4096:x2 or 16:512:+16";

class ListReader {
 public:
  ListReader(const char* flag, std::string_view text, std::int64_t least)
      : flag_(flag), text_(text), least_(least) {}

  std::vector<std::int64_t> read() {
    for (const std::string_view part : split_by(text_, ',')) piece(trimmed(part));
    if (continues_) fail("'..' needs a value after it, to end at");
    std::unordered_set<std::int64_t> seen;
    std::erase_if(values_, [&](std::int64_t value) { return !seen.insert(value).second; });
    return values_;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error("'" + std::string(text_) + "': " + what, flag_, kForms);
  }

  static std::string_view trimmed(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    return text;
  }

  std::int64_t number(std::string_view text, std::int64_t least) const {
    const auto value = number_from<std::int64_t>(text);
    if (!value)
      fail(text.empty() ? "a value is missing" : "'" + std::string(text) + "' is not a whole number");
    if (*value < least) fail("values here are " + std::to_string(least) + " or more");
    if (*value > kLargest) fail("'" + std::string(text) + "' is too large");
    return *value;
  }

  void add(std::int64_t value) {
    if (values_.size() == kMostValues) fail("these are more than a million values");
    values_.push_back(value);
  }

  void piece(std::string_view text) {
    if (text == ".." || text == "...") {
      if (continues_ || values_.size() < 2) fail("'..' needs two values before it, to go on from");
      continues_ = true;
    } else if (text.find(':') != std::string_view::npos) {
      if (continues_) fail("'..' goes on to a value, not to a range");
      range(text);
    } else if (continues_) {
      go_on_to(number(text, least_));
    } else {
      add(number(text, least_));
    }
  }

  // The factor that the list grows by, where three values show one.
  std::optional<std::int64_t> factor() const {
    const std::size_t n = values_.size();
    if (n < 3 || values_[n - 3] == 0 || values_[n - 2] == 0) return std::nullopt;
    const std::int64_t ratio = values_[n - 1] / values_[n - 2];
    const bool grows = ratio > 1 && values_[n - 2] * ratio == values_[n - 1];
    return grows && values_[n - 3] * ratio == values_[n - 2] ? std::optional(ratio) : std::nullopt;
  }

  void go_on_to(std::int64_t end) {
    const std::size_t n = values_.size();
    const auto times = factor();
    const std::int64_t step = values_[n - 1] - values_[n - 2];
    if (!times && n >= 3 && values_[n - 2] - values_[n - 3] != step)
      fail("the values before '..' grow neither by one step nor by one factor");
    if (!times && step <= 0) fail("the values before '..' do not grow");
    std::int64_t value = values_.back();
    while (value < end) {
      const std::int64_t next = times ? value * *times : value + step;
      if (next > end)
        fail("going on from " + std::to_string(value) + " comes to " + std::to_string(next) + ", not to " +
             std::to_string(end));
      add(value = next);
    }
    if (value != end) fail(std::to_string(end) + " is not after " + std::to_string(values_.back()));
    continues_ = false;
  }

  // FROM:TO, FROM:TO:xN, FROM:TO:+N (or :N).
  void range(std::string_view text) {
    const auto colon = text.find(':');
    std::string_view rest = text.substr(colon + 1), by;
    if (const auto second = rest.find(':'); second != std::string_view::npos)
      by = rest.substr(second + 1), rest = rest.substr(0, second);
    const std::int64_t from = number(text.substr(0, colon), least_), to = number(rest, least_);
    if (to < from) fail(std::to_string(to) + " is less than " + std::to_string(from));
    const bool times = by.starts_with('x') || by.starts_with('*');
    if (times || by.starts_with('+')) by.remove_prefix(1);
    const bool given = !by.empty() || text.ends_with(':') || times;
    const std::int64_t step = given ? number(by, times ? 2 : 1) : 1;
    if (times && from == 0) fail("0 times anything is 0");
    for (std::int64_t value = from; value <= to; value = times ? value * step : value + step) add(value);
  }

  const char* flag_;
  std::string_view text_;
  std::int64_t least_;
  std::vector<std::int64_t> values_;
  bool continues_ = false;
};

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
  for (const std::string_view side : split_by(text, 'x')) {
    const auto value = number_from<std::int64_t>(side);
    if (!value || *value < 1) return {};
    sides.push_back(*value);
  }
  return sides;
}

bool is_worded(std::string_view name) {
  constexpr std::array kWorded =
      std::to_array<std::string_view>({"autocast", "checkpoint", "dtype", "optimizer", "quantize"});
  return std::ranges::find(kWorded, name) != kWorded.end();
}

SweepAxis axis_from_text(const std::string& name, const char* flag, std::string_view text) {
  if (is_worded(name)) return worded_axis(name, words_of(flag, text));
  if (name != "image_size" || !has_pairs(text))
    return numeric_axis(name, parse_value_list(flag, text, name == "past_len" ? 0 : 1));
  std::vector<std::string> sizes = words_of(flag, text);
  for (const std::string& each : sizes)
    if (const std::size_t sides = sides_of(each).size(); sides != 1 && sides != 2)
      throw Error("an image has a height and a width: '" + each + "'", flag, "for example 384, or 480x640");
  return worded_axis(name, std::move(sizes));
}

std::vector<std::int64_t> parse_value_list(const char* flag, std::string_view text, std::int64_t least) {
  return ListReader(flag, text, least).read();
}

}  // namespace opscope
