// What an op of a file gives.
#pragma once

#include <algorithm>
#include <string_view>

#include "graph/builder.h"
#include "ops/op_facts.h"

namespace opscope {

// Files do not say which ops return the memory of an input, and bytes and live memory depend on it: told from
// the op's name and the shapes and strides on both sides. drops_or_copies: a dropout that drops, a cast that
// was told to copy.
inline bool shares_memory(GraphAssembler& out, std::string_view op, const ValueSpec& spec, ValueId base,
                          bool drops_or_copies) {
  if (op.ends_with('_') && !op.ends_with("__")) return true;  // in place
  const OpRule* rule = find_rule(op);
  if (rule == nullptr) return false;
  if (facts_of(*rule).is(Fact::kReshapes))
    return !out.view_strides(base, spec.shape).empty() || spec.shape.empty();
  if (!facts_of(*rule).is(Fact::kMayReturnInput)) return rule->category == Category::kView;
  const auto& in = out.graph.values[base];
  return !drops_or_copies && in.dtype == spec.dtype && in.device == out.keep(spec.device) &&
         std::ranges::equal(out.graph.shape(in), spec.shape) &&
         std::ranges::equal(out.graph.strides(in), spec.strides.value_or(ints{}));
}

// `base`: the input whose memory it may be, kNone where there is none.
inline ValueId result_of(GraphAssembler& out, std::string_view op, const ValueSpec& spec, ValueId base,
                         bool drops_or_copies = false) {
  if (base == kNone || !shares_memory(out, op, spec, base, drops_or_copies))
    return out.value(spec, ValueKind::kActivation);
  const auto kind = out.graph.values[base].kind;
  const bool is_stored = is_weight(kind) || kind == ValueKind::kConstant;
  return out.value(spec, is_stored ? kind : ValueKind::kActivation, base);
}

}  // namespace opscope
