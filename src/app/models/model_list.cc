// Lists come from Python once and then from the cache; costs from the captures that the cache has.
#include "app/models/model_list.h"

#include <fnmatch.h>

#include <cctype>

#include "analyse/profile/profile.h"
#include "app/models/models.h"
#include "app/worker/many_captures.h"
#include "app/worker/question.h"
#include "base/text.h"

namespace opscope {
namespace {

const std::vector<Dependency>& files_of(const ModelList& list) { return list.dependencies; }

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

}  // namespace

bool matches_name(const std::string& pattern, const std::string& name) {
  if (pattern.find_first_of("*?[") != std::string::npos)
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_CASEFOLD) == 0;
  return letters_and_digits(name).find(letters_and_digits(pattern)) != std::string::npos;
}

ModelCatalogue::ModelCatalogue(const std::string& registry, bool use_cache, const TalkFlags& talk)
    : registry_(registry),
      python_(find_python()),
      cache_(use_cache, talk.debug || talk.verbose),
      talk_(talk) {}

std::vector<ModelStatus> ModelCatalogue::list(bool only_cached) {
  const Question<ModelList> question{
      .request_json = [&](const std::string& output) { return list_request_json(registry_, output); },
      .read = parse_model_list,
      .dependencies = files_of,
      .registry = registry_,
      .answer = "list of models"};
  auto found = cached_answer(cache_, python_, question);
  if (!found && only_cached) return {};
  if (!found) found = ask_python(cache_, python_, question, talk_);
  stamp_ = stamp_of(found->dependencies);
  std::vector<ModelStatus> models;
  for (ListedModel& model : found->models) models.push_back({std::move(model), std::nullopt, ""});
  return models;
}

CaptureRequest ModelCatalogue::request_for(const ListedModel& model) const {
  CaptureRequest request;
  request.model = model.name;
  request.registry = registry_;
  return request;
}

std::string ModelCatalogue::failure_key(const ListedModel& model) const {
  return Cache::key(python_, request_for(model).to_json("failed", stamp_), registry_);
}

void ModelCatalogue::add_known_costs(std::vector<ModelStatus>& models) const {
  for (ModelStatus& status : models) {
    if (const auto graph = cached_model(request_for(status.model), cache_, python_))
      status.cost = cost_of(*graph);
    else if (const auto why = cache_.read(failure_key(status.model)))
      status.failed = *why;
  }
}

void ModelCatalogue::set_failed(ModelStatus& status, const std::string& why) const {
  status.failed = why;
  cache_.write(failure_key(status.model), why);
}

void ModelCatalogue::profile(std::vector<ModelStatus>& models) const {
  std::vector<ModelStatus*> left;
  std::vector<CaptureRequest> requests;
  for (ModelStatus& status : models)
    if (!status.cost) left.push_back(&status), requests.push_back(request_for(status.model));
  const auto give = [&](std::size_t index, std::unique_ptr<Graph> graph, const ChildError& why) {
    ModelStatus& status = *left[index];
    if (!graph) return set_failed(status, why.what);
    status.cost = cost_of(*graph);
    status.failed.clear();
  };
  capture_many(requests, cache_, python_, AfterDeath::kGoOn, talk_, give);
}

}  // namespace opscope
