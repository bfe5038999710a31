// One op with its tensors' shapes, as the cost table's functions see it. A view over a Graph: cheap to make,
// valid while the graph is.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/count.h"
#include "graph/graph.h"

namespace opscope {

struct TensorView {
  std::span<const std::int64_t> shape;
  std::span<const std::int64_t> strides;
  Count numel = {};        // those that are stored, of a sparse tensor
  Count index_bytes = {};  // of a sparse tensor
  Id storage = kNone;
  ValueId value = kNone;
  DType dtype = DType::kUndefined;
  ValueKind kind = ValueKind::kActivation;
  bool is_sparse = false;
  bool is_stored = false;        // quantised: held in stored_bytes, and not as its dtype says
  std::uint64_t back_flops = 0;  // of a quantised one: that get an element back into the dtype
  Count stored_bytes = {};
  bool repeated = false;  // an earlier argument of the same op is the same value

  std::size_t rank() const { return shape.size(); }
  // Dimension i, counted from the end when negative; 1 where there is none.
  std::int64_t dim(std::int64_t i) const;
  Count bytes() const { return is_stored ? stored_bytes : bytes_of(dtype, numel) + index_bytes; }
  // Of so many of its elements.
  Count bytes_of_part(Count elements) const {
    return is_stored ? share_of(stored_bytes, elements, numel) : bytes_of(dtype, elements);
  }
  // Of memory that reading the whole tensor touches: an expanded tensor has fewer elements than its shape
  // says.
  Count distinct_bytes() const;
  bool is_complex() const { return info(dtype).is_complex; }
  bool is_weight() const { return opscope::is_weight(kind); }
};

// Reused from op to op so that costing a graph allocates nothing per op.
class OpCall {
 public:
  explicit OpCall(const Graph& graph) : graph_(&graph) {}
  void reset(const Op& op);

  std::string_view name() const;      // "aten::conv2d"
  std::string_view overload() const;  // "", "Tensor", "dim_IntList"
  // Every tensor argument in order, lists flattened; absent ones and those of an out= overload left out.
  std::span<const TensorView> inputs;
  std::span<const TensorView> outputs;

  // Arguments by schema name; nullptr / nullopt / empty where absent, None or of another kind.
  const TensorView* tensor(std::string_view argument) const;
  std::span<const TensorView> tensors(std::string_view argument) const;  // also a single tensor
  std::optional<std::int64_t> integer(std::string_view argument) const;  // ints, bools and whole floats
  std::optional<double> real(std::string_view argument) const;
  std::optional<bool> boolean(std::string_view argument) const;
  std::span<const std::int64_t> ints(std::string_view argument) const;  // int and bool lists
  std::string_view string(std::string_view argument) const;
  bool has(std::string_view argument) const;  // present and not None
  std::span<const Argument> arguments() const;
  const Graph& graph() const { return *graph_; }

 private:
  const Argument& find(std::string_view argument) const;  // of no kind where it is absent
  void add_input(ValueId id);

  const Graph* graph_;
  const Op* op_ = nullptr;
  std::vector<TensorView> input_buffer_, output_buffer_;
  std::vector<Range> inputs_of_argument_;  // in input_buffer_
  std::vector<std::uint32_t> seen_;        // by value: the last op that reads it
  std::uint32_t serial_ = 0;
};

}  // namespace opscope
