// Where a model's forward is: the modules, their calls, and the one that runs now. The scope that is now is
// a row of the graph, and its parents are the calls around it. In training a backward op is of the module
// whose forward it undoes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "torch/engine/torch_headers.h"

namespace opscope::engine {

// Which module call made a node of the backward graph: autograd numbers the nodes of each thread in the order
// in which forward makes them, so that a note of the number at each change of scope is enough.
class AutogradScopes {
 public:
  AutogradScopes() { begin_thread(); }

  // Nodes that this thread makes from now on are of the capture.
  void begin_thread();
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
  struct Thread {
    std::vector<Step> steps;
    std::uint64_t next = 0;
  };
  std::unordered_map<std::uint64_t, Thread> threads_;
};

// Where one thread is in the model.
struct Place {
  ScopeId now = 0;
  NodeId node = kNone;   // of a tracer's graph: what is recorded now belongs to it
  bool assumed = false;  // what is recorded now rests on an assumption
  bool stray = false;    // of a thread that nobody has told of: where it is is not known
};

class Scopes {
 public:
  explicit Scopes(Graph& graph) : graph_(graph) {}

  // Of the thread that asks: its own where it is a thread of the model's, else that of the capture's thread,
  // which PyTorch's helpers work for.
  Place& place() { return own_place.of == this ? own_place.place : main_; }
  const Place& place() const { return own_place.of == this ? own_place.place : main_; }

  // This thread is one of the model's, and begins at a place of the thread that started it.
  class OwnPlace {
   public:
    OwnPlace(const Scopes& scopes, const Place& at) : before_(std::exchange(own_place, {&scopes, at})) {}
    ~OwnPlace() { own_place = before_; }
    OwnPlace(const OwnPlace&) = delete;
    OwnPlace& operator=(const OwnPlace&) = delete;

   private:
    struct Held {
      const Scopes* of = nullptr;
      Place place;
    };
    friend class Scopes;
    Held before_;
  };

  ModuleId add_module(ModuleId parent, std::string_view name, std::string_view path, std::string_view type);
  ScopeId enter(ModuleId module);
  void leave(ScopeId left);
  ModuleId module() const { return graph_.scopes[place().now].module; }
  std::string path() const { return std::string(graph_.path(graph_.modules[module()])); }

  void follow_autograd() { autograd_.emplace(); }
  void begin_thread() {
    if (autograd_) autograd_->begin_thread();
  }
  void note_autograd(ScopeId scope) {
    if (autograd_) autograd_->note(scope);
  }
  // Of an op that is recorded now. `value_of` finds the value of a parameter, kNone where it has none.
  template <class ValueOf>
  ScopeId of_op(ValueOf&& value_of) const {
    const auto now = place().now;
    if (!autograd_ || now != 0) return now;  // a module that is called during backward is its own
    const auto running = autograd_->running();
    if (running.scope != kNone) return running.scope;
    return running.accumulates.defined() ? of_owner(value_of(running.accumulates)) : now;
  }

 private:
  ScopeId of_owner(ValueId value) const;
  ScopeId first_scope(ModuleId module) const;

  static constinit thread_local OwnPlace::Held own_place;

  Graph& graph_;
  Place main_;
  std::vector<std::uint32_t> calls_;  // by module
  std::optional<AutogradScopes> autograd_;
};

}  // namespace opscope::engine
