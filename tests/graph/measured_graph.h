// A graph with times that could have been measured: the same on every machine, larger for larger tensors, a
// little different in every run, and one run that something disturbed.
#pragma once

#include <algorithm>
#include <numeric>

#include "graph/graph.h"

namespace opscope::test {

struct MeasuredAs {
  std::uint32_t runs = 9;
  bool on_device = false;
};

inline Nanoseconds bytes_made(const Graph& graph, const Op& op) {
  std::uint64_t bytes = 0;
  for (const auto id : graph.outputs_of(op)) bytes += bytes_of(graph, graph.values[id]).value() % 100'000'000;
  return bytes;
}

// A few per cent up or down, and half as much again in the last run but one.
inline Nanoseconds shaken(Nanoseconds time, std::size_t op, std::uint32_t run, std::uint32_t runs) {
  const Nanoseconds shake = (op * 7919 + run * 104729) % 41;
  return time * (980 + shake) / 1000 + (runs > 3 && run + 2 == runs ? time / 2 : 0);
}

inline Environment environment_of(bool on_device) {
  Environment at;
  at.device = on_device ? "cuda:0" : "cpu";
  at.device_name = on_device ? "NVIDIA H200" : "A Processor";
  at.host = "A Processor", at.system = "Linux 6.1.0", at.torch = "2.13.0", at.dtype = "float32";
  at.precision = "highest", at.threads = 2;
  if (!on_device) return at;
  at.runtime = "CUDA 13.0", at.driver = "580.1", at.memory_bytes = std::uint64_t{139} << 30;
  at.clocks_mhz = {{"graphics before", 1980}, {"graphics after", 1965}};
  return at;
}

// Whole runs and module calls around the ops' own samples.
inline void add_whole_runs(Graph& graph) {
  auto& m = graph.measurement;
  m.scopes.assign(graph.scopes.size() * m.runs, 0);
  m.scope_begin.assign(graph.scopes.size(), 0);
  for (std::uint32_t run = 0; run < m.runs; ++run) {
    Nanoseconds host = 0, device = 0;
    for (std::size_t op = 0; op < graph.ops.size(); ++op) {
      host += m.host[op * m.runs + run] + 600;
      if (m.on_device) device += m.device[op * m.runs + run] + 300;
      for (ScopeId scope = graph.ops[op].scope; scope != kNone; scope = graph.scopes[scope].parent)
        m.scopes[scope * m.runs + run] += m.host[op * m.runs + run] + 600;
    }
    const auto whole = std::max(host, device) + 5000;
    m.timed.push_back(whole + whole / 50), m.plain.push_back(whole);
    if (m.on_device) m.timed_device.push_back(device + device / 60), m.plain_device.push_back(device);
  }
}

inline Graph& measure(Graph& graph, const MeasuredAs& as = {}) {
  auto& m = graph.measurement;
  m = {};
  m.environment = environment_of(as.on_device);
  m.warmup = 3, m.runs = as.runs, m.on_device = as.on_device, m.typical = as.runs / 2;
  m.empty_interval = as.on_device ? 900 : 40;
  Nanoseconds host_at = 4000, device_at = 9000;
  for (std::size_t op = 0; op < graph.ops.size(); ++op) {
    const auto bytes = bytes_made(graph, graph.ops[op]);
    const Nanoseconds host = as.on_device ? 4000 : 1000 + bytes / 8, device = 1500 + bytes / 200;
    for (std::uint32_t run = 0; run < as.runs; ++run) {
      m.host.push_back(shaken(host, op, run, as.runs));
      if (as.on_device) m.device.push_back(shaken(device, op, run, as.runs));
    }
    m.host_begin.push_back(host_at), host_at += m.host[op * m.runs + m.typical] + 600;
    if (as.on_device)
      m.device_begin.push_back(device_at), device_at += m.device[op * m.runs + m.typical] + 300;
  }
  add_whole_runs(graph);
  m.base_memory_bytes = 1 << 20, m.peak_memory_bytes = 3 << 20;
  graph.verify();
  return graph;
}

// What passes outside of ops: 8 us in each call and run, and in one call a sleep of 30 ms on line 42 of the
// model.
inline Graph& add_sleep(Graph& graph, ScopeId sleepy) {
  auto& m = graph.measurement;
  m.outside.clear();
  for (ScopeId scope = 0; scope < graph.scopes.size(); ++scope)
    for (std::uint32_t run = 0; run < m.runs; ++run)
      m.outside.push_back(shaken(scope == sleepy ? 30'040'000 : 8'000, scope, run, 1));
  const auto first = std::ranges::find(graph.ops, sleepy, &Op::scope);
  const auto op = static_cast<OpId>(first - graph.ops.begin());
  m.lines = {
      {.scope = sleepy,
       .after = op,
       .before = op + 1,
       .source = "/home/me/model.py:42",
       .count = 1,
       .time = 30'030'000},
      {.scope = sleepy,
       .after = op + 1,
       .before = op + 2,
       .source = "/home/me/model.py:43",
       .count = 2,
       .time = 10'000},
      {.scope = 0, .before = 0, .source = "/home/me/model.py:60", .count = 4, .time = 8'000},
      {.scope = 0, .after = op, .source = "/home/me/model.py:61", .waits = true, .count = 1, .time = 4'000}};
  graph.verify();
  return graph;
}

}  // namespace opscope::test
