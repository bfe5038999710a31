// Ids that are joined to groups: each group is known by one of its ids.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

namespace opscope {

class JoinedIds {
 public:
  explicit JoinedIds(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }

  std::uint32_t of(std::uint32_t id) {
    while (parent_[id] != id) id = parent_[id] = parent_[parent_[id]];
    return id;
  }
  void join(std::uint32_t a, std::uint32_t b) { parent_[of(b)] = of(a); }

 private:
  std::vector<std::uint32_t> parent_;
};

}  // namespace opscope
