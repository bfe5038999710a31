// A model run by Python: by PyTorch's tracers, with every op timed, by other tools, or compiled by Inductor.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "analyse/fusion/comparison.h"
#include "analyse/reconcile/reconcile.h"
#include "analyse/trace/trace.h"
#include "app/worker/python_worker.h"
#include "base/text.h"

namespace opscope {

// What `trace` is to write.
struct TraceFiles {
  std::string save_graph;
  bool weights = false;
  std::vector<std::string> exports;

  bool wants_code() const { return file_extension(save_graph) == "py"; }  // Python writes it
  bool wants_capture() const { return file_extension(save_graph) == "json"; }
};

struct Traces {
  std::deque<Graph> graphs;            // they keep their addresses
  std::vector<const Graph*> graph_of;  // by row; null where there is none
  std::vector<TracerRow> rows, exports;
  std::vector<SavedFile> files;

  // Of the first of PyTorch's tracers that works, else the engine's; null where none works.
  const Graph* first_graph() const;
};

// The captures are read, and the exported files read back. request.tracer and the engine to compare it with;
// for "auto" all that are compared.
Traces trace(const CaptureRequest& request, const TraceFiles& files, Listener& listener);

// What is not said is as opscope.measure has it.
struct MeasureRequest {
  CaptureRequest model;
  std::string on;  // a device; "": where the model's weights are
  std::optional<std::int64_t> warmup, runs;
  std::optional<double> min_time;  // seconds
  bool repeat_ops = false;
};

// The model's graph with its times: of runs in Python, or of a file that has them. Throws Error where it
// cannot be run, or a file has none.
Graph measure(const MeasureRequest& request, Listener& listener);

// Models run by other tools in Python, each beside opscope's own capture of the same call.
struct ReconcileRequest {
  CaptureRequest capture;  // how each model is built and called; its own model is not looked at
  std::vector<std::string> models, tools;
};

// One Python process for all. A model that cannot be had is a Reconciliation with an error. `notes` gets what
// the user should know. Throws Error for what the tools cannot run.
std::vector<Reconciliation> reconcile(const ReconcileRequest& request, Listener& listener,
                                      std::vector<std::string>& notes);

// The kernels that Inductor makes of a model, beside opscope's subgraphs.
struct InductorAnswer {
  Graph graph;
  OtherFusion other;
  std::vector<OpCost> costs;
  Partition ours;
  std::vector<std::string> notes;

  FusionComparison comparison() const { return compare_fusion(graph, costs, ours, other); }
};

// Captures the model anew, by Dynamo's graphs: those are what Inductor makes its kernels of. Throws Error
// naming the choices where `against` is not "inductor" or "inductor-max".
InductorAnswer compare_with_inductor(const CaptureRequest& model, const std::string& against,
                                     const PartitionOptions& partition, Listener& listener);

}  // namespace opscope
