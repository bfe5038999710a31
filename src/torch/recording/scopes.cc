#include "torch/recording/scopes.h"

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

ModuleId Scopes::add_module(ModuleId parent, std::string_view name, std::string_view path,
                            std::string_view type) {
  graph_.modules.push_back({.parent = parent,
                            .name = graph_.intern(name),
                            .path = graph_.add_text(path),
                            .type = graph_.intern(type)});
  calls_.push_back(0);
  if (graph_.scopes.empty()) graph_.scopes.push_back({});
  return static_cast<ModuleId>(graph_.modules.size() - 1);
}

ScopeId Scopes::enter(ModuleId module) {
  note_autograd(now);
  const auto call = calls_[module]++;
  if (module == 0 && call == 0) return now = 0;
  graph_.scopes.push_back({.parent = now, .module = module, .call = call});
  return now = static_cast<ScopeId>(graph_.scopes.size() - 1);
}

void Scopes::leave(ScopeId left) {
  note_autograd(now);
  now = graph_.scopes[left].parent == kNone ? 0 : graph_.scopes[left].parent;
}

// Adding to a gradient is of the module that owns the parameter.
ScopeId Scopes::of_owner(ValueId value) const {
  const auto owner = std::ranges::find(graph_.owned, value, &Owned::value);
  return value == kNone || owner == graph_.owned.end() ? now : first_scope(owner->module);
}

// Of the first call of a module, or of the nearest around it that was called.
ScopeId Scopes::first_scope(ModuleId module) const {
  for (; module != kNone && module != 0; module = graph_.modules[module].parent) {
    const auto found = std::ranges::find(graph_.scopes, module, &Scope::module);
    if (found != graph_.scopes.end()) return static_cast<ScopeId>(found - graph_.scopes.begin());
  }
  return 0;
}

}  // namespace opscope::engine
