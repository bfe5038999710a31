// Ids put into groups by a counting sort: one group after the other, the ids of each ascending.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace opscope {

struct IdGroups {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> begins;  // by group, and the end

  // `group_of`: by id; one that is not below `groups` is left out.
  IdGroups(std::size_t groups, std::span<const std::uint32_t> group_of) : begins(groups + 1) {
    for (const std::uint32_t group : group_of)
      if (group < groups) ++begins[group + 1];
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    ids.resize(begins.back());
    std::vector<std::uint32_t> next = begins;
    for (std::uint32_t id = 0; id < group_of.size(); ++id)
      if (group_of[id] < groups) ids[next[group_of[id]]++] = id;
  }

  std::uint32_t size(std::size_t group) const { return begins[group + 1] - begins[group]; }
  std::span<const std::uint32_t> of(std::size_t group) const {
    return std::span(ids).subspan(begins[group], size(group));
  }
};

}  // namespace opscope
