// Ops that were also measured alone, over and over: each distinct one once, beside what its calls took in the
// model.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "analyse/profile/profile.h"

namespace opscope {

struct RepeatedOp {
  std::string signature;
  std::vector<OpId> ops;     // its calls
  double alone_seconds = 0;  // of one call
  double time_seconds = 0;   // of all its calls in the model

  double alone_total() const { return alone_seconds * static_cast<double>(ops.size()); }
};

struct RepeatedOps {
  std::vector<RepeatedOp> rows;                // those that take longest in the model first
  std::uint64_t calls = 0;                     // of all rows
  double alone_seconds = 0, time_seconds = 0;  // of all their calls
  std::uint64_t other_calls = 0;               // that do work and have no time alone
  double other_seconds = 0;                    // what these took in the model
  bool empty() const { return rows.empty(); }
};

RepeatedOps repeated_ops(const Profile& profile);

}  // namespace opscope
