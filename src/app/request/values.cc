#include "app/request/values.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/error.h"

namespace opscope {
namespace {

constexpr std::int64_t kLargest = 1'000'000'000;

[[noreturn]] void fail_integer(const std::string& where, const std::string& text, std::int64_t least,
                               bool too_large, const std::string& example) {
  if (too_large && least <= kLargest)
    throw Error("'" + text + "' is too large", where, "the limit is " + std::to_string(kLargest));
  throw Error("'" + text + "' is not a whole number of " + std::to_string(least) + " or more", where,
              "for example " + where + (where.starts_with('-') ? " " : "=") +
                  (!example.empty() ? example
                   : least > 1      ? "120"
                                    : "8"));
}

bool is_separator(char c) { return c == ',' || c == 'x' || c == 'X' || c == '*' || c == ' '; }

}  // namespace

std::vector<std::int64_t> parse_sizes(const std::string& flag, const std::string& text,
                                      const std::string& example) {
  const auto bad = [&](const std::string& what) { throw Error(what, flag, "for example " + example); };
  std::vector<std::int64_t> sizes;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() && !is_separator(text[end])) ++end;
    const std::string part = text.substr(at, end - at);
    std::int64_t size = 0;
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), size);
    if (part.empty()) bad("a size is missing in '" + text + "'");
    if (error != std::errc{} || stop != part.data() + part.size()) bad("'" + part + "' is not a size");
    if (size < 1) bad("size " + part + " is not possible: sizes are 1 or more");
    sizes.push_back(size);
    if (end + 1 == text.size()) bad("a size is missing in '" + text + "'");
    at = end + 1;
  }
  if (sizes.empty()) bad("no sizes given");
  return sizes;
}

std::int64_t parse_integer(const std::string& flag, const std::string& text, std::int64_t least,
                           const std::string& example) {
  std::int64_t number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = stop == text.data() + text.size() && error != std::errc::invalid_argument;
  if (is_whole && error == std::errc{} && number >= least && number <= kLargest) return number;
  fail_integer(flag, text, least, is_whole && !text.starts_with('-') && (error != std::errc{} || number > 0),
               example);
}

void check_integer(const std::string& where, std::int64_t number, std::int64_t least) {
  if (number < least || number > kLargest)
    fail_integer(where, std::to_string(number), least, number > kLargest, "");
}

double parse_number(const char* flag, const std::string& text) {
  double number = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && stop == text.data() + text.size() && std::isfinite(number) && number >= 0)
    return number;
  throw Error("'" + text + "' is not a number of 0 or more", flag,
              std::string("for example ") + flag + " 12.5");
}

std::string registry_path(const std::string& flag) {
  const char* variable = std::getenv("OPSCOPE_REGISTRY");
  const std::string path = !flag.empty() ? flag : variable ? variable : "";
  if (path.empty()) return "";
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored))
    throw Error("no such file", path,
                flag.empty() ? "it is named by $OPSCOPE_REGISTRY" : "it is named by --registry");
  return std::filesystem::absolute(path).lexically_normal().string();
}

}  // namespace opscope
