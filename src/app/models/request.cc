// Requests as the JSON that `python -m opscope.capture` takes.
#include "app/models/request.h"

#include "base/json_writer.h"

namespace opscope {
namespace {

void text_or_null(JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) return json.field(key, text);
  json.key(key);
  json.null();
}

template <typename Number>
void number_or_null(JsonWriter& json, std::string_view key, const std::optional<Number>& number) {
  json.key(key);
  number ? json.value(*number) : json.null();
}

void write_shapes(JsonWriter& json, const CaptureRequest& request) {
  json.key("input_shape");
  if (request.input_shapes.empty()) return json.null();
  json.begin_array(JsonLayout::kInline);
  for (const auto& shape : request.input_shapes) json.list(shape);
  json.end_array();
}

void write_image_size(JsonWriter& json, const CaptureRequest& request) {
  json.key("image_size");
  request.image_size.empty() ? json.null() : json.list(request.image_size);
}

void write_inputs(JsonWriter& json, const CaptureRequest& request) {
  json.key("inputs");
  json.begin_object(JsonLayout::kInline);
  for (const NamedInput& input : request.inputs) {
    json.key(input.name);
    json.begin_object(JsonLayout::kInline);
    json.key("shape");
    json.list(input.shape);
    text_or_null(json, "dtype", input.dtype);
    json.end_object();
  }
  json.end_object();
}

void write_sizes(JsonWriter& json, std::string_view key, const CaptureRequest::Sizes& sizes) {
  json.key(key);
  json.begin_object(JsonLayout::kInline);
  for (const auto& [name, size] : sizes) json.field(name, size);
  json.end_object();
}

}  // namespace

void CaptureRequest::write_fields(JsonWriter& json) const {
  text_or_null(json, "model", model);
  write_shapes(json, *this);
  number_or_null(json, "batch", batch);
  number_or_null(json, "seq_len", seq_len);
  write_image_size(json, *this);
  write_inputs(json, *this);
  text_or_null(json, "phase", phase);
  number_or_null(json, "past_len", past_len);
  text_or_null(json, "task", task);
  write_sizes(json, "limits", limits);
  text_or_null(json, "dtype", dtype);
  text_or_null(json, "device", device);
  json.field("tracer", tracer);
  text_or_null(json, "registry", registry);
  json.field("trust", trust);
  json.field("download", download);
  json.field("source_lines", source_lines);
  json.field("training", training);
  text_or_null(json, "optimizer", optimizer);
}

std::string CaptureRequest::to_json(std::string_view command, const std::string& output) const {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("command", command);
  write_fields(json);
  if (!output.empty()) json.field("output", output);
  json.end_object();
  return out;
}

std::string trace_request_json(const CaptureRequest& capture, const TraceRequest& trace) {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("command", "trace");
  capture.write_fields(json);
  json.list("tracers", trace.tracers);
  json.field("folder", trace.folder);
  text_or_null(json, "save_graph", trace.save_graph);
  json.field("weights", trace.weights);
  json.list("exports", trace.exports);
  json.field("strict_static", trace.strict_static);
  json.end_object();
  return out;
}

std::string measure_request_json(const CaptureRequest& capture, const MeasureRequest& measure,
                                 const std::string& output) {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("command", "measure");
  capture.write_fields(json);
  text_or_null(json, "on", measure.on);
  number_or_null(json, "warmup", measure.warmup);
  number_or_null(json, "runs", measure.runs);
  number_or_null(json, "min_time", measure.min_time);
  json.field("repeat_ops", measure.repeat_ops);
  json.field("keep_times", capture.use_cache);
  if (!output.empty()) json.field("output", output);
  json.end_object();
  return out;
}

std::string list_request_json(const std::string& registry, const std::string& output) {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("command", "list");
  text_or_null(json, "registry", registry);
  if (!output.empty()) json.field("output", output);
  json.end_object();
  return out;
}

std::string many_request_json(const std::vector<std::string>& models, const CaptureRequest& each,
                              const std::string& folder) {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("command", "capture_many");
  each.write_fields(json);
  json.list("models", models);
  json.field("folder", folder);
  json.end_object();
  return out;
}

}  // namespace opscope
