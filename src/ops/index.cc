// Reading and writing by index. What is selected is read, what is touched is written, not the whole tensor.
#include "ops/families.h"
#include "ops/rules.h"

namespace opscope {
namespace {

// Adds where values meet what is there; the plain kind only moves.
Count values_of(const OpCall& call) {
  for (const std::string_view name : {"src", "source", "values"})
    if (const TensorView* values = call.tensor(name)) return values->numel;
  return 0;
}

MaybeWork accumulate(const OpCall& call) { return Work{.other_flops = values_of(call)}; }

MaybeWork maybe_accumulate(const OpCall& call) {
  const bool adds = call.boolean("accumulate").value_or(false) || call.has("reduce");
  return Work{.other_flops = adds ? values_of(call) : Count{}};
}

// Every element against every one of the k sought.
MaybeWork isin(const OpCall& call) {
  if (call.outputs.empty()) return std::nullopt;
  const TensorView* sought = call.tensor("test_elements");
  return Work{.other_flops = call.outputs[0].numel * (sought != nullptr ? sought->numel : Count{1})};
}

constexpr OpRule row(std::string_view name, WorkFunction work, std::string_view formula,
                     TrafficFunction traffic = nullptr) {
  return {.name = name,
          .category = Category::kIndex,
          .fusion = Fusion::kBarrier,
          .work = work,
          .traffic = traffic,
          .formula = formula};
}

constexpr OpRule kRules[] = {
    row("aten::_index_put_impl", maybe_accumulate, "an add for each value where it accumulates",
        write_selected<false>),
    row("aten::_unsafe_index", no_work, "none", read_selected),
    row("aten::_unsafe_index_put", maybe_accumulate, "an add for each value where it accumulates",
        write_selected<false>),
    row("aten::argwhere", per_input<1>, "m compares"),
    row("aten::as_strided_scatter", no_work, "none"),
    row("aten::bincount", per_input<1>, "m adds"),
    row("aten::diagonal_scatter", no_work, "none"),
    row("aten::gather", no_work, "none", read_selected),
    row("aten::histc", per_input<5>, "5*m flops (two compares, subtract, scale, add)"),
    row("aten::index", no_work, "none", read_selected),
    row("aten::index_add", accumulate, "an add for each value", write_selected<true>),
    row("aten::index_copy", no_work, "none", write_selected<false>),
    row("aten::index_fill", no_work, "none", write_selected<false>),
    row("aten::index_put", maybe_accumulate, "an add for each value where it accumulates",
        write_selected<false>),
    row("aten::index_reduce", accumulate, "an add for each value", write_selected<true>),
    row("aten::index_select", no_work, "none", read_selected),
    row("aten::isin", isin, "m*k compares"),
    row("aten::masked_scatter", no_work, "none"),
    row("aten::masked_select", no_work, "none"),
    row("aten::nonzero", per_input<1>, "m compares"),
    row("aten::nonzero_numpy", per_input<1>, "m compares"),
    row("aten::nonzero_static", per_input<1>, "m compares"),
    row("aten::one_hot", no_work, "none"),
    row("aten::put", maybe_accumulate, "an add for each value where it accumulates", write_selected<false>),
    row("aten::scatter", maybe_accumulate, "an add for each value where it accumulates",
        write_selected<false>),
    row("aten::scatter_add", accumulate, "an add for each value", write_selected<true>),
    row("aten::scatter_reduce", accumulate, "an add for each value", write_selected<true>),
    row("aten::select_scatter", no_work, "none"),
    row("aten::slice_scatter", no_work, "none"),
    row("aten::take", no_work, "none", read_selected),
    row("aten::take_along_dim", no_work, "none", read_selected),
};
static_assert(sorted_and_unique(kRules));

}  // namespace

std::span<const OpRule> index_rules() { return kRules; }

}  // namespace opscope
