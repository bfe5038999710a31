// Where graphs come from.
#include "app/models/models.h"

#include <filesystem>
#include <optional>

#include "app/models/onnx_inference.h"
#include "app/request/fields.h"
#include "app/worker/python_worker.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "readers/capture/capture_reader.h"
#include "readers/files/model_file.h"

namespace opscope {
namespace {

// A JSON file that a transformers model is described by, and no capture.
bool is_config(const std::string& path) {
  if (!path.ends_with(".json")) return false;
  return std::filesystem::path(path).filename() == "config.json" ||
         read_file(path).find("\"model_type\"") != std::string::npos;
}

// The first flag that asks for another capture than the one in a file; nullptr: none does.
const CaptureField* capture_flag(const CaptureRequest& request, bool dims_too) {
  for (const CaptureField& field : capture_fields())
    if (field.rules.changes_capture && (dims_too || field.key != "dims") && field.is_given(request))
      return &field;
  return nullptr;
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

const std::vector<Dependency>& files_of(const Graph& graph) { return graph.capture.dependencies; }

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
  const std::string near = did_you_mean(asked.filename().string(), beside);
  throw Error("no such file", path,
              near.empty() ? "`opscope capture MODEL -o FILE.json` makes a saved capture" : near);
}

}  // namespace

void refuse_capture_flags(const CaptureRequest& request) {
  if (const CaptureField* const field = capture_flag(request, true))
    throw Error("a saved capture cannot be changed", std::string(field->flag),
                "capture the model again with this flag");
}

FileKind model_file_kind(const std::string& model) {
  const FileKind kind = classify_file(model);
  const bool meant = kind == FileKind::kOther && model.ends_with(".json") && !is_config(model);
  return meant ? FileKind::kCapture : kind;
}

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

std::string capture_key(const std::string& python, const CaptureRequest& request) {
  return Cache::key(python, to_json(request, "capture"), request.registry);
}

std::optional<Graph> cached_model(const CaptureRequest& request, const Cache& cache,
                                  const std::string& python) {
  return cached_answer<Graph>(cache, capture_key(python, request), read_capture, files_of);
}

Graph load_model(const CaptureRequest& request, Listener& listener) {
  if (auto graph = read_model(request)) return *std::move(graph);
  const Cache cache(request.use_cache, listener);
  const std::string python = find_python();
  if (auto graph = cached_model(request, cache, python)) return *std::move(graph);
  PythonWorker worker(listener, python);
  const std::string output = worker.file("capture.json");
  const bool cacheable =
      worker.run(to_json(request, "capture", [&](JsonWriter& json) { json.field("output", output); }));
  const std::string bytes = read_file(output);
  Graph graph = read_capture(bytes, "capture of " + request.model);
  if (cacheable) cache.write(capture_key(python, request), bytes);
  return graph;
}

PlannedInputs plan_inputs(const CaptureRequest& request, Listener& listener) {
  if (const auto graph = read_model(request)) return inputs_in(*graph);
  PythonWorker worker(listener);
  const std::string output = worker.file("inputs.json");
  worker.run(to_json(request, "inputs", [&](JsonWriter& json) { json.field("output", output); }));
  return parse_planned_inputs(read_file(output), "inputs of " + request.model);
}

}  // namespace opscope
