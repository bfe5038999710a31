// Where graphs come from.
#include "cli/models.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "cli/question.h"
#include "readers/capture_reader.h"
#include "readers/model_file.h"

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
         : request.tracer != "auto"    ? "--tracer"
                                       : nullptr;
}

void refuse_capture_flags(const CaptureRequest& request) {
  const char* flag = !request.dims.empty() ? "--dim" : capture_flag(request);
  if (flag) throw Error("a saved capture cannot be changed", flag, "capture the model again with this flag");
}

void refuse_model_file_flags(const CaptureRequest& request) {
  if (const char* flag = capture_flag(request))
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
  return {.request_json = [&request, command](const std::string& out) { return request.to_json(command, out); },
          .read = read,
          .dependencies = files_of,
          .registry = request.registry,
          .answer = answer + request.model};
}

Question<Graph> capture_question(const CaptureRequest& request) {
  return question_about<Graph>(request, "capture", read_capture, "capture of ");
}

}  // namespace

Graph load_model(const CaptureRequest& request, const TalkFlags& talk) {
  if (const auto bytes = capture_file(request.model)) {
    refuse_capture_flags(request);
    return read_capture(*bytes, request.model);
  }
  if (const auto kind = classify_file(request.model); kind == FileKind::kPt2 || kind == FileKind::kOnnx) {
    refuse_model_file_flags(request);
    return read_model_file(request.model, request.dims);
  }
  const Cache cache(request.use_cache, talk.debug || talk.verbose);
  return ask(cache, capture_question(request), talk);
}

std::optional<Graph> cached_model(const CaptureRequest& request, const Cache& cache, const std::string& python) {
  return cached_answer(cache, python, capture_question(request));
}

PlannedInputs plan_inputs(const CaptureRequest& request, const TalkFlags& talk) {
  const Cache no_cache(false, false);
  return ask(no_cache, question_about<PlannedInputs>(request, "inputs", parse_planned_inputs, "inputs of "), talk);
}

}  // namespace opscope
