// How one op is carried out during a capture. Every function replaces the op's arguments on the stack by its
// results.
#pragma once

#include "torch/engine/call.h"

namespace opscope::engine {

// Zeros up to this many elements are run through a real kernel: to hear its own error, or for a pattern.
inline constexpr std::int64_t kZeroElements = std::int64_t{1} << 24;

OpInfo& info_of(Recording& recording, const c10::OperatorHandle& op);

// Every input's data is known: really compute it, on small tensors, with writes to the model's own
// journalled.
void run_known(const Call& call, const Inputs& inputs, c10::DispatchKeySet below);
// zeros_like(unknown) and friends, and known.expand_as(unknown): known all the same. False: not such a call.
bool run_value_free(const Call& call, const Inputs& inputs);
bool run_like_other(const Call& call, const Inputs& inputs);
// Some input's data is unknown: a shape rule; else, for composites, their parts; else PyTorch's meta kernel.
void run_abstract(const Call& call, const Inputs& inputs, c10::DispatchKeySet below);
// PyTorch's meta kernel on plain meta tensors that share the abstract ones' storages.
void run_on_twins(const Call& call);
// The real kernel on known arguments and, for the others, zeros: for ops whose shape only their own code
// knows.
void run_on_zeros(const Call& call);
// Sparse tensors stay real, since their pattern is part of what an op costs; only their values count as
// unknown. An op on them runs for real, with zeros for what is abstract. False: it is carried out on shapes,
// as a product with a dense tensor is.
bool run_sparse(const Call& call, const Inputs& inputs);

// --- What is assumed of data that is not there and that changes no shape by itself: which elements are
// picked, in which order, and how a condition on data turns out. Each assumption is noted.

// After an op that picks elements was carried out on shapes: gives the indices it returned values. Choices go
// round, so that a router's tokens are shared out evenly among its experts.
struct Picked {
  Picked(const Call& call);
  void make_known(const Call& call) const;

  std::int64_t rows = 1, inner = 1, choices = 1;
};

// How a condition on data turns out: as the user said of this line of the model, else as is `likely`. Nothing
// where neither is there. Throws where the condition seems to end a loop, and does not.
std::optional<bool> decide(Recording& recording, const std::string& op, std::optional<bool> likely);

// item(), bool() and the like on unknown data, where what the data was computed from allows an answer: a
// count is at most the elements counted; some elements of a mask are true, not all; none is NaN. False: it
// does not.
bool assume_value(const Call& call);

// scaled_dot_product_attention. False: of tensors that no kernel takes.
bool run_attention(const Call& call);

// Ends a static capture: the op looks at data that is not there.
[[noreturn]] void refuse(const Call& call);

// Fills the dispatch table of the abstract backend for ops registered since the last call.
void register_backend_kernels();

}  // namespace opscope::engine
