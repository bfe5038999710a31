// The words of the reader's errors.
#include "readers/json/access.h"

#include <fmt/format.h>

#include <limits>

#include "base/text.h"

namespace opscope::json {
namespace {

constexpr const char* kDamaged = "the file is damaged or not a capture; write it again with opscope capture";

// Keys come from the file: short, on one line.
std::string shown(std::string_view key) {
  std::string plain(key);
  for (char& c : plain)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  return truncate(plain, 40);
}

}  // namespace

std::string Place::path() const {
  std::string text(section);
  if (item != kNoItem) text += fmt::format("[{}]", item);
  if (!text.empty() && !key.empty()) text += '.';
  return text.append(key);
}

void fail(const Place& place, const std::string& what) {
  const auto path = place.path();
  throw Error(path.empty() ? what : path + ": " + what, place.file, kDamaged);
}

void fail(const Place& place, simdjson::error_code code, std::string_view expected) {
  switch (code) {
    case simdjson::EMPTY:
      throw Error("the file is empty", place.file, kDamaged);
    case simdjson::UTF8_ERROR:
      throw Error("the file is not UTF-8 text", place.file, kDamaged);
    case simdjson::CAPACITY:
      throw Error("the file is larger than 4 GB", place.file, "capture a smaller part of the model");
    case simdjson::MEMALLOC:
      throw Error("not enough memory to read the file", place.file);
    case simdjson::INCORRECT_TYPE:
      fail(place, fmt::format("expected {}", expected));
    case simdjson::NUMBER_OUT_OF_RANGE:
      fail(place, "number out of range");
    case simdjson::NUMBER_ERROR:
      fail(place, fmt::format("expected {}, in range", expected));
    case simdjson::STRING_ERROR:
      fail(place, "a string with a bad escape");
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
    case simdjson::UNCLOSED_STRING:
      fail(place, "the JSON is cut off");
    default:
      fail(place, fmt::format("not valid JSON, expected {}", expected));
  }
}

void fail_unknown_key(const Place& place, std::string_view key) {
  fail(place, fmt::format("unknown key '{}'", shown(key)));
}
void fail_repeated_key(const Place& place) { fail(place, "the key is there twice"); }
void fail_missing_key(const Place& place, std::string_view key) {
  fail(place, fmt::format("missing key '{}'", key));
}

double real(const Place& place, value item) {
  constexpr std::string_view kExpected = "a number, \"nan\", \"inf\" or \"-inf\"";
  if (take(place, item.type(), kExpected) != simdjson::ondemand::json_type::string)
    return take(place, item.get_double(), kExpected);
  const auto word = text(place, item);
  if (word == "nan") return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf") return std::numeric_limits<double>::infinity();
  if (word == "-inf") return -std::numeric_limits<double>::infinity();
  fail(place, fmt::format("expected {}", kExpected));
}

}  // namespace opscope::json
