// Which piece of memory each value lives in, and what each piece is for. For the files of liveness only.
#pragma once

#include <vector>

#include "cost/liveness.h"

namespace opscope {

struct PieceMap {
  explicit PieceMap(const Graph& graph);

  std::vector<std::uint32_t> of_value;
  std::vector<MemoryPiece> pieces;  // bytes, value, kind and returned; the rest is as it is made
  std::vector<char> is_input;       // by piece: given before the run
  std::vector<char> is_constant;    // by piece: a weight only because no op was seen to write it

 private:
  void place_values(const Graph& graph);
  void find_kinds(const Graph& graph);
};

// Wide enough for all storages together; a saturating count could not go down again.
using WideSum = unsigned __int128;
inline Count narrow(WideSum sum) {
  return sum < WideSum{Count::kMax} ? static_cast<std::uint64_t>(sum) : Count::kMax;
}

}  // namespace opscope
