#include "torch/recording/scopes.h"

#include <ATen/SequenceNumber.h>
#include <ATen/record_function.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>

namespace opscope::engine {

void AutogradScopes::begin_thread() {
  threads_[at::RecordFunction::currentThreadId()].next = at::sequence_number::peek();
}

void AutogradScopes::note(ScopeId scope) {
  const auto found = threads_.find(at::RecordFunction::currentThreadId());
  if (found == threads_.end()) return;  // one of autograd's own, which make no nodes
  auto& [steps, next] = found->second;
  const auto now = at::sequence_number::peek();
  if (now <= next) return;
  if (steps.empty() || steps.back().scope != scope) steps.push_back({next, scope});
  next = now;
}

AutogradScopes::Running AutogradScopes::running() const {
  const auto node = torch::autograd::get_current_node();
  if (!node) return {};
  if (const auto* leaf = dynamic_cast<const torch::autograd::AccumulateGrad*>(node.get()))
    return {kNone, leaf->variable};
  const auto maker = threads_.find(node->thread_id());
  if (maker == threads_.end()) return {};
  const auto& [steps, next] = maker->second;
  const auto after = std::ranges::upper_bound(steps, node->sequence_nr(), {}, &Step::first);
  const bool known = after != steps.begin() && node->sequence_nr() < next;
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

constinit thread_local Scopes::OwnPlace::Held Scopes::own_place;

ScopeId Scopes::enter(ModuleId module) {
  auto& now = place().now;
  note_autograd(now);
  const auto call = calls_[module]++;
  if (module == 0 && call == 0) return now = 0;
  graph_.scopes.push_back({.parent = now, .module = module, .call = call});
  return now = static_cast<ScopeId>(graph_.scopes.size() - 1);
}

void Scopes::leave(ScopeId left) {
  auto& now = place().now;
  note_autograd(now);
  now = graph_.scopes[left].parent == kNone ? 0 : graph_.scopes[left].parent;
}

// Adding to a gradient is of the module that owns the parameter.
ScopeId Scopes::of_owner(ValueId value) const {
  const auto owner = std::ranges::find(graph_.owned, value, &Owned::value);
  return value == kNone || owner == graph_.owned.end() ? place().now : first_scope(owner->module);
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
