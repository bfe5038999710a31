// Reads the protocol's lines and the files that Python leaves. Lenient where a line is none of ours; strict
// on results.
#include "app/worker/protocol.h"

#include "analyse/fusion/comparison.h"
#include "base/text.h"
#include "readers/json/dom.h"

namespace opscope {
namespace {

ChildError error_in(const dom::Item& item) {
  return {item.text_or("what"), item.text_or("where"), item.text_or("hint"), item.text_or("traceback"),
          item.texts("candidates")};
}

// Nothing where there is no error; an error without words is one all the same.
ChildError error_at(const dom::Item& item) {
  const auto found = item.find("error");
  ChildError error = found ? error_in(*found) : ChildError();
  if (found && error.what.empty()) error.what = "it failed without a message";
  return error;
}

TraceFailure failure_at(const dom::Item& item) {
  const ChildError error = error_at(item);
  return {.reason = error.what, .where = error.where, .hint = error.hint, .detail = error.traceback};
}

// "1x128", or "" for an input that is no tensor.
std::string shape_at(const dom::Item& input) {
  const auto sizes = input.find("shape");
  if (!sizes) return "";
  std::vector<std::int64_t> shape;
  for (const dom::Item size : sizes->items()) shape.push_back(size.integer());
  return format_shape(shape);
}

std::vector<NodeId> nodes_at(const dom::Item& kernel, std::string_view key) {
  std::vector<NodeId> nodes;
  for (const dom::Item node : kernel.items(key)) nodes.push_back(static_cast<NodeId>(node.natural()));
  return nodes;
}

Answer answer_in(const dom::Item& line) {
  using enum Answer::Kind;
  if (const auto status = line.find("status"))
    return {.kind = kStatus, .status = std::string(status->text())};
  if (const auto part = line.find("progress"))
    return {.kind = kProgress,
            .progress = {part->text_or("doing"), part->natural_or("done"), part->natural_or("total")}};
  if (const auto part = line.find("finished"))
    return {.kind = kFinished,
            .error = error_at(*part),
            .index = part->natural_or("index"),
            .cacheable = part->boolean_or("cacheable")};
  if (const auto part = line.find("error")) return {.kind = kError, .error = error_in(*part)};
  if (const auto part = line.find("done")) return {.kind = kDone, .cacheable = part->boolean_or("cacheable")};
  return {};
}

// `what` the text should be is for the error.
template <class Read>
auto answer_from(std::string_view json, const std::string& where, const std::string& what, Read read) {
  const dom::Document document(json, {where}, what);
  try {
    return read(document.root());
  } catch (const Error& error) {
    throw Error("not " + what + ": " + error.what(), where);
  }
}

}  // namespace

Answer parse_answer(std::string_view line) {
  try {
    return answer_from(line, "", "an answer", answer_in);
  } catch (const Error&) {
    return {};
  }
}

TraceAnswer parse_trace_answer(std::string_view json, const std::string& where) {
  return answer_from(json, where, "an answer to trace", [](const dom::Item& document) {
    TraceAnswer answer;
    for (const dom::Item row : document.items("rows"))
      answer.rows.push_back(
          {row.text_or("tracer"), row.text_or("capture"), row.real_or("seconds"), failure_at(row)});
    for (const dom::Item file : document.items("files"))
      answer.files.push_back({file.text_or("path"), file.text_or("kind"), file.real_or("seconds"),
                              file.texts("notes"), failure_at(file)});
    return answer;
  });
}

ModelList parse_model_list(std::string_view json, const std::string& where) {
  return answer_from(json, where, "a list of models", [](const dom::Item& document) {
    ModelList list;
    for (const dom::Item model : document.items("models"))
      list.models.push_back(
          {std::string(model.text("name")), model.text_or("source"), model.text_or("family")});
    for (const dom::Item file : document.items("dependencies"))
      list.dependencies.push_back(
          {std::string(file.text("path")), file.at("bytes").natural(), file.at("modified_ns").integer()});
    return list;
  });
}

PlannedInputs parse_planned_inputs(std::string_view json, const std::string& where) {
  return answer_from(json, where, "a plan of inputs", [](const dom::Item& document) {
    PlannedInputs plan;
    for (const dom::Item input : document.items("inputs"))
      plan.inputs.push_back({input.text_or("name"), shape_at(input), input.text_or("dtype"),
                             input.text_or("value"), input.text_or("why")});
    plan.notes = document.texts("notes");
    return plan;
  });
}

OtherFusion parse_kernels(std::string_view json, const std::string& where) {
  return answer_from(json, where, "a list of kernels", [](const dom::Item& document) {
    const auto text = [](const dom::Item& item, std::string_view key) { return std::string(item.text(key)); };
    OtherFusion fusion;
    fusion.compiler = "Inductor";
    fusion.setting = text(document, "setting");
    fusion.version = text(document, "torch");
    fusion.frozen = document.at("frozen").boolean();
    for (const dom::Item kernel : document.items("kernels"))
      fusion.kernels.push_back({text(kernel, "name"), text(kernel, "target"),
                                kernel_kind_from_name(kernel.text("kind")), nodes_at(kernel, "nodes"),
                                nodes_at(kernel, "rest")});
    for (const dom::Item cut : document.items("cuts"))
      fusion.cuts.push_back({static_cast<Id>(cut.at("from").natural()),
                             static_cast<Id>(cut.at("to").natural()), text(cut, "reason")});
    return fusion;
  });
}

}  // namespace opscope
