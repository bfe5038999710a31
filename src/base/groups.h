// Lists of ids: each once, and put into groups by a counting sort.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace opscope {

// Ascending, each once.
template <class T>
void sort_unique(std::vector<T>& items) {
  std::ranges::sort(items);
  items.erase(std::ranges::unique(items).begin(), items.end());
}

// One group after the other, the ids of each ascending.
struct IdGroups {
  std::vector<std::uint32_t> ids;
  std::vector<std::uint32_t> begins;  // by group, and the end

  IdGroups() = default;
  // `each(add)` calls add(group, id) for every member, ids in ascending order; it is called twice. What is in
  // a group that is not below `groups` is left out.
  template <std::invocable<void (*)(std::uint32_t, std::uint32_t)> Each>
  IdGroups(std::size_t groups, Each each) : begins(groups + 1) {
    each([&](std::uint32_t group, std::uint32_t) {
      if (group < groups) ++begins[group + 1];
    });
    std::partial_sum(begins.begin(), begins.end(), begins.begin());
    ids.resize(begins.back());
    std::vector<std::uint32_t> next = begins;
    each([&](std::uint32_t group, std::uint32_t id) {
      if (group < groups) ids[next[group]++] = id;
    });
  }
  // `group_of`: by id.
  IdGroups(std::size_t groups, std::span<const std::uint32_t> group_of)
      : IdGroups(groups, [&](auto add) {
          for (std::uint32_t id = 0; id < group_of.size(); ++id) add(group_of[id], id);
        }) {}

  std::uint32_t size(std::size_t group) const { return begins[group + 1] - begins[group]; }
  std::span<const std::uint32_t> of(std::size_t group) const {
    return std::span(ids).subspan(begins[group], size(group));
  }
};

}  // namespace opscope
