// Requests as the JSON that `python -m opscope.capture` takes.
#include "cli/request.h"

#include "base/json_writer.h"

namespace opscope {
namespace {

void text_or_null(JsonWriter& json, std::string_view key, const std::string& text) {
  if (!text.empty()) return json.field(key, text);
  json.key(key);
  json.null();
}

}  // namespace

std::string CaptureRequest::to_json(const std::string& output) const {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("command", "capture");
  text_or_null(json, "model", model);
  json.key("input_shape");
  if (input_shapes.empty()) {
    json.null();
  } else {
    json.begin_array(JsonLayout::kInline);
    for (const auto& shape : input_shapes) json.list(shape);
    json.end_array();
  }
  json.key("batch");
  batch ? json.value(*batch) : json.null();
  text_or_null(json, "dtype", dtype);
  text_or_null(json, "device", device);
  json.field("tracer", tracer);
  text_or_null(json, "registry", registry);
  json.field("source_lines", source_lines);
  if (!output.empty()) json.field("output", output);
  json.end_object();
  return out;
}

std::string list_request_json(const std::string& registry, const std::string& output) {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("command", "list");
  text_or_null(json, "pattern", "");
  text_or_null(json, "registry", registry);
  if (!output.empty()) json.field("output", output);
  json.end_object();
  return out;
}

}  // namespace opscope
