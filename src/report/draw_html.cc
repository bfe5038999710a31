// A page to look around in.
#include "report/draw_svg.h"

namespace opscope {
std::string page_html(const Scene& scene, const Look& look, const Layout& layout, ColorBy color) {
  return page_svg(scene, look, layout, color);
}
}  // namespace opscope
