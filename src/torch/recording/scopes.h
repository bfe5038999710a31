// Where a model's forward is: the modules, their calls, and the one that runs now. The scope that is now is
// a row of the graph, and its parents are the calls around it. In training a backward op is of the module
// whose forward it undoes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "torch/engine/torch_headers.h"

namespace opscope::engine {

// Which module call made a node of the backward graph: autograd numbers its nodes in the order in which
// forward makes them, so that a note of the number at each change of scope is enough.
class AutogradScopes {
 public:
  AutogradScopes();

  // Nodes made since the last note are of this scope.
  void note(ScopeId scope);

  struct Running {
    ScopeId scope = kNone;  // whose forward made the node that runs now; kNone: none runs, or it is not known
    at::Tensor accumulates;  // the leaf whose gradient it adds to, where that is what it does
  };
  Running running() const;

 private:
  struct Step {
    std::uint64_t first;  // number of its first node
    ScopeId scope;
  };
  std::vector<Step> steps_;
  std::uint64_t next_;
};

class Scopes {
 public:
  explicit Scopes(Graph& graph) : graph_(graph) {}

  ScopeId now = 0;
  NodeId node = kNone;  // of a tracer's graph: what is recorded now belongs to it

  ModuleId add_module(ModuleId parent, std::string_view name, std::string_view path, std::string_view type);
  ScopeId enter(ModuleId module);
  void leave(ScopeId left);
  ModuleId module() const { return graph_.scopes[now].module; }
  std::string path() const { return std::string(graph_.path(graph_.modules[module()])); }

  void follow_autograd() { autograd_.emplace(); }
  void note_autograd(ScopeId scope) {
    if (autograd_) autograd_->note(scope);
  }
  // Of an op that is recorded now. `value_of` finds the value of a parameter, kNone where it has none.
  template <class ValueOf>
  ScopeId of_op(ValueOf&& value_of) const {
    if (!autograd_ || now != 0) return now;  // a module that is called during backward is its own
    const auto running = autograd_->running();
    if (running.scope != kNone) return running.scope;
    return running.accumulates.defined() ? of_owner(value_of(running.accumulates)) : now;
  }

 private:
  ScopeId of_owner(ValueId value) const;
  ScopeId first_scope(ModuleId module) const;

  Graph& graph_;
  std::vector<std::uint32_t> calls_;  // by module
  std::optional<AutogradScopes> autograd_;
};

}  // namespace opscope::engine
