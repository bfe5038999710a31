// Whether two values that a kernel reads lie the same way: one loop cannot take an element of each where one
// of them was transposed, rolled or flipped on the way. Inside src/partition only.
#pragma once

#include "partition/groups.h"

namespace opscope {

class Turns {
 public:
  explicit Turns(const Groups& groups);

  // How a value lies, seen from the group that wrote it: equal numbers lie the same way.
  std::uint64_t of(const Read& read) const;
  // Once an op is placed: how what it gives lies, by what it takes from its group; a view's, by what it
  // shows.
  void place(OpId op);

 private:
  std::uint64_t turned(std::uint64_t turn, OpId op) const;

  const Groups& g_;
  std::vector<char> is_turning_;      // by target: moves elements to other places
  std::vector<std::uint64_t> turns_;  // by op
};

}  // namespace opscope
