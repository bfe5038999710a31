// Reads what python/opscope/peers writes: one model's answers, a row for each tool.
#pragma once

#include <string>
#include <string_view>

#include "graph/peer_counts.h"

namespace opscope {

// Throws Error for what is not such an answer.
PeerRun read_peer_counts(std::string_view json, const std::string& where);

}  // namespace opscope
