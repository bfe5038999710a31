// The tracers' run in Python: the request, its answer with the captures read, and the exported files read
// back.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "analyse/trace/trace.h"
#include "app/request/request.h"
#include "app/worker/listener.h"

namespace opscope {

// ".py" of "out/Graph.PY"
std::string extension_of(const std::string& path);

// What is to be written.
struct TraceFiles {
  std::string save_graph;
  bool weights = false;
  std::vector<std::string> exports;

  bool wants_code() const { return extension_of(save_graph) == ".py"; }  // Python writes it
  bool wants_capture() const { return extension_of(save_graph) == ".json"; }
};

struct Traces {
  std::deque<Graph> graphs;            // they keep their addresses
  std::vector<const Graph*> graph_of;  // by row; null where there is none
  std::vector<TracerRow> rows, exports;
  std::vector<SavedFile> files;

  // Of the first of PyTorch's tracers that works, else the engine's; null where none works.
  const Graph* first_graph() const;
};

// request.tracer and the engine to compare it with; for "auto" all that are compared.
Traces trace(const CaptureRequest& request, const TraceFiles& files, Listener& listener);

}  // namespace opscope
