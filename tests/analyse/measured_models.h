// Graphs with a measurement made by rule, so that every number in a test can be worked out.
#pragma once

#include "analyse/small_models.h"
#include "analyse/training_model.h"
#include "graph/graph.h"

namespace opscope::test {

// Op i begins at 200 + 200 * i ns on the host and takes 60 + i; its module calls are around their ops with 5
// ns to spare on both sides for each level of modules below. On the device it begins 1000 ns later and takes
// 40 + i; every seventh op gives the device nothing to do.
inline void measure_by_rule(Graph& graph, bool on_device, std::uint32_t runs = 1) {
  Measurement& m = graph.measurement;
  const std::size_t ops = graph.ops.size(), scopes = graph.scopes.size();
  m.runs = runs, m.typical = runs - 1, m.on_device = on_device;
  m.environment.device = on_device ? "cuda:0" : "cpu";
  m.environment.device_name = on_device ? "Some GPU" : "Some CPU";
  m.timed.assign(runs, 100 * ops + 2000), m.plain.assign(runs, 100 * ops + 1000);
  for (OpId op = 0; op < ops; ++op)
    for (std::uint32_t run = 0; run < runs; ++run) {
      m.host.push_back(60 + op);
      if (on_device) m.device.push_back(op % 7 == 6 ? 0 : 40 + op);
    }
  std::vector<Nanoseconds> begin(scopes, kUnmeasured), end(scopes, 0);
  const auto depths = scope_depths(graph);
  const std::uint32_t deepest = *std::ranges::max_element(depths);
  const OpId forward = graph.phases.size() < 2 ? static_cast<OpId>(ops) : graph.phases[1].begin;
  for (OpId op = 0; op < ops; ++op) {
    m.host_begin.push_back(200 + 200 * op);
    if (on_device) m.device_begin.push_back(1200 + 200 * op);
    for (ScopeId s = graph.ops[op].scope; op < forward && s != kNone; s = graph.scopes[s].parent) {
      const Nanoseconds spare = 5 * (deepest - depths[s] + 1);
      begin[s] = std::min(begin[s], m.host_begin[op] - spare);
      end[s] = std::max(end[s], m.host_begin[op] + 60 + op + spare);
    }
  }
  for (ScopeId s = 0; s < scopes; ++s) {
    m.scope_begin.push_back(begin[s]);
    for (std::uint32_t run = 0; run < runs; ++run)
      m.scopes.push_back(begin[s] == kUnmeasured ? kUnmeasured : end[s] - begin[s]);
  }
  graph.verify();
}

inline Graph measured_resnet18(bool on_device) {
  Graph graph = ResNet18::make();
  measure_by_rule(graph, on_device, 3);
  return graph;
}

inline Graph measured_training_step(bool on_device) {
  Graph graph = training_step();
  measure_by_rule(graph, on_device);
  return graph;
}

}  // namespace opscope::test
