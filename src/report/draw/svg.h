// The parts of a drawing as SVG. For draw*.cc only.
#pragma once

#include <string>

#include "report/draw/layout.h"
#include "report/draw/look.h"

namespace opscope {

// What stands above and below the graph.
struct PageTexts {
  std::string title, subtitle;
  std::vector<std::pair<std::string, std::string>> totals;  // "FLOPs", "3.64G"
  std::vector<std::string> remarks;
};
PageTexts page_texts(const Scene& scene, ColorBy color);

// A whole page. Boxes are groups of class "box" with id "b7", edges of class "edge" with data-from and
// data-to.
std::string page_svg(const Scene& scene, const Look& look, const Layout& layout, ColorBy color);
// With other words and colours than a model's own.
std::string page_svg(const Scene& scene, const Look& look, const Layout& layout, PageTexts texts,
                     std::vector<LegendEntry> entries);
std::string scene_dot(const Scene& scene, const Look& look, ColorBy color);
std::string page_html(const Scene& scene, const Look& look, const Layout& layout, ColorBy color);

// Of the page.
extern const std::string_view kDrawStyle, kDrawScript;

}  // namespace opscope
