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
};

// Wide enough for all storages together; a saturating count could not go down again.
using WideSum = unsigned __int128;
inline Count narrow(WideSum sum) {
  return sum < WideSum{Count::kMax} ? static_cast<std::uint64_t>(sum) : Count::kMax;
}

// What comes into use and what goes, step by step.
class MemorySweep {
 public:
  explicit MemorySweep(std::size_t steps) : born_(steps + 1), gone_(steps + 1) {}

  // In use from step `begin` to the one before `end`.
  void add(std::size_t begin, std::size_t end, Count bytes) {
    born_[begin] += bytes.value();
    gone_[end] += bytes.value();
  }
  // Calls visit(step, bytes in use) for each in order.
  template <class Visit>
  void run(Visit visit) const {
    WideSum sum = 0;
    for (std::size_t step = 0; step + 1 < born_.size(); ++step)
      visit(step, sum = sum + born_[step] - gone_[step]);
  }

 private:
  std::vector<WideSum> born_, gone_;
};

}  // namespace opscope
