// Lists come from Python once and then from the cache; costs from the captures that the cache has.
#include "cli/model_list.h"

#include "analyse/profile.h"
#include "base/text.h"
#include "cli/models.h"
#include "cli/question.h"
#include "cli/terminal.h"
#include "readers/capture_reader.h"

namespace opscope {
namespace {

const std::vector<Dependency>& files_of(const ModelList& list) { return list.dependencies; }

// Changes with the libraries: what failed under another version may work under this one.
std::string stamp_of(const std::vector<Dependency>& files) {
  std::string stamp;
  for (const Dependency& file : files) stamp += std::to_string(file.modified_ns) + " ";
  return stamp;
}

KnownCost cost_of(const Graph& graph) {
  const Profile profile = make_profile(graph, {});
  return {profile.parameters.total, profile.totals.work.macs, profile.totals.flops, graph.capture.tracer};
}

}  // namespace

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

void ModelCatalogue::set_cost(ModelStatus& status, std::string_view bytes, bool cacheable) const {
  status.cost = cost_of(read_capture(bytes, "capture of " + status.model.name));
  status.failed.clear();
  if (cacheable)
    cache_.write(Cache::key(python_, request_for(status.model).to_json("capture", ""), registry_), bytes);
}

void ModelCatalogue::set_failed(ModelStatus& status, const std::string& why) const {
  status.failed = why;
  cache_.write(failure_key(status.model), why);
}

void ModelCatalogue::profile(std::vector<ModelStatus>& models) const {
  std::vector<ModelStatus*> left;
  for (ModelStatus& status : models)
    if (!status.cost) left.push_back(&status);
  const std::size_t all = left.size();
  const TemporaryFolder folder;
  Spinner spinner(!talk_.quiet);
  std::size_t done = 0;
  // A model that takes the process down is its own failure; the rest go on in a new one.
  while (!left.empty()) {
    std::vector<std::string> names;
    for (const ModelStatus* status : left) names.push_back(status->model.name);
    spinner.say(progress_line(done, all, names.front()));
    std::size_t finished = 0;
    const auto finish = [&](const Answer& answer) {
      if (answer.index >= left.size()) return;
      ModelStatus& status = *left[answer.index];
      const std::string file = folder.file(std::to_string(answer.index) + ".json");
      if (answer.error.what.empty())
        set_cost(status, read_file(file), answer.cacheable);
      else
        set_failed(status, answer.error.what);
      finished = answer.index + 1;
      spinner.say(progress_line(++done, all, finished < names.size() ? names[finished] : ""));
    };
    const std::string ended = run_python_for_many(
        python_, many_request_json(names, request_for({}), folder.file("")), finish, spinner, talk_);
    if (finished < left.size()) {
      if (ended.empty()) break;
      set_failed(*left[finished++], ended);
      ++done;
    }
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(finished));
  }
}

}  // namespace opscope
