// Which item of one tree is which of another. For diff*.cc only.
#pragma once

#include <vector>

#include "analyse/diff/items.h"

namespace opscope {

struct DiffMatch {
  std::vector<std::uint32_t> in_new;   // by item of the base; kNone: removed
  std::vector<std::uint32_t> in_base;  // by item of the new tree; kNone: added
};

// Roots are each other's. Below partners: modules by name, numbered ones and ops in order by what they are,
// what is most alike first, so that an index that shifts is no change; then what is the same somewhere else.
DiffMatch match_trees(const DiffTree& base, const DiffTree& now);

// Both are numbers: places in a list, not names.
bool are_indices(const DiffItem& a, const DiffItem& b);

}  // namespace opscope
