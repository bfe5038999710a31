// The tracers' run in Python: the request, its answer with the captures read, and the exported files read
// back.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "analyse/trace/trace.h"
#include "app/cases/sweep.h"
#include "app/request/fields.h"
#include "app/worker/listener.h"
#include "app/worker/python_worker.h"
#include "base/error.h"
#include "base/text.h"

namespace opscope {

// What is to be written.
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

// request.tracer and the engine to compare it with; for "auto" all that are compared.
Traces trace(const CaptureRequest& request, const TraceFiles& files, Listener& listener);

// A model at one size after the other: read from its file, or captured by one Python process that builds the
// model once and is told what to capture next.
class ModelPoints : public PointSource {
 public:
  explicit ModelPoints(Listener& listener) : listener_(listener) {}

  // Throws Error where Python itself is at an end, and Interrupted after Ctrl-C.
  void capture(const CaptureRequest& base, std::span<const CaptureRequest> requests,
               const Give& give) override;
  void expect(std::size_t total) override { total_ = total; }
  void throw_first_problem() const override {
    if (first_problem_) throw *first_problem_;
  }

 private:
  void read_files(std::span<const CaptureRequest> requests, const Give& give);
  void ask(const CaptureRequest& base, std::span<const CaptureRequest> requests, const Give& give);
  void fail(std::size_t index, const Error& problem, const Give& give);
  void say(const std::string& model) { listener_.progress(++done_, total_, "capturing " + model); }

  Listener& listener_;
  SignalsNoted signals_;
  std::optional<PythonWorker> worker_;
  std::optional<Error> first_problem_;
  std::size_t done_ = 0, total_ = 0;
};

}  // namespace opscope
