// Which tensors an op takes, wherever among its arguments they stand.
#pragma once

#include "graph/graph.h"

namespace opscope {

// Calls visit(ValueId) for each; absent tensors are left out, one that is taken twice comes twice.
template <class Visit>
void each_read(const Graph& graph, const Op& op, Visit visit) {
  for (const auto& argument : graph.arguments_of(op)) {
    if (argument.kind == ArgumentKind::kTensor) visit(static_cast<ValueId>(argument.integer));
    if (argument.kind != ArgumentKind::kTensorList) continue;
    for (const auto id : graph.values_in(argument))
      if (id != kNone) visit(id);
  }
}

}  // namespace opscope
