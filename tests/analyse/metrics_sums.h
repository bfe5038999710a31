// Sums of rows and their equality, for tests that every view has the same total.
#pragma once

#include "analyse/profile/profile.h"

namespace opscope::test {

inline bool same(const Metrics& a, const Metrics& b) {
  return a.work == b.work && a.traffic == b.traffic && a.flops == b.flops && a.ops == b.ops &&
         a.confidence == b.confidence && a.time == b.time && a.roofline_time == b.roofline_time &&
         a.compute_bound_time == b.compute_bound_time && a.roofline_unknown == b.roofline_unknown;
}

template <class Rows>
Metrics sum(const Rows& rows) {
  Metrics total;
  for (const auto& row : rows) total += row.metrics;
  return total;
}

}  // namespace opscope::test
