// Where graphs come from.
#include "cli/models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "cli/cache.h"
#include "cli/python_child.h"
#include "cli/signals.h"
#include "cli/temporary_folder.h"
#include "readers/capture_reader.h"

namespace opscope {
namespace {

// A capture file is what looks like one inside, or is called .json: then its own error is the useful one.
std::optional<std::string> capture_file(const std::string& model) {
  std::error_code ignored;
  if (model.ends_with(".json")) return read_file(model);
  if (!std::filesystem::is_regular_file(model, ignored)) return std::nullopt;
  std::string opening(256, '\0');  // of what may be gigabytes of weights
  std::ifstream file(model, std::ios::binary);
  file.read(opening.data(), static_cast<std::streamsize>(opening.size()));
  opening.resize(static_cast<std::size_t>(file.gcount()));
  if (looks_like_capture(opening)) return read_file(model);
  return std::nullopt;
}

void refuse_capture_flags(const CaptureRequest& request) {
  const char* flag = !request.input_shapes.empty() ? "--input-shape"
                     : request.batch               ? "--batch"
                     : !request.dtype.empty()      ? "--dtype"
                     : !request.device.empty()     ? "--device"
                                                   : nullptr;
  if (flag)
    throw Error("a saved capture has its inputs already", flag, "capture the model again with this flag");
}

std::optional<Graph> cached_graph(const Cache& cache, const std::string& key) {
  const auto bytes = cache.read(key);
  if (!bytes) return std::nullopt;
  try {
    Graph graph = read_capture(*bytes, "cache");
    if (unchanged(graph.capture.dependencies)) return graph;
  } catch (const Error& error) {
    cache.complain(error.what());
  }
  return std::nullopt;
}

std::optional<ModelList> cached_list(const Cache& cache, const std::string& key) {
  const auto bytes = cache.read(key);
  if (!bytes) return std::nullopt;
  try {
    ModelList list = parse_model_list(*bytes, "cache");
    if (unchanged(list.dependencies)) return list;
  } catch (const Error& error) {
    cache.complain(error.what());
  }
  return std::nullopt;
}

}  // namespace

Graph load_model(const CaptureRequest& request, const TalkFlags& talk) {
  if (const auto bytes = capture_file(request.model)) {
    refuse_capture_flags(request);
    return read_capture(*bytes, request.model);
  }
  const std::string python = find_python();
  const Cache cache(request.use_cache, talk.debug || talk.verbose);
  const std::string key = Cache::key(python, request.to_json(""), request.registry);
  if (auto graph = cached_graph(cache, key)) return *std::move(graph);

  const SignalsNoted signals;
  const TemporaryFolder folder;
  const std::string output = folder.file("capture.json");
  const bool cacheable = run_python(python, request.to_json(output), request.model, talk);
  const std::string bytes = read_file(output);
  Graph graph = read_capture(bytes, "capture of " + request.model);
  if (cacheable) cache.write(key, bytes);
  return graph;
}

std::vector<ListedModel> list_models(const std::string& registry, bool use_cache, bool only_cached,
                                     const TalkFlags& talk) {
  const std::string python = find_python();
  const Cache cache(use_cache, talk.debug || talk.verbose);
  const std::string key = Cache::key(python, list_request_json(registry, ""), registry);
  if (auto list = cached_list(cache, key)) return std::move(list->models);
  if (only_cached) return {};

  const SignalsNoted signals;
  const TemporaryFolder folder;
  const std::string output = folder.file("models.json");
  const bool cacheable = run_python(python, list_request_json(registry, output), "", talk);
  const std::string bytes = read_file(output);
  ModelList list = parse_model_list(bytes, "list of models");
  if (cacheable) cache.write(key, bytes);
  return std::move(list.models);
}

}  // namespace opscope
