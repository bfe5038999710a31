// Python leaves two files for each model: the capture, and what the tools said.
#include "app/models/reconcile.h"

#include "app/models/models.h"
#include "app/worker/python_worker.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "readers/capture/capture_reader.h"
#include "readers/results/peer_counts.h"

namespace opscope {
namespace {

constexpr std::uint64_t kMuchMemory = 2'000'000'000;

void check(const ReconcileRequest& request) {
  CaptureRequest capture = request.capture;
  if (capture.training) throw Error("the tools count a forward pass only", "--training", "leave it out");
  if (capture.is_traced()) throw Error("the tools run the model itself", "--tracer", "leave it out");
  if (!capture.device.empty()) throw Error("the tools run on the CPU", "--device", "leave it out");
  for (const std::string& model : request.models) {
    capture.model = model;
    if (read_model(capture))
      throw Error("a graph in a file cannot be run by other tools", model, "give the model itself");
  }
}

}  // namespace

std::vector<Reconciliation> reconcile(const ReconcileRequest& request, Listener& listener,
                                      std::vector<std::string>& notes) {
  check(request);
  PythonWorker worker(listener);
  worker.run(to_json(request.capture, "reconcile", [&](JsonWriter& json) {
    json.list("models", request.models);
    json.list("tools", request.tools);
    json.field("folder", worker.file(""));
  }));
  std::vector<Reconciliation> found;
  for (std::size_t i = 0; i < request.models.size(); ++i) {
    const std::string at = std::to_string(i), &model = request.models[i];
    const PeerRun run = read_peer_counts(read_file(worker.file(at + ".peers.json")), "tools on " + model);
    if (!run.error.empty()) {
      Reconciliation failed;
      failed.model = model, failed.error = run.error, failed.hint = run.hint;
      found.push_back(std::move(failed));
      continue;
    }
    const Graph graph = read_capture(read_file(worker.file(at + ".json")), "capture of " + model);
    found.push_back(reconcile(make_profile(graph), run.answers));
    if (run.weight_bytes > kMuchMemory)
      notes.push_back(model + ": the tools ran on the CPU, with " + format_bytes(Count{run.weight_bytes}) +
                      " of random weights");
  }
  return found;
}

}  // namespace opscope
