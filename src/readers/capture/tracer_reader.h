// The parts of a capture that only one of PyTorch's tracers fills in: its graphs, their nodes, where it broke
// off, and how the tracers tried before it ended.
#pragma once

#include "graph/graph.h"
#include "readers/capture/argument_reader.h"
#include "readers/json/access.h"

namespace opscope {

// Each reads one item of its section onto the end of the graph's list.
class TracerReader {
 public:
  TracerReader(Graph& graph, json::Place& place, ArgumentReader& pools)
      : graph_(graph), place_(place), pools_(pools) {}

  void rung(json::value item);
  void part(json::value item);
  void graph_break(json::value item);
  void node(json::value item);

 private:
  NodeKind node_kind(std::string_view word) const;

  Graph& graph_;
  json::Place& place_;
  ArgumentReader& pools_;
};

}  // namespace opscope
