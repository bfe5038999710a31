// Drawings of a graph: a scene laid out, written as SVG, and that as PNG, PDF or a page to look around in; or
// as DOT for one's own Graphviz.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyse/tree/scene.h"
#include "report/svg/pictures.h"

namespace opscope {

enum class ColorBy : std::uint8_t { kCategory, kBound, kCost, kPredicted };
std::string_view name(ColorBy by);                  // "category"
ColorBy color_by_from_name(std::string_view text);  // throws Error naming the choices

struct DrawOptions {
  Level level = Level::kLayer;
  CollapseOptions collapse{};
  ColorBy color = ColorBy::kCategory;
};

struct Picture {
  std::string bytes;
  std::size_t nodes = 0, edges = 0, boxes = 0;  // of the graph at this level, and what they are drawn as
  std::vector<std::string> notes;
};
Picture draw(const Profile& profile, PictureFormat format, const DrawOptions& options = {});

// "resnet18.png  PNG, 71 nodes, 78 edges in 33 boxes"
std::string picture_line(std::string_view path, PictureFormat format, const Picture& picture);

}  // namespace opscope
