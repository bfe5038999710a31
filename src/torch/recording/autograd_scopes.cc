#include "torch/recording/autograd_scopes.h"

#include <ATen/SequenceNumber.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>

namespace opscope::engine {

AutogradScopes::AutogradScopes() : next_(at::sequence_number::peek()) {}

void AutogradScopes::note(ScopeId scope) {
  const auto now = at::sequence_number::peek();
  if (now <= next_) return;  // the numbers of autograd's own threads, which make no nodes, are others
  if (steps_.empty() || steps_.back().scope != scope) steps_.push_back({next_, scope});
  next_ = now;
}

AutogradScopes::Running AutogradScopes::running() const {
  const auto node = torch::autograd::get_current_node();
  if (!node) return {};
  if (const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(node.get()))
    return {kNone, leaf->variable};
  const auto after = std::ranges::upper_bound(steps_, node->sequence_nr(), {}, &Step::first);
  const bool known = after != steps_.begin() && node->sequence_nr() < next_;
  return {known ? std::prev(after)->scope : kNone, {}};
}

}  // namespace opscope::engine
