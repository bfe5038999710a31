// A scene while it is made: which boxes there would be if certain modules were opened. For collapse*.cc only.
#pragma once

#include <vector>

#include "analyse/tree/calls.h"
#include "analyse/tree/scene.h"

namespace opscope {

// What may be drawn as a part of a neighbour.
enum class Weight : std::uint8_t {
  kFree,   // costs nothing: views, sizes
  kLight,  // what follows or prepares other work: norms, activations, sums
  kHeavy,
};

struct DraftBox {
  BoxKind kind = BoxKind::kNode;
  std::uint32_t item = kNone;  // of the tree; of what was merged, the one that names it
  std::uint32_t around = 0;    // the opened item that it is in
  Weight weight = Weight::kHeavy;
  bool may_merge = false;
  std::uint32_t repeat = 1;
  std::uint32_t named_by = kNone;  // node of the view that the name is of
  std::vector<std::uint32_t> nodes{};
  std::string name{};
};

struct Draft {
  std::vector<DraftBox> boxes;
  std::vector<std::uint32_t> box_of;  // by node of the view; kNone: not drawn
};

Weight weight_of(const GraphView& view, const ViewNode& node);
Category costliest_category(const GraphView& view, std::span<const std::uint32_t> nodes);

// Draws what is light as a part of the one that it follows or prepares, and inputs that go the same way as
// one.
void merge_light(const GraphView& view, Draft& draft, std::span<const ViewEdge> edges);
// Boxes that follow each other as one, until there are `most` at the most.
void merge_runs(Draft& draft, std::size_t most);

}  // namespace opscope
