// Reads back what the SVG writer wrote, as far as tests of drawings need it: where texts and shapes are.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/svg/svg.h"

namespace opscope::test {

struct SvgText {
  std::string text;
  Box box;
};

inline std::string unescaped(std::string text) {
  for (const auto& [entity, character] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#39;", "'"}, {"&amp;", "&"}})
    for (std::size_t at; (at = text.find(entity)) != std::string::npos;)
      text.replace(at, std::string_view(entity).size(), character);
  return text;
}

inline std::optional<std::string> attribute(std::string_view element, std::string_view name) {
  const std::string key = " " + std::string(name) + "=\"";
  const auto begin = element.find(key);
  if (begin == std::string_view::npos) return std::nullopt;
  const auto value = element.substr(begin + key.size());
  return std::string(value.substr(0, value.find('"')));
}

inline double number(std::string_view element, std::string_view name, double otherwise = 0) {
  const auto text = attribute(element, name);
  double value = otherwise;
  if (text) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

// The opening tags of one kind, whatever they hold.
inline std::vector<std::string_view> elements(std::string_view svg, std::string_view kind) {
  std::vector<std::string_view> found;
  const std::string open = "<" + std::string(kind) + " ";
  for (auto at = svg.find(open); at != std::string_view::npos; at = svg.find(open, at + 1))
    found.push_back(svg.substr(at, svg.find('>', at) - at));
  return found;
}

// With the boxes that their letters take; text turned by -90 degrees runs upwards.
inline std::vector<SvgText> texts(std::string_view svg) {
  std::vector<SvgText> found;
  for (const std::string_view tag : elements(svg, "text")) {
    const auto begin = static_cast<std::size_t>(tag.data() - svg.data()) + tag.size() + 1;
    SvgText text{unescaped(std::string(svg.substr(begin, svg.find('<', begin) - begin))), {}};
    TextStyle style{
        .font = {.size = number(tag, "font-size"), .bold = attribute(tag, "font-weight") == "bold"}};
    const auto anchor = attribute(tag, "text-anchor").value_or("start");
    style.anchor = anchor == "end" ? Anchor::kEnd : anchor == "middle" ? Anchor::kMiddle : Anchor::kStart;
    const Point at{number(tag, "x"), number(tag, "y")};
    text.box = text_box(at, text.text, style);
    if (attribute(tag, "transform")) {
      const Box level = text.box;
      text.box = {at.x + level.y - at.y, at.y - (level.right() - at.x), level.height, level.width};
    }
    found.push_back(std::move(text));
  }
  return found;
}

inline Box page(std::string_view svg) {
  const auto tag = elements(svg, "svg").front();
  return {0, 0, number(tag, "width"), number(tag, "height")};
}

// Every element that is opened is closed, and in order.
inline bool well_formed(std::string_view svg) {
  std::vector<std::string_view> open;
  for (auto at = svg.find('<'); at != std::string_view::npos; at = svg.find('<', at + 1)) {
    const auto tag = svg.substr(at + 1, svg.find('>', at) - at - 1);
    const auto name = tag.substr(tag.starts_with('/'), tag.find_first_of(" /", 1) - tag.starts_with('/'));
    if (tag.ends_with('/')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(name);
    } else if (open.empty() || open.back() != tag.substr(1)) {
      return false;
    } else {
      open.pop_back();
    }
  }
  return open.empty();
}

}  // namespace opscope::test
