// The work of aten::einsum, which needs its equation parsed. Inside src/ops only.
#pragma once

#include "ops/rules.h"

namespace opscope {

MaybeWork einsum_work(const OpCall& call);
Count einsum_torch(const OpCall& call);
Count einsum_fvcore(const OpCall& call);
Letters einsum_letters(const OpCall& call);

}  // namespace opscope
