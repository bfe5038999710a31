// The request to Python and its answer.
#include "app/models/inductor.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "app/models/models.h"
#include "app/worker/python_worker.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "readers/capture/capture_reader.h"

namespace opscope {
namespace {

using simdjson::dom::element;

constexpr std::array<std::string_view, 2> kAgainst{"inductor", "inductor-max"};

std::string text_of(element object, const char* key) { return std::string(std::string_view(object[key])); }

std::vector<NodeId> nodes_of(element object, const char* key) {
  std::vector<NodeId> nodes;
  for (const element node : object[key].get_array())
    nodes.push_back(static_cast<NodeId>(std::uint64_t(node)));
  return nodes;
}

OtherKernel kernel_from(element object) {
  return {text_of(object, "name"), text_of(object, "target"), kernel_kind_from_name(text_of(object, "kind")),
          nodes_of(object, "nodes"), nodes_of(object, "rest")};
}

OtherCut cut_from(element object) {
  return {static_cast<Id>(std::uint64_t(object["from"])), static_cast<Id>(std::uint64_t(object["to"])),
          text_of(object, "reason")};
}

// Throws Error for what is not such an answer.
OtherFusion parse_kernels(std::string_view json, const std::string& where) {
  simdjson::dom::parser parser;
  OtherFusion fusion;
  try {
    const element document = parser.parse(json.data(), json.size());
    fusion.compiler = "Inductor";
    fusion.setting = text_of(document, "setting");
    fusion.version = text_of(document, "torch");
    fusion.frozen = bool(document["frozen"]);
    for (const element kernel : document["kernels"].get_array())
      fusion.kernels.push_back(kernel_from(kernel));
    for (const element cut : document["cuts"].get_array()) fusion.cuts.push_back(cut_from(cut));
  } catch (const simdjson::simdjson_error& error) {
    throw Error(std::string("not a list of kernels: ") + error.what(), where);
  }
  return fusion;
}

void check(const InductorRequest& request) {
  if (std::ranges::find(kAgainst, request.against) == kAgainst.end()) {
    const std::string near = did_you_mean(request.against, kAgainst);
    throw Error("nothing called '" + request.against + "' to compare with", "--against",
                near.empty() ? "inductor, or inductor-max with frozen weights and templates" : near);
  }
  CaptureRequest as_file = request.model;
  if (as_file.tracer != "auto" && as_file.tracer != "dynamo")
    throw Error("Inductor takes Dynamo's graphs", "--tracer", "leave it out, or --tracer dynamo");
  as_file.tracer = "auto";
  if (read_model(as_file))
    throw Error("Inductor needs the model, and this file has only its graph", as_file.model,
                "give the model itself");
}

}  // namespace

InductorAnswer compare_with_inductor(const InductorRequest& request, Listener& listener) {
  check(request);
  PythonWorker worker(listener);
  worker.run(to_json(request.model, "inductor", [&](JsonWriter& json) {
    json.field("against", request.against);
    json.field("folder", worker.file(""));
  }));
  const std::string where = request.against + " on " + request.model.model;
  InductorAnswer answer;
  answer.graph = read_capture(read_file(worker.file("capture.json")), where);
  answer.other = parse_kernels(read_file(worker.file("kernels.json")), where);
  answer.costs = estimate(answer.graph, Convention::kOpscope);
  answer.ours = make_partition(answer.graph, answer.costs, request.partition);
  // One graph is what people expect; several are compared each for itself.
  if (const std::size_t parts = answer.graph.parts.size(); parts > 1)
    answer.notes.push_back("Dynamo breaks it into " + std::to_string(parts) +
                           " graphs: no kernel crosses a graph break");
  return answer;
}

}  // namespace opscope
