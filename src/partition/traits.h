// What fusing has to know of one op: its fusion class of the cost table, narrowed by this call's arguments,
// and the sizes that its kernel would loop over. Inside src/partition only.
#pragma once

#include <vector>

#include "partition/dataflow.h"

namespace opscope {

enum class Role : std::uint8_t {
  kRide,       // does no work
  kPointwise,  // element by element of its result
  kRows,       // folds rows, each by itself: sums, norms, softmax
  kWindow,     // reads neighbours: pooling
  kGather,     // reads wherever its indices say, writes element by element
  kAnchor,     // a kernel of its own that may go on with its result: matmul, conv, attention
  kBarrier,    // fuses with nothing
};

struct Trait {
  Role role = Role::kRide;
  Category category = Category::kCustom;
  Count out{};   // elements of its largest result
  Count in{};    // elements of its largest argument that is not a weight
  Count rows{};  // kRows: that it folds
  bool is_concat =
      false;  // kPointwise: each element is one of an argument's, so that all of them fit its loop
};

std::vector<Trait> traits_of(const Graph& graph, std::span<const OpCost> costs, const Dataflow& flow);

}  // namespace opscope
