// Reading and writing by index. What is selected is read, what is touched is written, not the whole tensor.
// Embeddings read the rows that the indices name, not the table.
#include "ops/rules.h"

namespace opscope {
namespace {

// --- How many elements an op that writes by index touches; one written twice counts twice ---

using Touched = std::optional<Count> (*)(const OpCall&);

// scatter, put: one for each element of the index; what more `src` may have is not used.
std::optional<Count> each_index(const OpCall& call) {
  const TensorView* index = call.tensor("index");
  return index != nullptr ? std::optional(index->numel) : std::nullopt;
}

// index_add and its kin: a slice of self for each element of the index.
std::optional<Count> each_slice(const OpCall& call) {
  const TensorView *self = call.tensor("self"), *index = call.tensor("index");
  const auto dim = call.integer("dim");
  if (self == nullptr || index == nullptr || !dim) return std::nullopt;
  return index->numel * (self->numel / Count{self->dim(*dim)});
}

// index_put: the indices broadcast together, times the dimensions of self that have none. How many a mask
// picks is in the values, unless they are broadcast: then all it could.
class Indexed {
 public:
  explicit Indexed(const TensorView& self) : self_(self) {}

  void add(const Graph& graph, ValueId id) {
    if (id == kNone) {
      rest_ *= Count{self_.dim(dim_++)};
      return;
    }
    const Value& index = graph.values[id];
    const auto shape = graph.shape(index);
    has_mask_ = has_mask_ || index.dtype == DType::kBool;
    if (index.dtype == DType::kBool) {
      for (const std::int64_t size : shape) masked_ *= Count{size};
      dim_ += static_cast<std::int64_t>(shape.size());
      return;
    }
    ++dim_;
    if (shape.size() > broadcast_.size())
      broadcast_.insert(broadcast_.begin(), shape.size() - broadcast_.size(), 1);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& size = broadcast_[broadcast_.size() - shape.size() + i];
      if (size == 1) size = shape[i];
    }
  }
  Count elements(const TensorView* values) const {
    if (has_mask_ && values != nullptr && values->numel > Count{1}) return values->numel;
    Count n = rest_ * masked_;
    for (const std::int64_t size : broadcast_) n *= Count{size};
    for (auto d = dim_; d < static_cast<std::int64_t>(self_.rank()); ++d) n *= Count{self_.dim(d)};
    return n;
  }

 private:
  const TensorView& self_;
  std::vector<std::int64_t> broadcast_;
  Count rest_ = 1, masked_ = 1;
  std::int64_t dim_ = 0;
  bool has_mask_ = false;
};

std::optional<Count> each_indexed(const OpCall& call) {
  const TensorView* self = call.tensor("self");
  if (self == nullptr) return std::nullopt;
  for (const Argument& argument : call.arguments()) {
    if (call.graph().text(argument.name) != "indices" || argument.kind != ArgumentKind::kTensorList) continue;
    Indexed indexed(*self);
    for (const ValueId id : call.graph().values_in(argument)) indexed.add(call.graph(), id);
    return indexed.elements(call.tensor("values"));
  }
  return std::nullopt;
}

// --- What that costs ---

enum class Meets { kReplaces, kFolds, kAsTold };  // what is there already

bool folds(const OpCall& call, Meets meets) {
  if (meets != Meets::kAsTold) return meets == Meets::kFolds;
  return call.boolean("accumulate").value_or(false) || !call.string("reduce").empty();
}

// One flop for each element folded into what is there.
template <Touched kTouched, Meets kMeets>
MaybeWork write_work(const OpCall& call) {
  if (!folds(call, kMeets)) return Work{};
  const auto touched = kTouched(call);
  return touched ? std::optional(Work{.other_flops = *touched}) : std::nullopt;
}

// In place, only what is touched is written, and read where it is folded; else self is copied with it.
template <Touched kTouched, Meets kMeets>
MaybeTraffic write_traffic(const OpCall& call) {
  const TensorView* self = call.tensor("self");
  const auto touched = kTouched(call);
  if (!touched || !writes_in_place(call, self)) return default_traffic(call);
  const Count bytes = bytes_of(self->dtype, *touched);
  Traffic traffic;
  for (const TensorView& in : call.inputs)
    if (in.value != self->value) add_read(traffic, in);
  if (folds(call, kMeets)) add_read(traffic, *self, bytes);
  traffic.output_bytes = bytes;
  return traffic;
}

// Two compares for each index, to keep it inside, and a select for each of `elements`.
Work kept_inside(const OpCall& call, Count elements) {
  Work work{.other_flops = elements};
  for (const TensorView& index : call.tensors("indices")) work.other_flops += index.numel * 2;
  return work;
}

MaybeWork masked_index(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  return kept_inside(call, call.outputs[0].numel);
}

// An add for each value as well, where the mask does not make it zero.
MaybeWork masked_index_put(const OpCall& call) {
  const TensorView* values = call.tensor("values");
  if (values == nullptr) return std::nullopt;
  return kept_inside(call, values->numel * 2);
}

// Every element against every one of the k sought.
MaybeWork isin(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const TensorView* sought = call.tensor("test_elements");
  return Work{.other_flops = call.outputs[0].numel * (sought != nullptr ? sought->numel : Count{1})};
}

constexpr Family row{.category = Category::kIndex, .fusion = Fusion::kBarrier};

// What picks elements goes on element by element; what writes wherever its indices say does not.
constexpr OpRow pick_row(std::string_view name) {
  constexpr Family kPick{
      .category = Category::kIndex, .fusion = Fusion::kPointwise, .traffic = read_selected};
  return kPick(name, no_work, "none");
}

template <Touched kTouched, Meets kMeets>
constexpr OpRow write_row(std::string_view name) {
  constexpr std::string_view kFormulas[] = {"none", "an add for each element written",
                                            "an add for each element written where it accumulates"};
  return row(name, write_work<kTouched, kMeets>, kFormulas[static_cast<std::size_t>(kMeets)],
             write_traffic<kTouched, kMeets>);
}

constexpr auto kAlongDim = indexes("index", Within::kDimension, "self");
constexpr auto kEachDim = indexes("indices", Within::kEach, "self");
constexpr auto kAnywhere = indexes("index", Within::kElements, "self");

// A row of the table for each index, and the other inputs whole.
MaybeTraffic embedding_traffic(const OpCall& call) {
  const TensorView *weight = call.tensor("weight"), *indices = call.tensor("indices");
  if (weight == nullptr || indices == nullptr || weight->rank() < 1) return std::nullopt;
  return read_part(call, *weight, indices->numel * (weight->numel / Count{weight->dim(0)}));
}

// Each row is added to its bag, after a multiply where samples have weights; a mean divides.
MaybeWork bag(const OpCall& call) {
  const TensorView *weight = call.tensor("weight"), *indices = call.tensor("indices");
  if (weight == nullptr || indices == nullptr || weight->rank() != 2 || call.outputs.empty())
    return std::nullopt;
  const Count each = call.tensor("per_sample_weights") != nullptr ? 2 : 1;
  const bool mean = call.integer("mode").value_or(0) == 1;
  return Work{.other_flops =
                  indices->numel * Count{weight->dim(1)} * each + (mean ? call.outputs[0].numel : Count{})};
}

constexpr OpRow embedding_row(std::string_view name, WorkFunction work, std::string_view formula) {
  const Family family{.category = Category::kEmbedding,
                      .fusion = work == no_work ? Fusion::kPointwise : Fusion::kBarrier,
                      .traffic = embedding_traffic};
  return family(name, work, formula);
}

constexpr auto kIndices = indexes("indices", Within::kRows, "weight");
constexpr auto kOffsets = indexes("offsets", Within::kBags, "indices");

constexpr OpRow kRows[] = {
    row("aten::_unsafe_masked_index", masked_index, "n selects + 2 compares for each index", read_selected),
    row("aten::_unsafe_masked_index_put_accumulate", masked_index_put,
        "a select and an add for each value + 2 compares for each index"),
    embedding_row("aten::_embedding_bag aten::_embedding_bag_forward_only aten::embedding_bag", bag,
                  "one add for each element of each row; a mean divides n") |
        kIndices | kOffsets,
    write_row<each_indexed, Meets::kAsTold>("aten::_index_put_impl aten::_unsafe_index_put") | kEachDim,
    pick_row("aten::_unsafe_index") | kEachDim,
    row("aten::argwhere aten::nonzero aten::nonzero_numpy", per_input<1>, "m compares") | kSizedByData |
        limited_by("nonzero"),
    row("aten::as_strided_scatter aten::diagonal_scatter aten::select_scatter aten::slice_scatter", no_work,
        "none"),
    row("aten::bincount", per_input<1>, "m adds") | kSizedByData | limited_by("bincount"),
    embedding_row("aten::embedding", no_work, "none") | kIndices,
    pick_row("aten::gather aten::index_select") | kPicksFew | kAlongDim,
    row("aten::histc", per_input<5>, "5*m flops (two compares, subtract, scale, add)"),
    pick_row("aten::index") | kPicksFew | kKeepsElements | kEachDim,
    write_row<each_slice, Meets::kFolds>("aten::index_add") | kKeepsSize | kAlongDim,
    write_row<each_slice, Meets::kReplaces>("aten::index_copy aten::index_fill") | kKeepsSize | kAlongDim,
    write_row<each_indexed, Meets::kAsTold>("aten::index_put") | kKeepsSize | kEachDim,
    write_row<each_slice, Meets::kFolds>("aten::index_reduce") | kAlongDim,
    row("aten::isin", isin, "m*k compares"),
    row("aten::masked_scatter", no_work, "none") | kWorkByData | kKeepsSize,
    row("aten::masked_select", no_work, "none") | kSizedByData | limited_by("nonzero"),
    row("aten::nonzero_static", per_input<1>, "m compares") | kWorkByData,
    row("aten::one_hot", no_work, "none") | indexes("self", Within::kNumber, "num_classes"),
    write_row<each_index, Meets::kAsTold>("aten::put") | kAnywhere,
    write_row<each_index, Meets::kAsTold>("aten::scatter") | kKeepsSize | kAlongDim,
    write_row<each_index, Meets::kFolds>("aten::scatter_add aten::scatter_reduce") | kKeepsSize | kAlongDim,
    pick_row("aten::take") | kAnywhere,
    pick_row("aten::take_along_dim") | indexes("indices", Within::kDimension, "self"),
};

}  // namespace

std::span<const OpRow> index_rules() { return kTable<kRows>; }

}  // namespace opscope
