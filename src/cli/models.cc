// Where graphs come from.
#include "cli/models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
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
                     : request.tracer != "auto"    ? "--tracer"
                                                   : nullptr;
  if (flag) throw Error("a saved capture cannot be changed", flag, "capture the model again with this flag");
}

const std::vector<Dependency>& dependencies(const Graph& graph) { return graph.capture.dependencies; }
const std::vector<Dependency>& dependencies(const ModelList& list) { return list.dependencies; }

// How one kind of question is put to Python and its answer read.
template <typename Answer>
struct Question {
  std::function<std::string(const std::string& output)> request_json;
  Answer (*read)(std::string_view bytes, const std::string& where);
  std::string model, registry, answer;  // `answer` names what comes back, for errors
};

template <typename Answer>
std::optional<Answer> cached_answer(const Cache& cache, const std::string& key,
                                    const Question<Answer>& question) {
  const auto bytes = cache.read(key);
  if (!bytes) return std::nullopt;
  try {
    Answer answer = question.read(*bytes, "cache");
    if (unchanged(dependencies(answer))) return answer;
  } catch (const Error& error) {
    cache.complain(error.what());
  }
  return std::nullopt;
}

// From the cache or from Python; nothing where it is not in the cache and Python is not to be asked.
template <typename Answer>
std::optional<Answer> ask(const Question<Answer>& question, bool use_cache, bool only_cached,
                          const TalkFlags& talk) {
  const std::string python = find_python();
  const Cache cache(use_cache, talk.debug || talk.verbose);
  const std::string key = Cache::key(python, question.request_json(""), question.registry);
  if (auto answer = cached_answer(cache, key, question)) return answer;
  if (only_cached) return std::nullopt;

  const SignalsNoted signals;
  const TemporaryFolder folder;
  const std::string output = folder.file("answer.json");
  const bool cacheable = run_python(python, question.request_json(output), question.model, talk);
  const std::string bytes = read_file(output);
  Answer answer = question.read(bytes, question.answer);
  if (cacheable) cache.write(key, bytes);
  return answer;
}

}  // namespace

Graph load_model(const CaptureRequest& request, const TalkFlags& talk) {
  if (const auto bytes = capture_file(request.model)) {
    refuse_capture_flags(request);
    return read_capture(*bytes, request.model);
  }
  const auto request_json = [&](const std::string& output) { return request.to_json(output); };
  const Question<Graph> question{request_json, read_capture, request.model, request.registry,
                                 "capture of " + request.model};
  return *ask(question, request.use_cache, false, talk);
}

std::vector<ListedModel> list_models(const std::string& registry, bool use_cache, bool only_cached,
                                     const TalkFlags& talk) {
  const auto request_json = [&](const std::string& output) { return list_request_json(registry, output); };
  const Question<ModelList> question{request_json, parse_model_list, "", registry, "list of models"};
  auto list = ask(question, use_cache, only_cached, talk);
  return list ? std::move(list->models) : std::vector<ListedModel>{};
}

}  // namespace opscope
