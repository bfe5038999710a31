// What makes two calls of an op the same work: the op and its overload, dtype, shape, strides and alignment
// of every tensor, which of them are weights, and all other arguments by value. Names of models, modules and
// values are no part of it, so that models share what was measured for one of them.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "graph/graph.h"

namespace opscope {

// One line for people and for keys:
//   aten::conv2d(input: float32[1,3,224,224], weight: weight float32[64,3,7,7], bias: none, stride: [2,2],
//                padding: [3,3], dilation: [1,1], groups: 1) on cpu
// Contiguous tensors say nothing of their strides, aligned ones nothing of their offset, and those on the
// op's own device nothing of that; "same as input" is the very tensor that another argument is.
std::string signature_of(const Graph& graph, const Op& op);

// The signature, and what the op gives:
//   aten::relu(self: float32[8,64]) on cpu -> float32[8,64]
// A result that lies in an argument's memory says so: "-> float32[64,8] strides [1,64] in self".
std::string call_text(const Graph& graph, const Op& op);
// The inverse: a graph with an op for each text, none of which feeds another. Throws Error for what is no
// such text, and for sparse and quantised tensors, of which a text does not say enough.
Graph graph_of_calls(std::span<const std::string> texts);

// 32 digits, the same on every machine and in every version.
std::string signature_hash(std::string_view signature);

// "cuda:0" of the first tensor that is not on the CPU, results among them; else "cpu".
std::string_view device_of(const Graph& graph, const Op& op);

// Bytes by which a tensor's first element lies off the boundary that kernels choose their loads by.
inline constexpr std::int64_t kAlignment = 64;
std::int64_t misaligned_bytes(const Value& value);

// Belongs to the model from one run to the next: by the time it is used again, other data has been in the
// caches.
constexpr bool is_lasting(ValueKind kind) { return is_weight(kind) || kind == ValueKind::kOptimizerState; }

}  // namespace opscope
