// Rewrites of argv.
#include "cli/main/arguments.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

constexpr std::string_view kShapeFlag = "--input-shape";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Made of digits, signs, points and separators, and begins like a number.
bool looks_like_sizes(std::string_view text) {
  const std::string_view digits = text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
  return !digits.empty() && is_digit(digits[0]) &&
         text.find_first_not_of("0123456789+-.,xX*") == std::string_view::npos;
}

bool is_picture(const std::string& path) {
  static constexpr std::array<std::string_view, 5> kExtensions{"png", "pdf", "svg", "dot", "html"};
  return std::ranges::find(kExtensions, file_extension(path)) != kExtensions.end();
}

bool is_flag(std::string_view text) { return text.size() > 1 && text[0] == '-' && !is_digit(text[1]); }

}  // namespace

Arguments join_shapes(const Arguments& arguments) {
  Arguments result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const bool joined = arguments[i].starts_with(std::string(kShapeFlag) + "=");
    if (arguments[i] != kShapeFlag && !joined) {
      result.push_back(arguments[i]);
      continue;
    }
    std::string sizes = joined ? arguments[i].substr(kShapeFlag.size() + 1) : "";
    // Whatever comes first is meant as the shape, even if it is none: the error is then about the shape.
    if (!joined && i + 1 < arguments.size() && !is_flag(arguments[i + 1])) sizes = arguments[++i];
    if (sizes.empty())
      throw Error("no sizes given", std::string(kShapeFlag), "for example --input-shape 1 3 224 224");
    while (i + 1 < arguments.size() && looks_like_sizes(arguments[i + 1])) {
      if (!sizes.ends_with(',')) sizes += ',';
      sizes += arguments[++i];
    }
    result.push_back(std::string(kShapeFlag) + "=" + sizes);
  }
  return result;
}

Arguments list_flag_to_command(const Arguments& arguments) {
  const auto flag = std::ranges::find_if(
      arguments, [](const std::string& text) { return text == "--list" || text.starts_with("--list="); });
  if (flag == arguments.end() || arguments.front() != "profile") return arguments;
  Arguments result{"list"};
  for (auto text = arguments.begin() + 1; text != arguments.end(); ++text) {
    if (text != flag)
      result.push_back(*text);
    else if (text->size() > 7)
      result.push_back(text->substr(7));
  }
  return result;
}

Arguments picture_flag(Arguments arguments) {
  if (arguments.front() != "profile") return arguments;
  for (std::size_t i = 1; i + 1 < arguments.size(); ++i)
    if (arguments[i] == "-v" && is_picture(arguments[i + 1])) arguments[i] = "--visualize";
  return arguments;
}

}  // namespace opscope
