// Embeddings read the rows that the indices name, not the table.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

// `rows` rows of the table, and the other inputs whole.
MaybeTraffic rows_traffic(const OpCall& call, Count rows) {
  const TensorView* weight = call.tensor("weight");
  if (weight == nullptr || weight->rank() < 1) return std::nullopt;
  Traffic traffic;
  const Count width = weight->numel / Count{weight->dim(0)};
  add_read(traffic, *weight, rows * width * Count{element_bytes(weight->dtype)});
  for (const TensorView& in : call.inputs)
    if (in.value != weight->value) add_read(traffic, in);
  add_writes(traffic, call);
  return traffic;
}

MaybeTraffic embedding_traffic(const OpCall& call) {
  const TensorView* indices = call.tensor("indices");
  return indices != nullptr ? rows_traffic(call, indices->numel) : std::nullopt;
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

constexpr OpRule row(std::string_view name, WorkFunction work, std::string_view formula) {
  return {.name = name,
          .category = Category::kEmbedding,
          .fusion = work == no_work ? Fusion::kPointwise : Fusion::kBarrier,
          .work = work,
          .traffic = embedding_traffic,
          .formula = formula};
}

constexpr auto kIndices = indexes("indices", Within::kRows, "weight");
constexpr auto kOffsets = indexes("offsets", Within::kBags, "indices");

constexpr OpRow kRules[] = {
    row("aten::_embedding_bag", bag, "one add for each element of each row; a mean divides n") | kIndices |
        kOffsets,
    row("aten::_embedding_bag_forward_only", bag, "one add for each element of each row; a mean divides n") |
        kIndices | kOffsets,
    row("aten::embedding", no_work, "none") | kIndices,
    row("aten::embedding_bag", bag, "one add for each element of each row; a mean divides n") | kIndices |
        kOffsets,
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRow> embedding_rules() { return kRules; }

}  // namespace opscope
