// Which module call made a node of the backward graph: autograd numbers its nodes in the order in which
// forward makes them, so that a note of the number at each change of scope is enough.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.h"
#include "torch/engine/torch_headers.h"

namespace opscope::engine {

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

}  // namespace opscope::engine
