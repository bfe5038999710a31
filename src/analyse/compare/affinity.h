// Which device suits a model, in words: what limits it there, where the time would go, what would help, and
// how several devices compare. Made of the predictions and rooflines that profiles hold.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "analyse/profile/profile.h"

namespace opscope {

// Of a profile with a device.
struct Affinity {
  double compute_share = 0, memory_share = 0;  // of the roofline time
  double fused_share = 1;                      // of the roofline time that subgraphs take
  std::optional<bool> fits;  // the predicted peak in the device's memory; none: its size is not known
  std::vector<std::string> findings;  // a sentence each
};
Affinity affinity(const Profile& profile);

// The same model on several devices, in words, and which is best: the index of the one with the least
// predicted time among those that it fits in.
struct AffinityComparison {
  std::vector<Affinity> devices;
  std::size_t best = 0;
  std::vector<std::string> findings;
};
AffinityComparison compare_affinity(std::span<const Profile> profiles);

// Types by roofline time, the most first; those with none left out.
std::vector<const TypeRow*> types_by_roofline(const Profile& profile);

}  // namespace opscope
