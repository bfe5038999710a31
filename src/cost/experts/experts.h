// Mixtures of experts in a graph: which of its ops read the weights of experts, how many of these the tokens
// reach, and how many parameters one token uses. Memory holds all experts; an op reads those that are chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cost/experts/routing.h"
#include "graph/graph.h"
#include "ops/op_rule.h"

namespace opscope {

// A layer that chooses among experts.
struct ExpertLayer {
  ModuleId module = 0;          // around its choice and its experts
  Choice choice{};              // of its first run; chosen is 0 where nothing in the graph tells
  Count parameters{}, bytes{};  // of all its experts; those that every token uses (shared ones) are not in it
  bool is_dense = false;        // the model multiplies by all experts, whatever is chosen
};

// Layers that are alike.
struct ExpertKind {
  std::uint64_t layers = 0;
  Choice choice{};
  bool is_dense = false;
};

// A mixture of experts as a whole; of a model without experts all is empty.
struct ExpertFacts {
  std::vector<ExpertLayer> layers;
  Count parameters{}, bytes{};  // of all experts of all layers
  // What one token uses: all parameters less those of the experts that it does not choose. nullopt where a
  // layer does not tell how many it chooses.
  std::optional<Count> active_parameters{};
  // The same without tables that are only looked up in, of which a token reads a row: some papers count so.
  std::optional<Count> active_without_embedding{};

  bool empty() const { return layers.empty(); }
  std::vector<ExpertKind> kinds() const;  // most layers first
  // Weights of experts that a run over so many tokens reads, where only those that are reached are read.
  Count bytes_read(Count tokens, const Routing& routing = {}) const;
};

// Found once for a graph; asked for each of its ops.
class Experts {
 public:
  Experts() = default;  // of a graph without any
  explicit Experts(const Graph& graph, const Routing& routing = {});

  const Routing& routing() const { return routing_; }
  const ExpertFacts& facts() const { return facts_; }
  // Ops that choose among them, in op order.
  const std::vector<OpId>& choices() const { return choices_; }
  // Takes out of what an op moves the experts that no token reaches. Where that is an assumption, its cost is
  // an estimate or a bound.
  void apply(OpId op, Traffic& traffic, Confidence& confidence) const;
  // "experts: 2 of 8 for each of 4 tokens; balanced, ... = 5.469 are read (2 to 8 possible)", of an op that
  // reads weights of experts; "" of others.
  std::string explain(OpId op) const;

 private:
  // Weights of experts that an op reads.
  struct Use {
    OpId op = 0;
    Choice choice{};
    Count bytes{};          // of `over` experts, as the op's row has it
    Count over{};           // 0: it has no row to multiply, and reads nothing
    bool is_weight = true;  // counted as weight bytes, not as input
    double share(const Routing& routing) const;
  };
  class Finder;

  const Use* find(OpId op) const;

  Routing routing_;
  ExpertFacts facts_;
  std::vector<Use> uses_;  // by op
  std::vector<OpId> choices_;
};

}  // namespace opscope
