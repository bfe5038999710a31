// What the families' tables share: the work of common shapes of op, the traffic that differs from "read all,
// write all", and how rows become a table. Inside src/ops only.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <span>

#include "ops/op_facts.h"

namespace opscope {

using MaybeWork = std::optional<Work>;
using MaybeTraffic = std::optional<Traffic>;
using Letters = std::vector<std::pair<std::string_view, Count>>;
using WorkFunction = MaybeWork (*)(const OpCall&);
using TrafficFunction = MaybeTraffic (*)(const OpCall&);
using CountFunction = Count (*)(const OpCall&);
using LettersFunction = Letters (*)(const OpCall&);

// What the rows of a family have in common; called with the rest, it makes one.
struct Family {
  Category category;
  Fusion fusion;
  TrafficFunction traffic = nullptr;
  Confidence confidence = Confidence::kExact;
  LettersFunction letters = nullptr;

  constexpr OpRow operator()(std::string_view name, WorkFunction work, std::string_view formula) const {
    return OpRule{.name = name,
                  .category = category,
                  .fusion = fusion,
                  .work = work,
                  .traffic = traffic,
                  .confidence = confidence,
                  .formula = formula,
                  .letters = letters};
  }
  constexpr OpRow operator()(std::string_view name, WorkFunction work, std::string_view formula,
                             TrafficFunction own_traffic) const {
    OpRow row = (*this)(name, work, formula);
    row.traffic = own_traffic;
    return row;
  }
};

constexpr std::size_t names_in(std::span<const OpRow> rows) {
  std::size_t names = 0;
  for (const OpRow& row : rows) names += std::size_t(std::ranges::count(row.name, ' ')) + 1;
  return names;
}

// The table of a family, sorted, one row for each op. What the family writes down are rows that may name
// several ops with a space between them, where all else is the same. An op that is named twice does not
// compile.
template <const auto& kRows>
constexpr auto kTable = [] {
  std::array<OpRow, names_in(kRows)> table;
  auto next = table.begin();
  for (OpRow row : kRows)
    for (std::string_view names = row.name; !names.empty(); *next++ = row) {
      row.name = names.substr(0, names.find(' '));
      names.remove_prefix(std::min(row.name.size() + 1, names.size()));
    }
  std::ranges::sort(table, {}, &OpRow::name);
  if (std::ranges::adjacent_find(table, {}, &OpRow::name) != table.end()) throw "an op has two rows";
  return table;
}();

// Where a call is read into a struct that says its work and its letters: none where it is not understood.
template <auto kRead>
MaybeWork work_from(const OpCall& call) {
  const auto read = kRead(call);
  return read ? MaybeWork(read->work()) : std::nullopt;
}
template <auto kRead>
Letters letters_from(const OpCall& call) {
  const auto read = kRead(call);
  return read ? read->letters() : Letters{};
}

// --- What else a row has, after it: row(...) | letters | fvcore(count) | kHasInPlace

constexpr OpRow operator|(OpRow row, LettersFunction letters) {
  row.letters = letters;
  return row;
}
constexpr OpRow operator|(OpRow row, Confidence confidence) {
  row.confidence = confidence;
  return row;
}

using ConfidenceFunction = Confidence (*)(const OpCall&);
constexpr OpRow operator|(OpRow row, ConfidenceFunction confidence_of) {
  row.confidence_of = confidence_of;
  return row;
}

// Where only some calls are no better than estimated: which.
template <bool (*kIsEstimate)(const OpCall&)>
Confidence estimated_where(const OpCall& call) {
  return kIsEstimate(call) ? Confidence::kEstimated : Confidence::kExact;
}

struct Fvcore {
  CountFunction count;
};
constexpr Fvcore fvcore(CountFunction count) { return {count}; }
constexpr OpRow operator|(OpRow row, Fvcore fvcore) {
  row.fvcore = fvcore.count;
  return row;
}

// FlopCounterMode sees it, and counts 2 per MAC where nothing else is said.
struct InTorchCounter {
  CountFunction count = nullptr;
};
constexpr InTorchCounter in_torch_counter(CountFunction count) { return {count}; }
constexpr OpRow operator|(OpRow row, InTorchCounter counter) {
  row.in_torch_counter = true;
  row.torch = counter.count;
  return row;
}

using enum Fact;

constexpr OpRow operator|(OpRow row, Fact fact) {
  row.facts.bits |= 1U << static_cast<unsigned>(fact);
  return row;
}

constexpr IndexArgument indexes(std::string_view argument, Within within, std::string_view of) {
  return {argument, within, of};
}
constexpr OpRow operator|(OpRow row, const IndexArgument& argument) {
  row.facts.index[row.facts.index[0].argument.empty() ? 0 : 1] = argument;
  return row;
}

struct LimitedBy {
  std::string_view limit;
};
constexpr LimitedBy limited_by(std::string_view limit) { return {limit}; }
constexpr OpRow operator|(OpRow row, LimitedBy by) {
  row.facts.limit = by.limit;
  return row;
}

// A complex number is two reals: what works on parts alone does twice the arithmetic.
inline Count lanes(const TensorView& tensor) { return tensor.is_complex() ? 2 : 1; }
// (a+bi)(c+di) takes four products, each added to one of two sums.
inline Count mac_lanes(const TensorView& tensor) { return tensor.is_complex() ? 4 : 1; }

// The first of two names under which ops have the same argument.
inline const TensorView* either(const OpCall& call, std::string_view first, std::string_view second) {
  const TensorView* found = call.tensor(first);
  return found != nullptr ? found : call.tensor(second);
}

// The product of all dimensions but the last `trailing`.
inline Count leading(const TensorView& tensor, std::size_t trailing) {
  Count product = 1;
  for (std::size_t i = 0; i + trailing < tensor.rank(); ++i) product *= Count{tensor.shape[i]};
  return product;
}

// Rounded up.
inline Count log2_of(Count value) { return value.value() < 2 ? 0 : std::bit_width(value.value() - 1); }

inline bool any_complex(const OpCall& call) {
  return std::ranges::any_of(call.inputs, [](const TensorView& t) { return t.is_complex(); });
}

// --- Work ---

// Views, metadata, copies, creation: no arithmetic, and we know it.
inline MaybeWork no_work(const OpCall&) { return Work{}; }

// A fixed number of flops and specials for each element of the output.
template <unsigned kFlops, unsigned kSpecials = 0>
MaybeWork pointwise(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const TensorView& out = call.outputs[0];
  const Count n = out.numel * (any_complex(call) ? 2 : 1);
  return Work{.other_flops = n * kFlops, .specials = n * kSpecials};
}

// One special for each element of the output: exp, log, sin, ...
inline MaybeWork pointwise_special(const OpCall& call) { return pointwise<0, 1>(call); }

// A fixed number of flops and specials for each element of the first input, whatever comes out.
template <unsigned kFlops, unsigned kSpecials = 0>
MaybeWork per_input(const OpCall& call) {
  if (call.inputs.empty()) return std::nullopt;
  const Count m = call.inputs[0].numel * lanes(call.inputs[0]);
  return Work{.other_flops = m * kFlops, .specials = m * kSpecials};
}

// m inputs folded into n outputs: kEach flops per input, m - n to fold, kFlops and kSpecials per output.
template <unsigned kEach = 0, unsigned kFlops = 0, unsigned kSpecials = 0, unsigned kEachSpecials = 0>
MaybeWork reduce(const OpCall& call) {
  if (call.inputs.empty() || call.outputs.empty()) return std::nullopt;
  const Count scale = lanes(call.inputs[0]);
  const Count m = call.inputs[0].numel * scale, n = call.outputs[0].numel * scale;
  return Work{.other_flops = m * kEach + (m - n) + n * kFlops, .specials = n * kSpecials + m * kEachSpecials};
}

// --- Traffic ---

void add_read(Traffic& traffic, const TensorView& tensor, Count bytes);  // to weight_bytes if it is a weight
void add_read(Traffic& traffic, const TensorView& tensor);
void add_writes(Traffic& traffic, const OpCall& call);

// The first output lies in the first input's memory.
bool returns_its_input(const OpCall& call);
// The first output is the argument itself, changed.
bool writes_in_place(const OpCall& call, const TensorView* argument);

MaybeTraffic no_traffic(const OpCall& call);    // views, metadata
MaybeTraffic write_only(const OpCall& call);    // creation
MaybeTraffic copy_or_view(const OpCall& call);  // nothing where the input itself is returned
// Reads as much of the first input as comes out, and the other inputs whole: gather, index, slices that copy.
MaybeTraffic read_selected(const OpCall& call);
// Reads so many elements of `from`, and the other inputs whole.
Traffic read_part(const OpCall& call, const TensorView& from, Count elements);

// --- fvcore's counts ---

template <unsigned kInput, unsigned kOutput>
Count fvcore_elements(const OpCall& call) {
  const Count in = call.inputs.empty() ? Count{} : call.inputs[0].numel;
  const Count out = call.outputs.empty() ? Count{} : call.outputs[0].numel;
  return in * kInput + out * kOutput;
}

// --- The families, one function and one file each; and einsum, which needs its equation parsed ---

std::span<const OpRow> activation_rules();
std::span<const OpRow> attention_rules();
std::span<const OpRow> index_rules();
std::span<const OpRow> linalg_rules();
std::span<const OpRow> matmul_rules();
std::span<const OpRow> moving_rules();
std::span<const OpRow> norm_rules();
std::span<const OpRow> onnx_rules();
std::span<const OpRow> pointwise_rules();
std::span<const OpRow> quantised_rules();
std::span<const OpRow> recurrent_rules();
std::span<const OpRow> reduction_rules();
std::span<const OpRow> resize_rules();
std::span<const OpRow> sparse_rules();
std::span<const OpRow> special_rules();
std::span<const OpRow> training_rules();
std::span<const OpRow> window_rules();

MaybeWork einsum_work(const OpCall& call);
Count einsum_torch(const OpCall& call);
Count einsum_fvcore(const OpCall& call);
Letters einsum_letters(const OpCall& call);

}  // namespace opscope
