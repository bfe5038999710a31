// A diff as a picture: the scene of both versions in the colours of additions, removals and changes.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "report/diff/report.h"
#include "report/diff/scene.h"
#include "report/draw/layout.h"
#include "report/draw/svg.h"
#include "report/svg/colors.h"

namespace opscope {
namespace {

constexpr double kWidestBox = 230, kNarrowestBox = 84, kSide = 9;
constexpr std::size_t kMostDiffBoxes = 300;

struct StatusColor {
  std::string_view fill, edge, word;
};
// By status.
constexpr std::array<StatusColor, kDiffStatuses> kColors{{{"#f6f7f9", "#c3c8d0", "unchanged"},
                                                          {"#fdf0d0", "#c98a00", "changed"},
                                                          {"#d9f2dd", "#2a8a4a", "added"},
                                                          {"#fadcdc", "#b3202e", "removed"},
                                                          {"#dfe8f7", "#2f6db5", "moved or renamed"}}};
const StatusColor& color_of(DiffStatus status) { return kColors[static_cast<std::size_t>(status)]; }

std::string what_text(const ModelDiff& diff, const DiffBox& box) {
  if (box.status == DiffStatus::kUnchanged) return "";
  for (const std::uint32_t n : box.nodes)
    if (!diff.nodes[n].follows || box.nodes.size() == 1) return outline_words(diff, {.nodes = {n}});
  return outline_words(diff, {.nodes = {box.nodes[0]}});
}

std::string cost_text(const DiffBox& box) {
  std::vector<std::string> parts;
  if (const auto flops = change_text(Unit::kCount, box.change.flops); !flops.empty())
    parts.push_back(flops + " FLOPs");
  if (const auto params = change_text(Unit::kParams, box.change.params); !params.empty())
    parts.push_back(params + " params");
  return fmt::format("{}", fmt::join(parts, "  "));
}

BoxLook look_of(const ModelDiff& diff, const SceneBox& scene, const DiffBox& box) {
  BoxLook look;
  const double room = kWidestBox - 2 * kSide;
  const std::string_view mark = status_mark(box.status);
  look.name = fitted_middle((mark == " " ? "" : std::string(mark) + " ") + scene.name, room - 20, kNameFont) +
              (scene.repeat > 1 ? " \u00d7" + std::to_string(scene.repeat) : "");
  const std::string what = what_text(diff, box);
  look.type = fitted(what.empty() ? joined_types(scene, 3) : what, room, kTypeFont);
  if (look.type == scene.name) look.type.clear();
  look.cost = fitted(cost_text(box), room, kCostFont);
  const double widest = std::max(
      {text_width(look.name, kNameFont), text_width(look.type, kTypeFont), text_width(look.cost, kCostFont)});
  look.width = std::clamp(widest + 2 * kSide, kNarrowestBox, kWidestBox);
  look.height = kLine * (1 + !look.type.empty() + !look.cost.empty()) + 12;
  const StatusColor& color = color_of(box.status);
  look.fill = color.fill, look.edge = color.edge, look.ink = kInk;
  if (box.status == DiffStatus::kUnchanged) look.ink = kQuietInk;
  if (scene.kind == BoxKind::kInput || scene.kind == BoxKind::kOutput)
    look.type.clear(), look.fill = kPanel, look.edge = kQuietInk, look.ink = kInk;
  return look;
}

Look look_of(const ModelDiff& diff, const DiffScene& scene) {
  Look look;
  for (std::size_t b = 0; b < scene.boxes.size(); ++b)
    look.boxes.push_back(look_of(diff, scene.scene.boxes[b], scene.boxes[b]));
  look.edges.assign(scene.scene.edges.size(), "");
  for (const SceneCluster& cluster : scene.scene.clusters)
    look.clusters.push_back(fitted_middle(cluster.name, 150, kClusterFont) +
                            (cluster.repeat > 1 ? " \u00d7" + std::to_string(cluster.repeat) : ""));
  return look;
}

PageTexts texts_of(const ModelDiff& diff, const DiffScene& scene) {
  PageTexts texts;
  texts.title = diff.base_label + " \u2192 " + diff.new_label;
  texts.subtitle = diff_summary(diff) + " \u00b7 " + diff.now.inputs;
  for (const TotalChange& total : diff.totals) {
    if (total.metric->better != Better::kLess) continue;
    const std::string change = change_text(total.metric->unit, total.before, total.after);
    texts.totals.emplace_back(heading(*total.metric), change.empty() ? "no change" : change);
  }
  const bool repeats =
      std::ranges::any_of(scene.scene.boxes, [](const SceneBox& b) { return b.repeat > 1; }) ||
      std::ranges::any_of(scene.scene.clusters, [](const SceneCluster& c) { return c.repeat > 1; });
  if (repeats)
    texts.remarks.push_back(
        "\u00d7N: N layers that changed in the same way, drawn once; numbers are of one.");
  texts.remarks.push_back(
      "Layers whose only change is their input are drawn with the layer that changed it.");
  return texts;
}

std::vector<LegendEntry> legend_of(const DiffScene& scene) {
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < kDiffStatuses; ++i)
    if (std::ranges::any_of(scene.boxes,
                            [&](const DiffBox& b) { return b.status == static_cast<DiffStatus>(i); }))
      entries.push_back(
          {std::string(kColors[i].fill), std::string(kColors[i].edge), std::string(kColors[i].word)});
  return entries;
}

std::string page_of(const ModelDiff& diff, const std::string& svg) {
  constexpr std::string_view kEnd = "</div>\n";
  std::string out = to_html(diff_document(diff, {}));
  const auto begin = svg.find("<svg");
  return out.insert(out.size() - kEnd.size(), svg.substr(begin == std::string::npos ? 0 : begin));
}

}  // namespace

DiffPicture draw_diff(const ModelDiff& diff, const Profile& base, const Profile& now, PictureFormat format,
                      std::size_t max_boxes) {
  if (format == PictureFormat::kDot) throw Error("a diff is not drawn as DOT", "", "svg, png, pdf or html");
  const DiffScene scene = make_diff_scene(diff, base, now, std::min(max_boxes, kMostDiffBoxes));
  const Look look = look_of(diff, scene);
  const Layout layout = make_layout(scene.scene, look);
  const std::string svg = page_svg(scene.scene, look, layout, texts_of(diff, scene), legend_of(scene));
  return {format == PictureFormat::kHtml ? page_of(diff, svg) : svg_to(format, svg), scene.scene.notes};
}

}  // namespace opscope
