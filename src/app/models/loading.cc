// Files are read here, what the cache has comes from there, and the rest from one Python process.
#include "app/models/loading.h"

#include <algorithm>
#include <map>
#include <span>

#include "app/models/many_captures.h"
#include "app/models/models.h"
#include "app/worker/python_worker.h"
#include "base/error.h"
#include "base/files.h"
#include "readers/results/profile_reader.h"

namespace opscope {
namespace {

// A file beside models that are captured is as it is: flags about captures are not for it, nor are those
// about exported files for the others. Where no model could take a flag, it stays and is refused.
WrittenRequest written_for(const WrittenRequest& all, const std::string& spec,
                           std::span<const FileKind> kinds) {
  WrittenRequest written = all.for_model(spec);
  const FileKind kind = model_file_kind(spec);
  const bool some_captured = std::ranges::any_of(kinds, [](FileKind k) { return !is_read_here(k); });
  if (is_read_here(kind) && some_captured)
    std::erase_if(written.texts, [](const auto& item) { return item.first != "dims"; });
  if (!is_exported(kind) && std::ranges::any_of(kinds, is_exported)) written.texts.erase("dims");
  return written;
}

std::vector<CaptureRequest> requests_for(const std::vector<std::string>& specs,
                                         const WrittenRequest& written) {
  std::vector<FileKind> kinds;
  for (const std::string& spec : specs) kinds.push_back(model_file_kind(spec));
  std::vector<CaptureRequest> requests;
  for (const std::string& spec : specs) requests.push_back(request_from(written_for(written, spec, kinds)));
  return requests;
}

// The models that Python has to capture, in one process of it.
class Captures {
 public:
  Captures(const std::vector<CaptureRequest>& requests, Listener& listener)
      : requests_(requests), listener_(listener), graphs_(requests.size()) {}

  // nullptr for what failed, where failures are asked for; else the first is thrown.
  std::vector<std::shared_ptr<Graph>> take(const std::vector<std::size_t>& wanted,
                                           std::vector<std::string>* failed) {
    if (wanted.empty()) return std::move(graphs_);
    const Cache cache(requests_[wanted.front()].use_cache, listener_);
    const std::string python = find_python();
    std::vector<std::size_t> left;
    for (const std::size_t i : wanted) {
      if (auto graph = cached_model(requests_[i], cache, python))
        graphs_[i] = std::make_shared<Graph>(*std::move(graph));
      else
        left.push_back(i);
    }
    if (!left.empty()) ask_for(left, cache, python, failed);
    return std::move(graphs_);
  }

 private:
  // What works is in the cache when a failure is told.
  void ask_for(const std::vector<std::size_t>& left, const Cache& cache, const std::string& python,
               std::vector<std::string>* failed) {
    std::vector<CaptureRequest> requests;
    for (const std::size_t i : left) requests.push_back(requests_[i]);
    const auto give = [&](std::size_t index, std::shared_ptr<Graph> graph, const ChildError& why) {
      graphs_[left[index]] = std::move(graph);
      if (!graphs_[left[index]]) errors_[left[index]] = why;
    };
    const std::string ended = capture_many(requests, cache, python,
                                           failed ? AfterDeath::kGoOn : AfterDeath::kStop, listener_, give);
    for (const std::size_t i : left) {
      if (graphs_[i]) continue;
      if (!failed) fail(i, ended);
      failed->push_back(requests_[i].model + ": " + (errors_.contains(i) ? errors_[i].what : ended));
    }
  }

  [[noreturn]] void fail(std::size_t i, const std::string& ended) {
    const auto found = errors_.find(i);
    if (found == errors_.end())
      throw Error(ended.empty() ? "Python ended without its capture" : ended, requests_[i].model,
                  "--debug shows all that Python wrote");
    ChildError error = found->second;
    if (error.where.empty()) error.where = requests_[i].model;
    fail_reported(error);
  }

  const std::vector<CaptureRequest>& requests_;
  Listener& listener_;
  std::vector<std::shared_ptr<Graph>> graphs_;
  std::map<std::size_t, ChildError> errors_;
};

LoadedModel saved_profile(const std::string& spec, const CaptureRequest& request) {
  refuse_capture_flags(request);
  return {spec, "", nullptr, nullptr, read_profile(read_file(request.model), request.model)};
}

}  // namespace

std::vector<LoadedModel> load_models(const std::vector<std::string>& specs, const WrittenRequest& written,
                                     const ProfileOptions& options, Listener& listener,
                                     std::vector<std::string>* failed) {
  const std::vector<CaptureRequest> requests = requests_for(specs, written);
  std::vector<LoadedModel> models(specs.size());
  std::vector<std::size_t> captured;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (model_file_kind(requests[i].model) == FileKind::kProfile)
      models[i] = saved_profile(specs[i], requests[i]);
    else if (auto graph = read_model(requests[i]))
      models[i] = profiled(specs[i], std::make_shared<Graph>(*std::move(graph)), options);
    else
      captured.push_back(i);
  }
  auto graphs = Captures(requests, listener).take(captured, failed);
  for (const std::size_t i : captured)
    if (graphs[i]) models[i] = profiled(specs[i], std::move(graphs[i]), options);
  std::erase_if(models, [](const LoadedModel& model) { return model.spec.empty(); });
  name_apart(models);
  return models;
}

}  // namespace opscope
