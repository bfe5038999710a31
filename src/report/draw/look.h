// How a scene looks, whatever it is written as: texts, sizes and colours of its boxes. For draw*.cc and
// layout*.cc only.
#pragma once

#include <string>
#include <vector>

#include "analyse/tree/scene.h"
#include "report/draw/draw.h"
#include "report/svg/svg.h"

namespace opscope {

inline constexpr Font kNameFont{10.5, true, false}, kTypeFont{9.5, false, false}, kCostFont{9, false, false};
inline constexpr Font kEdgeFont{8.5, false, false}, kClusterFont{10, true, false};
inline constexpr double kLine = 13;          // from one line of a box to the next
inline constexpr double kStackOffset = 3;    // of the second sheet behind a box that repeats
inline constexpr double kClusterTitle = 18;  // height of a cluster's title
inline constexpr std::string_view kContinued = " (continued)";  // after a cluster's title in a later column

struct BoxLook {
  std::string name, type, cost;  // the lines of text; "" for none
  double width = 0, height = 0;
  std::string fill, edge, ink;
  double bar = 0;  // share of the costliest box, for the bar at its foot
  bool bottleneck = false;
};

struct Look {
  std::vector<BoxLook> boxes;         // by box
  std::vector<std::string> edges;     // by edge: its label, "" where another edge says the same
  std::vector<std::string> clusters;  // by cluster: title
};
Look make_look(const Scene& scene, ColorBy color);

// Of all runs, in the model's FLOPs.
double share_of_model(const Scene& scene, const SceneBox& box);
std::string shape_label(const Graph& graph, ValueId value);  // "1x64x56x56", "" for none
std::string joined_types(const SceneBox& box, std::size_t most);

struct LegendEntry {
  std::string color, edge, text;
};
// Colours that are in the picture and what they mean.
std::vector<LegendEntry> legend(const Scene& scene, ColorBy color);

}  // namespace opscope
