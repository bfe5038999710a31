// Groups merge at the place of the first of them. What the later ones wait for and stands behind that place
// has to move before it, and what waits for the first has to move behind that.
#include "partition/order.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace opscope {
namespace {

// Ops and edges that one search may look at. Neighbours in real models are found in a few dozen; a merge that
// needs more is left out, so that the whole stays linear.
constexpr std::uint32_t kMaxSteps = 1024;

}  // namespace

GroupOrder::GroupOrder(const Dataflow& flow) : flow_(&flow) {
  const auto count = flow.works.size();
  group_of_.resize(count);
  std::iota(group_of_.begin(), group_of_.end(), 0u);
  first_ = last_ = position_ = group_of_;
  next_.assign(count, kNone);
  size_.assign(count, 1);
  mark_.assign(count, 0);
}

GroupId GroupOrder::merge(GroupId a, GroupId b) {
  const std::array<GroupId, 2> both{a, b};
  return merge(both);
}

GroupId GroupOrder::merge(std::span<const GroupId> groups) {
  std::uint32_t lowest = kNone;
  for (const GroupId group : groups) lowest = std::min(lowest, position_[group]);
  steps_ = 0;
  if (!find_before(groups, lowest)) return kNone;
  std::uint32_t highest = lowest;
  for (const GroupId group : before_) highest = std::max(highest, position_[group]);
  if (!find_after(groups, highest)) return kNone;
  return join(groups, reorder(lowest));
}

// Into before_: all outside that they wait for and that stands behind `lowest`; false where one of that waits
// for them in turn.
bool GroupOrder::find_before(std::span<const GroupId> groups, std::uint32_t lowest) {
  const std::uint32_t own = ++serial_, met = ++serial_;
  before_.clear();
  for (const GroupId group : groups) mark_[group] = own;
  const auto expand = [&](GroupId group, bool is_outside) {
    for (OpId op = first_[group]; op != kNone; op = next_[op]) {
      const auto earlier = flow_->before(op);
      if ((steps_ += 1 + static_cast<std::uint32_t>(earlier.size())) > kMaxSteps) return false;
      for (const OpId other : earlier) {
        const GroupId from = group_of_[other];
        if (is_marked(from, own) && is_outside && from != group) return false;
        if (is_marked(from, own) || is_marked(from, met) || position_[from] < lowest) continue;
        mark_[from] = met;
        before_.push_back(from);
      }
    }
    return true;
  };
  // The one that stands first waits for nothing behind itself.
  for (const GroupId group : groups)
    if (position_[group] != lowest && !expand(group, false)) return false;
  for (std::size_t i = 0; i < before_.size(); ++i)
    if (!expand(before_[i], true)) return false;
  return true;
}

// Into after_: all outside that waits for them and stands before `highest`.
bool GroupOrder::find_after(std::span<const GroupId> groups, std::uint32_t highest) {
  const std::uint32_t own = ++serial_;
  after_.clear();
  for (const GroupId group : groups) mark_[group] = own;
  const auto expand = [&](GroupId group) {
    for (OpId op = first_[group]; op != kNone; op = next_[op]) {
      const auto later = flow_->after(op);
      if ((steps_ += 1 + static_cast<std::uint32_t>(later.size())) > kMaxSteps) return false;
      for (const OpId other : later) {
        const GroupId to = group_of_[other];
        if (is_marked(to, own) || position_[to] > highest) continue;
        mark_[to] = own;
        after_.push_back(to);
      }
    }
    return true;
  };
  for (const GroupId group : groups)
    if (position_[group] < highest && !expand(group)) return false;
  for (std::size_t i = 0; i < after_.size(); ++i)
    if (!expand(after_[i])) return false;
  return true;
}

// Shares out the same places: first what comes before, then one that is returned, then what comes after.
std::uint32_t GroupOrder::reorder(std::uint32_t own) {
  if (before_.empty()) return own;
  const auto by_position = [&](GroupId a, GroupId b) { return position_[a] < position_[b]; };
  std::ranges::sort(before_, by_position);
  std::ranges::sort(after_, by_position);
  std::vector<std::uint32_t> places{own};
  for (const GroupId group : before_) places.push_back(position_[group]);
  for (const GroupId group : after_) places.push_back(position_[group]);
  std::ranges::sort(places);
  auto place = places.begin();
  for (const GroupId group : before_) position_[group] = *place++;
  own = *place++;
  for (const GroupId group : after_) position_[group] = *place++;
  return own;
}

// The largest keeps its id, so that each op changes hands a few times at most.
GroupId GroupOrder::join(std::span<const GroupId> groups, std::uint32_t position) {
  const GroupId kept = *std::ranges::max_element(groups, {}, [&](GroupId group) { return size_[group]; });
  for (const GroupId group : groups) {
    if (group == kept) continue;
    each_member(group, [&](OpId op) { group_of_[op] = kept; });
    next_[last_[kept]] = first_[group];
    last_[kept] = last_[group];
    size_[kept] += size_[group];
  }
  position_[kept] = position;
  return kept;
}

}  // namespace opscope
