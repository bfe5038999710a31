// The graph of two versions as one scene: modules that hold a change opened as far as fits, what is unchanged
// in few boxes. For diff_*.cc only.
#pragma once

#include <string>
#include <vector>

#include "analyse/diff/diff.h"
#include "analyse/tree/scene.h"

namespace opscope {

// What a box of the scene is of the diff.
struct DiffBox {
  DiffStatus status = DiffStatus::kUnchanged;
  std::vector<std::uint32_t> nodes{};  // of the diff; of blocks that changed alike, the first's
  bool follow = false;                 // all of them follow their inputs
  Amounts change{};                    // of one
};

struct DiffScene {
  Scene scene;                 // without a view
  std::vector<DiffBox> boxes;  // by box of the scene
};

DiffScene make_diff_scene(const ModelDiff& diff, const Profile& base, const Profile& now,
                          std::size_t max_boxes);

}  // namespace opscope
