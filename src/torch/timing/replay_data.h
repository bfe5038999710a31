// What numbers an op's tensors hold when it is replayed: indices that are inside of what they index,
// probabilities between 0 and 1, variances above 0, and random numbers around 0 for all others.
#pragma once

#include <cstdint>

#include "ops/op_call.h"
#include "torch/engine/torch_headers.h"

namespace opscope::engine {

enum class Fill : std::uint8_t {
  kAround0,  // floats in [-1, 1)
  kUnit,     // floats in [0.1, 0.9)
  kZero,   // integers of which nothing is known: an index, if that is what they are, of what is always there
  kSmall,  // 1 to 7: integers that are computed with
  kBelow,  // integers from 0 to a limit
  kAscending,  // from 0, evenly, up to a limit: offsets of bags
  kCoin,       // true and false
};

struct Data {
  Fill fill = Fill::kAround0;
  std::int64_t limit = 1;
};

// For one tensor among an op's arguments; `position` counts within a list.
Data data_for(const OpCall& call, std::string_view argument, std::size_t position, DType dtype);

// Random by torch's own generator; all elements of memory in a row.
void fill_with(const at::Tensor& tensor, const Data& data);

}  // namespace opscope::engine
