// Reads the protocol's lines and the list of models. Lenient where a line is only progress; strict on
// results.
#include "app/worker/protocol.h"

#include <simdjson.h>

#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

using simdjson::dom::element;

std::string text_at(const element& object, const char* key) {
  std::string_view text;
  return object[key].get(text) ? std::string() : std::string(text);
}

// "1x128", or "" for an input that is no tensor.
std::string shape_at(const element& object) {
  simdjson::dom::array sizes;
  if (object["shape"].get(sizes)) return "";
  std::vector<std::int64_t> shape;
  for (const element size : sizes) shape.push_back(size);
  return format_shape(shape);
}

std::vector<std::string> texts_at(const element& object, const char* key) {
  std::vector<std::string> texts;
  simdjson::dom::array items;
  if (object[key].get(items)) return texts;
  for (const element item : items)
    if (std::string_view text; !item.get(text)) texts.emplace_back(text);
  return texts;
}

double seconds_at(const element& object) {
  double seconds = 0;
  return object["seconds"].get(seconds) ? 0 : seconds;
}

ChildError parse_error(const element& object) {
  return {text_at(object, "what"), text_at(object, "where"), text_at(object, "hint"),
          text_at(object, "traceback"), texts_at(object, "candidates")};
}

// Nothing where there is no error; an error without words is one all the same.
ChildError error_at(const element& object) {
  element found;
  if (object["error"].get(found) || found.is_null()) return {};
  ChildError error = parse_error(found);
  if (error.what.empty()) error.what = "it failed without a message";
  return error;
}

Progress parse_progress(const element& object) {
  Progress progress{text_at(object, "doing")};
  if (object["done"].get(progress.done)) progress.done = 0;
  if (object["total"].get(progress.total)) progress.total = 0;
  return progress;
}

Dependency parse_dependency(const element& object) {
  Dependency dependency;
  dependency.path = std::string(std::string_view(object["path"]));
  dependency.bytes = object["bytes"];
  dependency.modified_ns = object["modified_ns"];
  return dependency;
}

}  // namespace

Answer parse_answer(std::string_view line) {
  simdjson::dom::parser parser;
  Answer answer;
  element object, part;
  if (parser.parse(line.data(), line.size()).get(object)) return answer;
  if (std::string_view status; !object["status"].get(status)) {
    answer.kind = Answer::Kind::kStatus;
    answer.status = status;
  } else if (!object["progress"].get(part)) {
    answer.kind = Answer::Kind::kProgress;
    answer.progress = parse_progress(part);
  } else if (!object["finished"].get(part)) {
    answer.kind = Answer::Kind::kFinished;
    if (std::uint64_t index = 0; !part["index"].get(index)) answer.index = index;
    if (part["cacheable"].get(answer.cacheable)) answer.cacheable = false;
    if (element error; !part["error"].get(error)) answer.error = parse_error(error);
  } else if (!object["error"].get(part)) {
    answer.kind = Answer::Kind::kError;
    answer.error = parse_error(part);
  } else if (!object["done"].get(part)) {
    answer.kind = Answer::Kind::kDone;
    if (part["cacheable"].get(answer.cacheable)) answer.cacheable = false;
  }
  return answer;
}

TraceAnswer parse_trace_answer(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  TraceAnswer answer;
  try {
    const element document = parser.parse(json.data(), json.size());
    for (const element row : document["rows"].get_array())
      answer.rows.push_back(
          {text_at(row, "tracer"), text_at(row, "capture"), seconds_at(row), error_at(row)});
    for (const element file : document["files"].get_array())
      answer.files.push_back({text_at(file, "path"), text_at(file, "kind"), seconds_at(file),
                              texts_at(file, "notes"), error_at(file)});
  } catch (const simdjson::simdjson_error& error) {
    throw Error(std::string("not an answer to trace: ") + error.what(), where);
  }
  return answer;
}

ModelList parse_model_list(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  ModelList list;
  try {
    const element document = parser.parse(json.data(), json.size());
    for (const element model : document["models"].get_array())
      list.models.push_back(
          {std::string(std::string_view(model["name"])), text_at(model, "source"), text_at(model, "family")});
    for (const element file : document["dependencies"].get_array())
      list.dependencies.push_back(parse_dependency(file));
  } catch (const simdjson::simdjson_error& error) {
    throw Error(std::string("not a list of models: ") + error.what(), where);
  }
  return list;
}

PlannedInputs parse_planned_inputs(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  PlannedInputs plan;
  try {
    const element document = parser.parse(json.data(), json.size());
    for (const element input : document["inputs"].get_array())
      plan.inputs.push_back({text_at(input, "name"), shape_at(input), text_at(input, "dtype"),
                             text_at(input, "value"), text_at(input, "why")});
    for (const element note : document["notes"].get_array()) plan.notes.emplace_back(std::string_view(note));
  } catch (const simdjson::simdjson_error& error) {
    throw Error(std::string("not a plan of inputs: ") + error.what(), where);
  }
  return plan;
}

}  // namespace opscope
