#include "readers/json/long_lists.h"

#include <algorithm>

namespace opscope::json {
namespace {

constexpr std::size_t kShort = std::size_t{1} << 23;    // below, a document stays whole
constexpr std::size_t kStretch = std::size_t{1} << 18;  // of lines that are parsed at once

constexpr std::string_view kKey = "\n  \"", kItem = "\n    ", kBegin = "\": [\n    ", kEnd = "\n  ]";

// Where the item that begins at or behind `at` has its line break: an item follows another's comma, and is
// indented by just four. Line breaks are never inside of strings.
std::size_t item_behind(std::string_view lines, std::size_t at) {
  for (; (at = lines.find(kItem, at)) != std::string_view::npos; ++at) {
    const char first = at + kItem.size() < lines.size() ? lines[at + kItem.size()] : ' ';
    const bool begins = first == '{' || first == '"' || first == '-' || (first >= '0' && first <= '9');
    if (begins && at > 0 && lines[at - 1] == ',') break;
  }
  return at;
}

}  // namespace

LongLists::LongLists(std::string_view text, std::size_t readable) : rest_(text), readable_(readable) {
  std::size_t copied = 0;
  for (std::size_t at = text.size() < kShort ? text.size() : 0;
       (at = text.find(kKey, at)) != std::string_view::npos;) {
    at += kKey.size();
    const std::size_t key = at, quote = text.find('"', key);
    if (quote == std::string_view::npos || text.substr(quote, kBegin.size()) != kBegin) continue;
    const std::size_t lines = quote + kBegin.size() - kItem.size(), end = text.find(kEnd, lines);
    if (end == std::string_view::npos) break;
    at = end;
    lists_.push_back({text.substr(key, quote - key), text.substr(lines, end - lines)});
    shortened_.append(text, copied, lines - copied);
    copied = end;
  }
  const bool is_padded = readable - text.size() >= simdjson::SIMDJSON_PADDING;
  if (lists_.empty() && is_padded) return;
  shortened_.append(text, copied);
  shortened_.reserve(shortened_.size() + simdjson::SIMDJSON_PADDING);
  rest_ = shortened_, readable_ = shortened_.capacity();
}

std::string_view LongLists::taken(std::string_view key) {
  const auto found = std::ranges::find(lists_, key, &List::key);
  if (found == lists_.end()) return {};
  const std::string_view lines = found->lines;
  lists_.erase(found);
  return lines;
}

bool LongLists::Stretches::next() {
  if (left_.empty()) return false;
  const std::size_t next = left_.size() <= kStretch ? std::string_view::npos : item_behind(left_, kStretch);
  const std::string_view lines = left_.substr(0, next);
  left_.remove_prefix(lines.size());
  array_.assign(1, '[');
  array_ += left_.empty() ? lines : lines.substr(0, lines.size() - 1);  // the comma to the next
  array_ += ']';
  array_.reserve(array_.size() + simdjson::SIMDJSON_PADDING);
  return true;
}

}  // namespace opscope::json
