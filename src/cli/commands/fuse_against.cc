// The request to Python, its answer, and the comparison.
#include "cli/commands/fuse_against.h"

#include <simdjson.h>

#include <algorithm>
#include <array>

#include "analyse/profile/profile.h"
#include "app/models/models.h"
#include "app/worker/python_child.h"
#include "app/worker/signals.h"
#include "app/worker/temporary_folder.h"
#include "base/error.h"
#include "base/files.h"
#include "base/json_writer.h"
#include "base/text.h"
#include "cli/main/cli.h"
#include "readers/capture/capture_reader.h"
#include "report/fuse/comparison.h"

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

std::string request_json(const std::string& against, const CaptureRequest& request,
                         const std::string& folder) {
  std::string out;
  JsonWriter json(out);
  json.begin_object(JsonLayout::kInline);
  json.field("command", "inductor");
  request.write_fields(json);
  json.field("against", against);
  json.field("folder", folder);
  json.end_object();
  return out;
}

void check_request(const CaptureRequest& request) {
  if (request.tracer != "auto" && request.tracer != "dynamo")
    throw Error("Inductor takes Dynamo's graphs", "--tracer", "leave it out, or --tracer dynamo");
  CaptureRequest as_file = request;
  as_file.tracer = "auto";
  if (read_model(as_file))
    throw Error("Inductor needs the model, and this file has only its graph", request.model,
                "give the model itself");
}

// One graph is what people expect; several are compared each for itself.
std::string parts_note(const Graph& graph) {
  if (graph.parts.size() < 2) return "";
  return "Dynamo breaks it into " + std::to_string(graph.parts.size()) +
         " graphs: no kernel crosses a graph break";
}

}  // namespace

void check_against(const std::string& against) {
  if (std::ranges::find(kAgainst, against) != kAgainst.end()) return;
  const std::string near = did_you_mean(against, kAgainst);
  throw Error("nothing called '" + against + "' to compare with", "--against",
              near.empty() ? "inductor, or inductor-max with frozen weights and templates" : near);
}

int run_against(const std::string& against, const CaptureRequest& request, const PartitionOptions& partition,
                const TalkFlags& talk, const Output& output, TextOptions text) {
  check_against(against);
  check_request(request);
  const SignalsNoted signals;
  const TemporaryFolder folder;
  run_python(find_python(), request_json(against, request, folder.file("")), talk);
  const std::string where = against + " on " + request.model;
  const Graph graph = read_capture(read_file(folder.file("capture.json")), where);
  const OtherFusion other = parse_kernels(read_file(folder.file("kernels.json")), where);
  const std::vector<OpCost> costs = estimate(graph, Convention::kOpscope);
  const Partition ours = make_partition(graph, costs, partition);
  if (const std::string note = parts_note(graph); !note.empty()) text.notes.push_back(note);
  output.set_style(text);
  output.write(to_format(compare_fusion(graph, costs, ours, other), output.format(), text));
  return kExitDone;
}

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

}  // namespace opscope
