// A diff as a person reads it: modules that hold a change, blocks that changed in the same way as one row,
// layers that only follow what they are given as one row, all within a number of rows. The rows of one
// parent, each as often as it stands for, add up to the parent.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "analyse/diff/diff.h"

namespace opscope {

struct OutlineOptions {
  int depth = -1;  // levels below the root; -1: as many as fit
  std::size_t most_rows = 36;
  bool fold = true;  // what changed in the same way as one row
};

struct OutlineRow {
  std::vector<std::uint32_t>
      nodes;  // of the diff: the first, and those after it that changed in the same way
  DiffStatus status =
      DiffStatus::kChanged;  // with what is below it: an addition only adds, a removal only takes
  std::uint32_t depth = 0;
  bool follow = false;   // different layers that follow what they are given: the amounts are of all of them
  bool itself = false;   // what is a module's own, beside its parts
  bool is_open = false;  // the rows below it tell more
  bool is_last = false;  // of its parent's rows
  Amounts amounts{};     // of each, or of all that follow
};

// Without the root. Empty for models that are the same.
std::vector<OutlineRow> make_outline(const ModelDiff& diff, const OutlineOptions& options = {});

// "layer1.0..2", a row's name from where its parent's ends; `around` is the parent's path.
std::string outline_name(const ModelDiff& diff, const OutlineRow& row, const std::string& around);

// It and everything below it are of one status: there is nothing to tell of its parts.
bool is_whole(const ModelDiff& diff, const DiffNode& node);

}  // namespace opscope
