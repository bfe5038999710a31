// Tensors and numbers to call an op of a graph with, on the device where the model had them: as large, laid
// out and aligned as those were, with data made up so that the op accepts it and does its usual work.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "ops/op_call.h"
#include "torch/engine/torch_headers.h"

namespace opscope::engine {

using Stack = torch::jit::Stack;

// Memory of random numbers, larger than the device's last cache, that stands for the weights of a model: by
// the time one is read again, others have been in the cache.
class WeightPool {
 public:
  explicit WeightPool(std::size_t cache_bytes) : bytes_(2 * cache_bytes) {}

  std::size_t cache_bytes() const { return bytes_ / 2; }
  std::size_t bytes() const { return bytes_; }
  // Elements of this type, all the pool's bytes of them.
  at::Tensor numbers(c10::Device device, at::ScalarType type);
  // An op wrote into it: fresh numbers for the next.
  void forget() { numbers_.clear(); }

 private:
  std::size_t bytes_;
  std::map<std::pair<c10::DeviceType, at::ScalarType>, at::Tensor> numbers_;
};

// An op's call, ready to be made over and over.
struct PreparedCall {
  c10::OperatorHandle op;
  std::vector<Stack> turns;  // the same call with weights from different places; one or more
  struct Written {
    at::Tensor tensor, before;
  };
  std::vector<Written> written;  // what it writes in place, and what to put back
  bool writes_pool = false;
};

// Throws Error with the reason where no such call can be made.
PreparedCall prepare_call(const Graph& graph, const Op& op, WeightPool& pool);

// The type of PyTorch's of one of ours. Throws Error where it has none.
at::ScalarType scalar_type_of(DType type);

// --- What numbers the tensors hold: indices that are inside of what they index, probabilities between 0 and
// 1, variances above 0, and random numbers around 0 for all others.

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

bool has_random_kernels(at::ScalarType type);  // of floats: those of 8 bits have none
// Random by torch's own generator; all elements of memory in a row.
void fill_with(const at::Tensor& tensor, const Data& data);

}  // namespace opscope::engine
