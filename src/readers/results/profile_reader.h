// A profile that `opscope profile --format json` saved -> its figures.
#pragma once

#include <string>
#include <string_view>

#include "analyse/profile/figures.h"
#include "graph/peer_counts.h"

namespace opscope {

// where: the file's name, for errors. Profiles of older versions read too: what they do not say is named in
// Figures::missing. Throws Error for what is no profile, or one of another tool.
Figures read_profile(std::string_view json, const std::string& where);

// Reads what python/opscope/peers writes: one model's answers, a row for each tool. Throws Error for what is
// not such an answer.
PeerRun read_peer_counts(std::string_view json, const std::string& where);

}  // namespace opscope
