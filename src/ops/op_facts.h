// What is known of an op beside its cost, in the same row: whether its size depends on data, whether it has
// an in-place form, what its indices count in.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ops/op_rule.h"

namespace opscope {

enum class Fact : std::uint8_t {
  kSizedByData,         // the size of its result depends on its inputs' values
  kGivesNumber,         // it hands a number to Python, which waits for it
  kWorkByData,          // how much it does depends on its inputs' values
  kRowsByData,          // it takes the lengths of its rows from a tensor
  kOffsets,             // it takes where its sequences begin from tensors; known numbers are recorded too
  kPacked,              // it takes its sizes from a tensor of known numbers: packed sequences
  kValueFree,           // it takes only shape, dtype and layout from its input: its result is known
  kLikeOther,           // it takes only those from its second argument
  kKeepsSize,           // its result is as large as its first argument, whatever is put into it
  kPicksFew,            // a few elements of many: cheap to compute for real
  kKeepsElements,       // its result's elements are its input's: views, casts, extremes
  kSpreads,             // it gives indices, each one of many: argmax, topk
  kOrders,              // it gives indices, every one once: sort
  kReshapes,            // a view where the strides allow it, else a copy
  kMayReturnInput,      // it returns its input where there is nothing to do
  kConcatenates,        // its inputs lie beside each other in its result
  kHasInPlace,          // PyTorch also has it in place, with the dtype and shape of its input
  kInPlaceSwitch,       // that, and its module takes inplace=True
  kCopiedInPlace,       // in place, autograd copies its input first, which the backward pass reads
  kTakesProbabilities,  // it checks that floats are between 0 and 1, or above 0
  kBatchedProduct,      // of two activations, as attention has two of
  kLinearLayer,         // a product with a weight
  kSoftmaxItself,       // and not its logarithm
};

// What the integers of an argument count in.
enum class Within : std::uint8_t {
  kRows,       // the first dimension of `of`
  kDimension,  // the dimension of `of` that the argument dim names
  kEach,       // a list: the i-th in the i-th dimension of `of`
  kElements,   // all of `of`
  kPlane,      // the last two dimensions of `of`
  kVolume,     // the last three
  kClasses,    // the second dimension of `of`, or its only one
  kNumber,     // the integer argument `of`
  kListed,     // the entry of the list `of` that dim names
  kPlaneOf,    // the product of the list `of`
  kBags,       // where each bag begins among the elements of `of`
};
struct IndexArgument {
  std::string_view argument;
  Within within{};
  std::string_view of;
};

struct OpFacts {
  std::uint32_t bits = 0;       // one for each Fact
  std::string_view limit = {};  // by which the user can limit a size or number that depends on data
  std::array<IndexArgument, 2> index = {};  // arguments that count in something

  constexpr bool is(Fact fact) const { return (bits >> static_cast<unsigned>(fact) & 1U) != 0; }
};

// A row of the table, whole.
struct OpRow : OpRule {
  constexpr OpRow() = default;
  constexpr OpRow(const OpRule& rule) : OpRule(rule) {}
  OpFacts facts;
};

// Of a row that find_rule gave.
inline const OpFacts& facts_of(const OpRule& rule) { return static_cast<const OpRow&>(rule).facts; }
// By an op's name, also where its cost is not known; none for one that is not known at all.
const OpFacts& facts_of(std::string_view op_name);
inline bool is(std::string_view op_name, Fact fact) { return facts_of(op_name).is(fact); }
// "aten::add" of "aten::add_": the op that writes a new tensor.
std::string_view functional_name(std::string_view op_name);

}  // namespace opscope
