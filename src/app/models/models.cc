// Where graphs come from.
#include "app/models/models.h"

#include <filesystem>
#include <optional>

#include "app/models/onnx_inference.h"
#include "app/worker/question.h"
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

const char* capture_flag(const CaptureRequest& request) {
  return !request.input_shapes.empty() ? "--input-shape"
         : request.batch               ? "--batch"
         : request.seq_len             ? "--seq-len"
         : !request.image_size.empty() ? "--image-size"
         : !request.inputs.empty()     ? "--input"
         : !request.phase.empty()      ? "--phase"
         : request.past_len            ? "--past-len"
         : !request.task.empty()       ? "--task"
         : !request.limits.empty()     ? "--limit"
         : !request.dtype.empty()      ? "--dtype"
         : !request.device.empty()     ? "--device"
         : request.training            ? "--training"
         : request.tracer != "auto"    ? "--tracer"
                                       : nullptr;
}

void refuse_model_file_flags(const CaptureRequest& request) {
  const char* const flag = capture_flag(request);
  if (flag && flag == std::string_view("--tracer"))
    throw Error("an exported model is already a graph", flag, "give the model itself to trace it");
  if (flag && flag == std::string_view("--training"))
    throw Error("an exported model has the forward pass only", flag,
                "give the model itself to capture training");
  if (flag)
    throw Error("an exported model has its shapes in the file", flag,
                "give its dynamic dimensions with --dim NAME=N, or export it again");
}

const std::vector<Dependency>& files_of(const Graph& graph) { return graph.capture.dependencies; }
const std::vector<Dependency>& files_of(const PlannedInputs&) {
  static const std::vector<Dependency> none;
  return none;
}

template <typename Answer>
Question<Answer> question_about(const CaptureRequest& request, const char* command,
                                Answer (*read)(std::string_view, const std::string&), const char* answer) {
  return {
      .request_json = [&request, command](const std::string& out) { return request.to_json(command, out); },
      .read = read,
      .dependencies = files_of,
      .registry = request.registry,
      .answer = answer + request.model};
}

Question<Graph> capture_question(const CaptureRequest& request) {
  return question_about<Graph>(request, "capture", read_capture, "capture of ");
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
  const std::string near = did_you_mean(asked.filename().string(), beside);
  throw Error("no such file", path,
              near.empty() ? "`opscope capture MODEL -o FILE.json` makes a saved capture" : near);
}

}  // namespace

void refuse_capture_flags(const CaptureRequest& request) {
  const char* flag = !request.dims.empty() ? "--dim" : capture_flag(request);
  if (flag) throw Error("a saved capture cannot be changed", flag, "capture the model again with this flag");
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

Graph load_model(const CaptureRequest& request, const TalkFlags& talk) {
  if (auto graph = read_model(request)) return *std::move(graph);
  const Cache cache(request.use_cache, talk.debug || talk.verbose);
  return ask(cache, capture_question(request), talk);
}

std::optional<Graph> cached_model(const CaptureRequest& request, const Cache& cache,
                                  const std::string& python) {
  return cached_answer(cache, python, capture_question(request));
}

PlannedInputs plan_inputs(const CaptureRequest& request, const TalkFlags& talk) {
  if (const auto graph = read_model(request)) return inputs_in(*graph);
  const Cache no_cache(false, false);
  return ask(no_cache, question_about<PlannedInputs>(request, "inputs", parse_planned_inputs, "inputs of "),
             talk);
}

}  // namespace opscope
