// Python leaves two files for each model: the capture, and what the tools said.
#include "app/models/peer_tools.h"

#include "app/models/models.h"
#include "app/worker/python_child.h"
#include "app/worker/signals.h"
#include "app/worker/temporary_folder.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "readers/capture/capture_reader.h"
#include "readers/results/peer_counts.h"

namespace opscope {
namespace {

constexpr std::uint64_t kMuchMemory = 2'000'000'000;

std::string request_json(const std::vector<std::string>& models, const std::vector<std::string>& tools,
                         const CaptureRequest& request, const std::string& folder) {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("command", "reconcile");
  request.write_fields(json);
  json.list("models", models);
  json.list("tools", tools);
  json.field("folder", folder);
  json.end_object();
  return out;
}

// A graph in a file is not a model that anyone could run.
void refuse_files(const std::vector<std::string>& models, CaptureRequest request) {
  for (const std::string& model : models) {
    request.model = model;
    if (read_model(request))
      throw Error("a graph in a file cannot be run by other tools", model, "give the model itself");
  }
}

}  // namespace

std::vector<Reconciliation> run_peer_tools(const std::vector<std::string>& models,
                                           const std::vector<std::string>& tools,
                                           const CaptureRequest& request, const TalkFlags& talk,
                                           std::vector<std::string>& notes) {
  refuse_files(models, request);
  const SignalsNoted signals;
  const TemporaryFolder folder;
  run_python(find_python(), request_json(models, tools, request, folder.file("")), talk);
  std::vector<Reconciliation> found;
  for (std::size_t i = 0; i < models.size(); ++i) {
    const std::string at = std::to_string(i);
    const PeerRun run = read_peer_counts(read_file(folder.file(at + ".peers.json")), "tools on " + models[i]);
    if (!run.error.empty()) {
      Reconciliation failed;
      failed.model = models[i], failed.error = run.error, failed.hint = run.hint;
      found.push_back(std::move(failed));
      continue;
    }
    const Graph graph = read_capture(read_file(folder.file(at + ".json")), "capture of " + models[i]);
    found.push_back(reconcile(make_profile(graph), run.answers));
    if (run.weight_bytes > kMuchMemory)
      notes.push_back(models[i] + ": the tools ran on the CPU, with " +
                      format_bytes(Count{run.weight_bytes}) + " of random weights");
  }
  return found;
}

}  // namespace opscope
