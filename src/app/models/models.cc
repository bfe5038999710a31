// Where graphs come from.
#include "app/models/models.h"

#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <ranges>
#include <span>

#include "app/request/edits.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "readers/capture/capture_reader.h"
#include "readers/results/profile_reader.h"

namespace opscope {
namespace {

// A JSON file that a transformers model is described by, and no capture.
bool is_config(const std::string& path) {
  if (!path.ends_with(".json")) return false;
  return std::filesystem::path(path).filename() == "config.json" ||
         read_file(path).find("\"model_type\"") != std::string::npos;
}

// What is called .json and nothing else is taken for a capture: then its reader's error is the useful one.
FileKind model_file_kind(const std::string& model) {
  const FileKind kind = classify_file(model);
  const bool meant = kind == FileKind::kOther && model.ends_with(".json") && !is_config(model);
  return meant ? FileKind::kCapture : kind;
}

// The first flag that asks for another capture than the one in a file; nullptr: none does.
const CaptureField* capture_flag(const CaptureRequest& request, bool dims_too) {
  for (const CaptureField& field : capture_fields())
    if (field.rules.changes_capture && (dims_too || field.key != "dims") && field.is_given(request))
      return &field;
  return nullptr;
}

// Where a flag asks for another capture than the one in the file.
void refuse_capture_flags(const CaptureRequest& request) {
  if (const CaptureField* const field = capture_flag(request, true))
    throw Error("a saved capture cannot be changed", std::string(field->flag),
                "capture the model again with this flag");
}

void refuse_model_file_flags(const CaptureRequest& request) {
  const CaptureField* const field = capture_flag(request, false);
  if (!field) return;
  const std::string flag(field->flag);
  if (flag == "--tracer")
    throw Error("an exported model is already a graph", flag, "give the model itself to trace it");
  if (flag == "--training")
    throw Error("an exported model has the forward pass only", flag,
                "give the model itself to capture training");
  throw Error("an exported model has its shapes in the file", flag,
              "give its dynamic dimensions with --dim NAME=N, or export it again");
}

PlannedInputs inputs_in(const Graph& graph) {
  PlannedInputs plan;
  for (const ValueId id : graph.inputs) {
    const Value& value = graph.values[id];
    plan.inputs.push_back({std::string(graph.text(value.name)), format_shape(graph.shape(value)),
                           std::string(name(value.dtype)), "", "as in the file"});
  }
  return plan;
}

// A file's name that is nearly right is told; else, how such a file is made.
void check_is_there(const std::string& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none)) return;
  const std::filesystem::path asked(path);
  std::vector<std::string> beside;
  for (const auto& entry :
       std::filesystem::directory_iterator(asked.has_parent_path() ? asked.parent_path() : ".", none))
    if (entry.path().extension() == ".json") beside.push_back(entry.path().filename().string());
  throw Error("no such file", path,
              did_you_mean(asked.filename().string(), beside,
                           "`opscope capture MODEL -o FILE.json` makes a saved capture"));
}

std::string line_of(const CaptureRequest& base, std::span<const CaptureRequest> requests) {
  std::string line;
  JsonWriter json(line);
  json.begin_array(kInline);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    json.begin_object(kInline);
    json.field("index", i);
    write_changes(json, base, requests[i]);
    json.end_object();
  }
  json.end_array();
  return line + "\n";
}

using Infer = void (*)(const std::string& bytes, std::string& result);

// Installed under lib/ beside the program's bin/; in a build folder, beside the program itself.
Infer load() {
  std::error_code failed;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed) return nullptr;
  for (const char* place : {"../lib/opscope/" OPSCOPE_ONNX_PLUGIN, OPSCOPE_ONNX_PLUGIN}) {
    const std::string path = self.parent_path() / place;
    if (void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return reinterpret_cast<Infer>(::dlsym(library, "opscope_infer_onnx_shapes"));
  }
  return nullptr;
}

std::string infer(const std::string& bytes) {
  static const Infer function = load();
  std::string result;
  if (function) function(bytes, result);
  return result;
}

// A file beside models that are captured is as it is: flags about captures are not for it, nor are those
// about exported files for the others. Where no model could take a flag, it stays and is refused.
WrittenRequest written_for(const WrittenRequest& all, const std::string& spec,
                           std::span<const FileKind> kinds) {
  WrittenRequest written = all.for_model(spec);
  const FileKind kind = model_file_kind(spec);
  const bool some_captured = std::ranges::any_of(kinds, [](FileKind k) { return !is_read_here(k); });
  if (is_read_here(kind) && some_captured)
    std::erase_if(written.texts, [&](const auto& item) {
      const bool is_edit = capture_field(item.first).rules.is_edit && kind != FileKind::kProfile;
      return item.first != "dims" && !is_edit;
    });
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

// Of each model its graph, from the cache or from one process of Python; nullptr for what failed, where
// failures are asked for, else the first is thrown. What works is in the cache when a failure is told.
std::vector<std::shared_ptr<Graph>> captured(const std::vector<CaptureRequest>& requests, Listener& listener,
                                             std::vector<std::string>* failed) {
  std::vector<std::shared_ptr<Graph>> graphs(requests.size());
  if (requests.empty()) return graphs;
  const Cache cache(requests.front().use_cache, listener);
  std::vector<CaptureRequest> asked;
  std::vector<std::size_t> left;  // where those that are asked for belong
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (auto graph = cached_model(requests[i], cache))
      graphs[i] = std::make_shared<Graph>(*std::move(graph));
    else
      left.push_back(i), asked.push_back(requests[i]);
  }
  std::vector<std::optional<ChildError>> errors(requests.size());
  const auto give = [&](std::size_t index, std::shared_ptr<Graph> graph, const ChildError& why) {
    if (!graph) errors[left[index]] = why;
    graphs[left[index]] = std::move(graph);
  };
  const auto after_death = failed ? AfterDeath::kGoOn : AfterDeath::kStop;
  const std::string ended = capture_many(asked, cache, after_death, listener, give);
  for (const std::size_t i : left) {
    if (graphs[i]) continue;
    const std::string& model = requests[i].model;
    auto& error = errors[i];
    if (failed) {
      failed->push_back(model + ": " + (error ? error->what : ended));
      continue;
    }
    if (!error)
      throw Error(ended.empty() ? "Python ended without its capture" : ended, model,
                  "--debug shows all that Python wrote");
    if (error->where.empty()) error->where = model;
    fail_reported(*error);
  }
  return graphs;
}

std::shared_ptr<Graph> edited(Graph graph, const CaptureRequest& request) {
  apply_edits(graph, request);
  return std::make_shared<Graph>(std::move(graph));
}

LoadedModel saved_profile(const std::string& spec, const CaptureRequest& request) {
  refuse_capture_flags(request);
  refuse_edits(request, "a saved profile");
  return {spec, "", nullptr, nullptr, read_profile(read_file(request.model), request.model)};
}

}  // namespace

std::optional<Graph> read_model(const CaptureRequest& request) {
  const FileKind kind = model_file_kind(request.model);
  if (kind == FileKind::kProfile)
    throw Error("this is a saved profile: figures, without the graph that they are of", request.model,
                "compare, diff and check take it; here, what `opscope capture MODEL -o FILE` writes");
  if (kind == FileKind::kCapture) {
    refuse_capture_flags(request);
    check_is_there(request.model);
    return read_padded_capture(read_file(request.model), request.model);
  }
  if (is_exported(kind)) {
    refuse_model_file_flags(request);
    return read_model_file(request.model, request.dims, onnx_inference());
  }
  if (!request.dims.empty())
    throw Error("dynamic dimensions are those of a .pt2 or ONNX file, and " + request.model + " is none",
                "--dim", "--batch, --seq-len and --input-shape are for models that are captured");
  return std::nullopt;
}

std::optional<Graph> cached_model(const CaptureRequest& request, const Cache& cache) {
  return cached_answer(
      cache, cache.key(request, "capture"), read_capture,
      [](const Graph& graph) -> const auto& { return graph.capture.dependencies; });
}

namespace {

Graph found_model(const CaptureRequest& request, Listener& listener) {
  if (auto graph = read_model(request)) return *std::move(graph);
  const Cache cache(request.use_cache, listener);
  if (auto graph = cached_model(request, cache)) return *std::move(graph);
  PythonWorker worker(listener, cache.python());
  worker.run(request, "capture");
  const std::string bytes = worker.output();
  Graph graph = read_capture(bytes, "capture of " + request.model);
  if (worker.may_be_cached()) cache.write(cache.key(request, "capture"), bytes);
  return graph;
}

}  // namespace

bool is_graph_file(const std::string& model) { return is_read_here(model_file_kind(model)); }

Graph load_model(const CaptureRequest& request, Listener& listener) {
  Graph graph = found_model(request, listener);
  apply_edits(graph, request);
  return graph;
}

PlannedInputs plan_inputs(const CaptureRequest& request, Listener& listener) {
  if (const auto graph = read_model(request)) return inputs_in(*graph);
  PythonWorker worker(listener);
  worker.run(request, "inputs");
  return parse_planned_inputs(worker.output(), "inputs of " + request.model);
}

std::vector<LoadedModel> load_models(const std::vector<std::string>& specs, const WrittenRequest& written,
                                     const ProfileOptions& options, Listener& listener,
                                     std::vector<std::string>* failed) {
  std::vector<CaptureRequest> requests = requests_for(specs, written);
  for (CaptureRequest& request : requests) request = on_hardware(std::move(request), options);
  std::vector<LoadedModel> models(specs.size());
  std::vector<CaptureRequest> asked;
  std::vector<std::size_t> places;  // of those that are asked for
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (model_file_kind(requests[i].model) == FileKind::kProfile)
      models[i] = saved_profile(specs[i], requests[i]);
    else if (auto graph = read_model(requests[i]))
      models[i] = profiled(specs[i], edited(*std::move(graph), requests[i]), options);
    else
      places.push_back(i), asked.push_back(requests[i]);
  }
  auto graphs = captured(asked, listener, failed);
  for (std::size_t i = 0; i < graphs.size(); ++i)
    if (graphs[i])
      models[places[i]] = profiled(specs[places[i]], edited(std::move(*graphs[i]), asked[i]), options);
  std::erase_if(models, [](const LoadedModel& model) { return model.spec.empty(); });
  name_apart(models);
  return models;
}

std::string capture_many(const std::vector<CaptureRequest>& requests, const Cache& cache,
                         AfterDeath after_death, Listener& listener, const GiveCapture& give) {
  PythonWorker worker(listener, cache.python());
  std::size_t done = 0;
  const auto say = [&] {
    listener.progress(done, requests.size(), done < requests.size() ? requests[done].model : "");
  };
  // One process for those that are left. Returns how it died, where it did.
  const auto run_rest = [&] {
    const auto left = std::span(requests).subspan(done);
    const std::string asked = to_json(left.front(), "capture_many", [&](JsonWriter& json) {
      json.list("models", std::views::transform(left, &CaptureRequest::model));
      json.field("folder", worker.file(""));
    });
    say();
    return worker.run_parts(asked, [&](const Answer& answer) {
      if (answer.index >= left.size()) return;
      const CaptureRequest& request = left[answer.index];
      const auto index = static_cast<std::size_t>(&request - requests.data());
      done = index + 1;
      if (!answer.error.what.empty()) {
        give(index, nullptr, answer.error);
      } else {
        const std::string bytes = read_file(worker.file(std::to_string(answer.index) + ".json"));
        auto graph = std::make_shared<Graph>(read_capture(bytes, "capture of " + request.model));
        if (answer.cacheable) cache.write(cache.key(request, "capture"), bytes);
        give(index, std::move(graph), {});
      }
      say();
    });
  };
  while (done < requests.size()) {
    const std::string ended = run_rest();
    if (done == requests.size()) break;
    if (ended.empty() || after_death == AfterDeath::kStop) return ended;
    give(done++, nullptr, {.what = ended});
  }
  return "";
}

void ModelPoints::capture(const CaptureRequest& base, std::span<const CaptureRequest> requests,
                          const Give& give) {
  is_read_here(model_file_kind(base.model)) ? read_files(requests, give) : ask(base, requests, give);
}

void ModelPoints::fail(std::size_t index, const Error& problem, const Give& give) {
  if (!first_problem_) first_problem_ = problem;
  give(index, nullptr, problem.what());
}

void ModelPoints::read_files(std::span<const CaptureRequest> requests, const Give& give) {
  for (std::size_t i = 0; i < requests.size(); ++i) {
    signals_.check();
    say(requests[i].model);
    listener_.waiting();
    std::optional<Graph> graph;
    try {
      graph = read_model(requests[i]);
      if (graph) apply_edits(*graph, requests[i]);
    } catch (const Error& error) {
      fail(i, error, give);
    }
    if (graph) give(i, &*graph, "");
  }
  listener_.resting();
}

std::vector<std::size_t> ModelPoints::told_from_cache(std::span<const CaptureRequest> requests,
                                                      const Give& give) {
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    auto graph = cache_ ? cached_model(requests[i], *cache_) : std::nullopt;
    if (!graph) {
      left.push_back(i);
      continue;
    }
    say(requests[i].model);
    give_edited(i, *graph, requests[i], give);
  }
  return left;
}

void ModelPoints::give_edited(std::size_t index, Graph& graph, const CaptureRequest& request,
                              const Give& give) {
  try {
    apply_edits(graph, request);
  } catch (const Error& error) {
    return fail(index, error, give);
  }
  give(index, &graph, "");
}

void ModelPoints::ask(const CaptureRequest& base, std::span<const CaptureRequest> requests,
                      const Give& give) {
  const std::vector<std::size_t> left = told_from_cache(requests, give);
  if (left.empty()) return;
  std::vector<CaptureRequest> asked;
  for (const std::size_t i : left) asked.push_back(requests[i]);
  if (!worker_) worker_.emplace(listener_);
  const std::string output = worker_->file("captures");
  const std::string request = to_json(base, "sweep", [&](JsonWriter& json) { json.field("output", output); });
  worker_->ask(request, line_of(base, asked), asked.size(), [&](const Answer& answer) {
    say(base.model);
    const std::size_t index = left[answer.index];
    const auto& [what, where, hint, traceback, candidates] = answer.error;
    if (!what.empty()) return fail(index, Error(what, where, hint), give);
    const std::string file = output + "." + std::to_string(answer.index);
    const std::string bytes = read_file(file);
    Graph graph = read_capture(bytes, "capture of " + base.model);
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    if (cache_ && answer.cacheable) cache_->write(cache_->key(requests[index], "capture"), bytes);
    give_edited(index, graph, requests[index], give);
  });
}

OnnxInference onnx_inference() { return infer; }

}  // namespace opscope
