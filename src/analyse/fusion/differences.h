// What two groupings of the same ops differ in, gathered by sort and put into words. Inside the comparison
// only.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "analyse/fusion/members.h"

namespace opscope {

class FusionDifferences {
 public:
  FusionDifferences(const Graph& graph, const Partition& partition, const FusionMembers& members,
                    const OtherFusion& other);

  void add_pair(OpId from, OpId to, Count bytes, bool is_ours);
  // Ops of one group in execution order, each with the piece of the other side that it is in.
  struct Member {
    OpId op = 0;
    std::uint64_t piece = 0;
  };
  void add_group(bool is_ours, const std::vector<Member>& members);

  std::vector<PairDifference> pairs() const;
  std::vector<GroupDifference> groups() const;

 private:
  std::string_view why_there(OpId from, OpId to) const;
  std::string_view why_here(OpId from, OpId to) const;
  std::string_view cut(Id from, Id to) const;
  std::string type_of(bool is_ours, const std::vector<Member>& members) const;
  std::string pieces_of(bool is_ours, const std::vector<Member>& members) const;
  std::string reasons_of(bool is_ours, const std::vector<Member>& members) const;

  const Graph& graph_;
  const Partition& partition_;
  const FusionMembers& members_;
  const OtherFusion& other_;
  std::unordered_map<std::uint64_t, std::string> cuts_;
  std::unordered_map<std::uint64_t, Border> borders_;
  std::map<std::tuple<bool, std::string, std::string, std::string>, PairDifference> pairs_;
  std::map<std::tuple<bool, std::string, std::string, std::string>, GroupDifference> groups_;
  std::unordered_map<OpId, std::vector<std::string_view>> whys_[2];  // by side and the second op of a pair
};

}  // namespace opscope
