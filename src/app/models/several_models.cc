// Files are read here, what the cache has comes from there, and the rest from one Python process.
#include "app/models/several_models.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "app/models/models.h"
#include "app/worker/many_captures.h"
#include "app/worker/python_child.h"
#include "base/error.h"
#include "base/files.h"
#include "readers/results/profile_reader.h"

namespace opscope {
namespace {

ModelFlags flags_of(const ModelFlags& all, const std::string& spec) {
  ModelFlags flags = all;
  flags.positional = spec;
  flags.model.clear();
  return flags;
}

// A file beside models that are captured is as it is: flags about captures are not for it, nor are those
// about exported files for the others. Where no model could take a flag, it stays and is refused.
ModelFlags flags_for(const ModelFlags& all, const std::string& spec, std::span<const FileKind> kinds) {
  ModelFlags flags = flags_of(all, spec);
  const FileKind kind = model_file_kind(spec);
  const bool some_captured = std::ranges::any_of(kinds, [](FileKind k) { return !is_read_here(k); });
  if (is_read_here(kind) && some_captured) {
    flags = ModelFlags();
    flags.positional = spec;
    flags.dim = all.dim;
    flags.no_cache = all.no_cache;
  }
  if (!is_exported(kind) && std::ranges::any_of(kinds, is_exported)) flags.dim.clear();
  return flags;
}

std::vector<CaptureRequest> requests_for(const std::vector<std::string>& specs, const ModelFlags& flags) {
  std::vector<FileKind> kinds;
  for (const std::string& spec : specs) kinds.push_back(model_file_kind(spec));
  std::vector<CaptureRequest> requests;
  for (const std::string& spec : specs) requests.push_back(request_from(flags_for(flags, spec, kinds)));
  return requests;
}

// The models that Python has to capture, in one process of it.
class Captures {
 public:
  Captures(const std::vector<CaptureRequest>& requests, const TalkFlags& talk)
      : requests_(requests), talk_(talk), graphs_(requests.size()) {}

  // nullptr for what failed, where failures are asked for; else the first is thrown.
  std::vector<std::unique_ptr<Graph>> take(const std::vector<std::size_t>& wanted,
                                           std::vector<std::string>* failed) {
    if (wanted.empty()) return std::move(graphs_);
    const Cache cache(requests_[wanted.front()].use_cache, talk_.debug || talk_.verbose);
    const std::string python = find_python();
    std::vector<std::size_t> left;
    for (const std::size_t i : wanted) {
      if (auto graph = cached_model(requests_[i], cache, python))
        graphs_[i] = std::make_unique<Graph>(*std::move(graph));
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
    const auto give = [&](std::size_t index, std::unique_ptr<Graph> graph, const ChildError& why) {
      graphs_[left[index]] = std::move(graph);
      if (!graphs_[left[index]]) errors_[left[index]] = why;
    };
    const std::string ended =
        capture_many(requests, cache, python, failed ? AfterDeath::kGoOn : AfterDeath::kStop, talk_, give);
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
    if (talk_.debug) std::fputs(error.traceback.c_str(), stderr);
    fail_reported(error);
  }

  const std::vector<CaptureRequest>& requests_;
  const TalkFlags& talk_;
  std::vector<std::unique_ptr<Graph>> graphs_;
  std::map<std::size_t, ChildError> errors_;
};

LoadedModel profiled(std::string spec, std::unique_ptr<Graph> graph, const ProfileOptions& options) {
  LoadedModel model{std::move(spec), "", std::move(graph), nullptr, {}};
  model.profile = std::make_unique<Profile>(make_profile(*model.graph, options));
  model.figures = figures_of(*model.profile);
  return model;
}

LoadedModel saved_profile(const std::string& spec, const CaptureRequest& request) {
  refuse_capture_flags(request);
  return {spec, "", nullptr, nullptr, read_profile(read_file(request.model), request.model)};
}

std::vector<LoadedModel> load(const std::vector<std::string>& specs, const ModelFlags& flags,
                              const ProfileOptions& options, const TalkFlags& talk,
                              std::vector<std::string>* failed) {
  const std::vector<CaptureRequest> requests = requests_for(specs, flags);
  std::vector<LoadedModel> models(specs.size());
  std::vector<std::size_t> captured;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (model_file_kind(requests[i].model) == FileKind::kProfile)
      models[i] = saved_profile(specs[i], requests[i]);
    else if (auto graph = read_model(requests[i]))
      models[i] = profiled(specs[i], std::make_unique<Graph>(*std::move(graph)), options);
    else
      captured.push_back(i);
  }
  auto graphs = Captures(requests, talk).take(captured, failed);
  for (const std::size_t i : captured)
    if (graphs[i]) models[i] = profiled(specs[i], std::move(graphs[i]), options);
  std::erase_if(models, [](const LoadedModel& model) { return model.spec.empty(); });
  name_apart(models);
  return models;
}

}  // namespace

void name_apart(std::vector<LoadedModel>& models) {
  std::vector<std::vector<std::string>> choices;
  for (const LoadedModel& model : models) {
    const std::filesystem::path path(model.spec);
    const std::string stem = path.stem().string();
    const std::string in_folder = (path.parent_path().filename() / path.filename()).string();
    choices.push_back(
        {model.figures.model.empty() ? stem : model.figures.model, stem, in_folder, model.spec});
  }
  const std::vector<std::string> labels = labels_apart(choices);
  for (std::size_t i = 0; i < models.size(); ++i) models[i].label = labels[i];
}

std::vector<LoadedModel> load_models(const std::vector<std::string>& specs, const ModelFlags& flags,
                                     const ProfileOptions& options, const TalkFlags& talk) {
  return load(specs, flags, options, talk, nullptr);
}

std::vector<LoadedModel> load_those_that_work(const std::vector<std::string>& specs, const ModelFlags& flags,
                                              const ProfileOptions& options, const TalkFlags& talk,
                                              std::vector<std::string>& failed) {
  return load(specs, flags, options, talk, &failed);
}

}  // namespace opscope
