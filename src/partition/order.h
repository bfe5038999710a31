// Groups of ops in an order in which they can run, kept while groups are put together: two become one only
// where no way leads from one out of it and back. The order is mended where a merge breaks it (after Pearce
// and Kelly), so that a merge of neighbours costs little however large the graph. Inside src/partition only.
#pragma once

#include <span>
#include <vector>

#include "partition/dataflow.h"

namespace opscope {

using GroupId = OpId;  // one of its ops; changes as groups merge

class GroupOrder {
 public:
  explicit GroupOrder(const Dataflow& flow);

  GroupId group_of(OpId op) const { return group_of_[op]; }
  // Where in the order: each group's is different, and smaller than those of all that wait for it.
  std::uint32_t position(GroupId group) const { return position_[group]; }
  std::uint32_t size(GroupId group) const { return size_[group]; }

  template <class Visit>
  void each_member(GroupId group, Visit visit) const {
    for (OpId op = first_[group]; op != kNone; op = next_[op]) visit(op);
  }

  // Makes one group of several; kNone where it would wait for itself, or where looking for such a way takes
  // too long. Otherwise the id that the one group goes by.
  GroupId merge(std::span<const GroupId> groups);
  GroupId merge(GroupId a, GroupId b);

 private:
  bool is_marked(GroupId group, std::uint32_t mark) const { return mark_[group] == mark; }
  bool find_before(std::span<const GroupId> groups, std::uint32_t lowest);
  bool find_after(std::span<const GroupId> groups, std::uint32_t highest);
  std::uint32_t reorder(std::uint32_t own);
  GroupId join(std::span<const GroupId> groups, std::uint32_t position);

  const Dataflow* flow_;
  std::vector<GroupId> group_of_;                              // by op
  std::vector<OpId> next_;                                     // by op: of the same group
  std::vector<std::uint32_t> first_, last_, size_, position_;  // by group
  std::vector<std::uint32_t> mark_;                            // by group: the search that met it
  std::uint32_t serial_ = 0;
  std::uint32_t steps_ = 0;
  std::vector<GroupId> before_, after_;  // of the merge under way
};

}  // namespace opscope
