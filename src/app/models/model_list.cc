// Lists come from Python once and then from the cache; costs from the captures that the cache has.
#include "app/models/model_list.h"

#include <fnmatch.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "analyse/profile/profile.h"
#include "app/models/models.h"
#include "base/error.h"

namespace opscope {
namespace {

// Changes with the libraries: what failed under another version may work under this one.
std::string stamp_of(const std::vector<Dependency>& files) {
  std::string stamp;
  for (const Dependency& file : files) stamp += std::to_string(file.modified_ns) + " ";
  return stamp;
}

std::string letters_and_digits(const std::string& text) {
  std::string kept;
  for (const unsigned char c : text)
    if (std::isalnum(c) != 0) kept += static_cast<char>(std::tolower(c));
  return kept;
}

KnownCost cost_of(const Graph& graph) {
  const Profile profile = make_profile(graph, {});
  return {profile.parameters.total, profile.totals.work.macs, profile.totals.flops, graph.capture.tracer};
}

// Prefixes of specs, and the libraries that they stand for.
struct Library {
  std::string_view prefix, name;
};
constexpr std::array kLibraries{Library{"torchvision", "torchvision"}, Library{"timm", "timm"},
                                Library{"hf", "transformers"}, Library{"yolo", "ultralytics"}};

std::vector<std::string> matching(const std::string& spec, const std::vector<ModelStatus>& models) {
  const std::size_t colon = spec.find(':');
  const auto known = std::ranges::find(kLibraries, spec.substr(0, colon), &Library::prefix);
  const bool insists = colon != std::string::npos && known != kLibraries.end();  // on a library
  const std::string prefix = insists ? spec.substr(0, colon + 1) : "", pattern = spec.substr(prefix.size());
  std::vector<std::string> found;
  for (const ModelStatus& status : models)
    if (status.model.source.starts_with(insists ? known->name : "") &&
        matches_name(pattern, status.model.name))
      found.push_back(prefix + status.model.name);
  return found;
}

}  // namespace

bool matches_name(const std::string& pattern, const std::string& name) {
  if (pattern.find_first_of("*?[") != std::string::npos)
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
  return letters_and_digits(name).find(letters_and_digits(pattern)) != std::string::npos;
}

ModelCatalogue::ModelCatalogue(std::string registry, bool use_cache, Listener& listener)
    : registry_(std::move(registry)), cache_(use_cache, listener), listener_(listener) {}

std::vector<ModelStatus> ModelCatalogue::list(bool only_cached) {
  const CaptureRequest request = request_for("");
  const std::string key = cache_.key(request, "list");
  auto found = cached_answer(cache_, key, parse_model_list, &ModelList::dependencies);
  if (!found && only_cached) return {};
  if (!found) {
    PythonWorker worker(listener_, cache_.python());
    worker.run(request, "list");
    const std::string bytes = worker.output();
    found = parse_model_list(bytes, "list of models");
    if (worker.may_be_cached()) cache_.write(key, bytes);
  }
  stamp_ = stamp_of(found->dependencies);
  std::vector<ModelStatus> models;
  for (ListedModel& model : found->models) models.push_back({std::move(model), std::nullopt, ""});
  return models;
}

CaptureRequest ModelCatalogue::request_for(const std::string& model) const {
  CaptureRequest request;
  request.model = model;
  request.registry = registry_;
  return request;
}

std::string ModelCatalogue::failure_key(const ListedModel& model) const {
  return cache_.key(request_for(model.name), "failed",
                    [&](JsonWriter& json) { json.field("stamp", stamp_); });
}

void ModelCatalogue::add_known_costs(std::vector<ModelStatus>& models) const {
  for (ModelStatus& status : models) {
    if (const auto graph = cached_model(request_for(status.model.name), cache_))
      status.cost = cost_of(*graph);
    else if (const auto why = cache_.read(failure_key(status.model)))
      status.failed = *why;
  }
}

void ModelCatalogue::profile(std::vector<ModelStatus>& models) const {
  std::vector<ModelStatus*> left;
  std::vector<CaptureRequest> requests;
  for (ModelStatus& status : models)
    if (!status.cost) left.push_back(&status), requests.push_back(request_for(status.model.name));
  const auto give = [&](std::size_t index, const std::shared_ptr<Graph>& graph, const ChildError& why) {
    ModelStatus& status = *left[index];
    status.failed = why.what;
    if (graph)
      status.cost = cost_of(*graph);
    else
      cache_.write(failure_key(status.model), why.what);
  };
  capture_many(requests, cache_, AfterDeath::kGoOn, listener_, give);
}

std::string library_called(const std::string& prefix) {
  const auto found = std::ranges::find(kLibraries, prefix, &Library::prefix);
  return found == kLibraries.end() ? prefix : std::string(found->name);
}

bool is_model_pattern(const std::string& spec) {
  std::error_code ignored;
  return spec.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(spec, ignored);
}

std::vector<std::string> expand_patterns(const std::vector<std::string>& specs, const WrittenRequest& written,
                                         Listener& listener) {
  if (std::ranges::none_of(specs, is_model_pattern)) return specs;
  ModelCatalogue catalogue(registry_path(written.text("registry")), !written.no_cache, listener);
  const std::vector<ModelStatus> models = catalogue.list(false);
  std::vector<std::string> expanded;
  const auto add = [&](const std::string& spec) {
    if (std::ranges::find(expanded, spec) == expanded.end()) expanded.push_back(spec);
  };
  for (const std::string& spec : specs) {
    if (!is_model_pattern(spec)) {
      add(spec);
      continue;
    }
    const auto found = matching(spec, models);
    if (found.empty())
      throw Error("no model matches '" + spec + "'", "",
                  "opscope list shows them all; 'torchvision:resnet*' looks in one library");
    std::ranges::for_each(found, add);
  }
  return expanded;
}

}  // namespace opscope
