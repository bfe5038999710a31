// What a recording knows of a training step beyond its ops: phases, gradients and the optimiser's state,
// which module a backward op belongs to; and the lives of all storages, put into the graph when it is taken.
#include <algorithm>

#include "torch/recording/recording.h"

namespace opscope::engine {

void Recording::begin_phase(std::string_view name) {
  graph.phases.push_back({std::string(name), static_cast<OpId>(graph.ops.size())});
}

void Recording::mark(const at::Tensor& tensor, ValueKind kind, std::string_view name) {
  const auto id_of = value_of(tensor);
  auto& value = graph.values[id_of];
  if (is_weight(value.kind) || value.kind == ValueKind::kInput) return;
  value.kind = kind;
  value.name = graph.intern(name);
  marked_[value.storage] = kind;
}

// A module that is called during backward, by checkpointing, is its own; else backward is of the module whose
// forward it undoes, and adding to a gradient of the one that owns the parameter.
ScopeId Recording::scope_now() const {
  if (!autograd || scope != 0) return scope;
  const auto running = autograd->running();
  if (running.scope != kNone) return running.scope;
  if (!running.accumulates.defined()) return scope;
  const auto value = real_values_.find(running.accumulates.unsafeGetTensorImpl());
  if (value == real_values_.end()) return scope;
  const auto owner = std::ranges::find(graph.owned, value->second.value, &Owned::value);
  return owner == graph.owned.end() ? scope : first_scope(owner->module);
}

// Of the first call of a module, or of the nearest around it that was called.
ScopeId Recording::first_scope(ModuleId module) const {
  for (; module != kNone && module != 0; module = graph.modules[module].parent) {
    const auto found = std::ranges::find(graph.scopes, module, &Scope::module);
    if (found != graph.scopes.end()) return static_cast<ScopeId>(found - graph.scopes.begin());
  }
  return 0;
}

// Memory that came and went inside one op is that op's workspace, and no storage of the graph.
void Recording::take_lifetimes() {
  auto [lifetimes_of, temporary] = lifetimes->take(graph.ops.size(), graph.storages.size());
  for (auto& value : graph.values) {
    if (value.storage == kNone) continue;
    temporary[value.storage] = 0;
    const auto marked = marked_.find(value.storage);
    const bool made = value.kind == ValueKind::kActivation || value.kind == ValueKind::kConstant;
    if (marked != marked_.end() && made) value.kind = marked->second;
    const bool stays = value.kind == ValueKind::kOptimizerState || value.kind == ValueKind::kInput;
    if (stays) lifetimes_of[value.storage] = {};
  }
  std::vector<Id> renumbered(graph.storages.size(), kNone);
  Id kept = 0;
  for (Id id_of = 0; id_of < renumbered.size(); ++id_of) {
    if (temporary[id_of] != 0) continue;
    graph.storages[kept] = graph.storages[id_of];
    lifetimes_of[kept] = lifetimes_of[id_of];
    renumbered[id_of] = kept++;
  }
  graph.storages.resize(kept);
  lifetimes_of.resize(kept);
  graph.lifetimes = std::move(lifetimes_of);
  for (auto& value : graph.values)
    if (value.storage != kNone) value.storage = renumbered[value.storage];
}

}  // namespace opscope::engine
