// The steps from groups to the Partition. Inside src/partition only.
#pragma once

#include <string>

#include "partition/groups.h"

namespace opscope {

// Members by subgraph, in an order in which the subgraphs can run.
void number_subgraphs(const Groups& groups, Partition& partition);
// Work, bytes before and after, module, confidence. Needs the members.
void add_up(const Groups& groups, Partition& partition);
// Bytes as one kernel. Needs the members.
void add_traffic(const Groups& groups, Partition& partition);
// Dependencies, both borders, and what was missed. Needs the members.
void find_borders(const Groups& groups, Partition& partition);
// "conv+batch_norm+relu"
std::string type_of(const Groups& groups, std::span<const OpId> members, Form form);

}  // namespace opscope
