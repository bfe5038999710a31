// Which tensors an op takes, wherever among its arguments they stand.
#pragma once

#include <concepts>

#include "graph/graph.h"

namespace opscope {

// Calls visit(ValueId), or visit(ValueId, Argument), for each; absent tensors are left out, one that is taken
// twice comes twice.
template <class Visit>
void each_read(const Graph& graph, const Op& op, Visit visit) {
  const auto call = [&](ValueId id, const Argument& argument) {
    if constexpr (std::invocable<Visit&, ValueId, const Argument&>)
      visit(id, argument);
    else
      visit(id);
  };
  for (const auto& argument : graph.arguments_of(op)) {
    if (argument.kind == ArgumentKind::kTensor) call(static_cast<ValueId>(argument.integer), argument);
    if (argument.kind != ArgumentKind::kTensorList) continue;
    for (const auto id : graph.values_in(argument))
      if (id != kNone) call(id, argument);
  }
}

}  // namespace opscope
