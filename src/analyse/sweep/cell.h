// The blocks of a sweep's points that one polynomial may tell: one dtype, image sizes that leave the same
// rest by 32 (strides and patches divide them alike), and ones apart from what is larger, since views and
// copies differ there. For sweep.cc only.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "analyse/sweep/sweep.h"

namespace opscope {

struct SweepCell {
  std::vector<std::vector<std::int64_t>> values;  // by axis, from small to large
  std::vector<std::uint32_t> degrees;             // by axis: at least this is tried
  std::vector<std::int64_t> steps;                // by axis: how far apart places are where it holds
  std::vector<std::int64_t> least;                // by axis: down to where it holds
  std::vector<const SweepAxis*> axes;

  std::size_t count() const;
  std::vector<SweepPlace> places() const;
  SweepPlace lowest() const;
  std::vector<SweepPlace> beyond(std::size_t axis, std::size_t index) const;
  // The axes that have more than one value, and the captures that a polynomial is made from.
  Grid grid(std::uint32_t more) const;
  std::vector<SweepPlace> nodes(std::uint32_t more) const;
  bool can_take(std::uint32_t more) const;
  // Places that are no nodes: the corners, and some in between.
  std::vector<SweepPlace> checks() const;
  // In two, across the axis that has the most values: what is larger of two sizes changes once, and mostly
  // where sizes are small, so the cut is at the geometric mean.
  std::array<SweepCell, 2> halves() const;
  void describe(SweepSurface& surface) const;  // where it holds
  std::string text() const;                    // "batch 2 to 256, seq_len 16 to 512"
};

std::vector<SweepCell> cells_of(const std::vector<SweepAxis>& axes);

}  // namespace opscope
