// Parts count from 1 for people, from 0 in graphs.
#include "cli/flags/graph_part.h"

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/flags/flags.h"
#include "graph/part.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

constexpr const char* kFlag = "--graph-part";

[[noreturn]] void fail_no_part(const Graph& graph, std::int64_t number) {
  const std::size_t count = graph.parts.size();
  const std::string& tracer = graph.capture.tracer;
  if (count == 0)
    throw Error("there are no graphs to choose from: opscope's own capture is one graph", kFlag,
                "--tracer dynamo shows where PyTorch would split it");
  throw Error("no graph " + std::to_string(number) + ": " + tracer + " made " +
                  (count == 1 ? "1" : std::to_string(count)),
              kFlag, count == 1 ? "the model is one graph" : "choose 1 to " + std::to_string(count));
}

std::int64_t part_number(const std::string& part) { return parse_integer(kFlag, part, 1, "1"); }

}  // namespace

void check_graph_part(const std::string& part) {
  if (!part.empty()) part_number(part);
}

void add_graph_part_flag(CLI::App& app, std::string& part) {
  app.add_option(kFlag, part, "Only graph N of those that the tracer split the model into")->type_name("N");
}

Graph chosen_part(Graph graph, const std::string& part, std::vector<std::string>& notes) {
  if (part.empty()) return graph;
  const std::int64_t number = part_number(part);
  const std::size_t count = graph.parts.size();
  if (static_cast<std::size_t>(number) > count) fail_no_part(graph, number);
  notes.push_back("this is graph " + part + " of the " + std::to_string(count) + " that " +
                  graph.capture.tracer +
                  " made: " + function_text(graph.parts[static_cast<std::size_t>(number - 1)].name));
  return part_of(graph, static_cast<PartId>(number - 1));
}

}  // namespace opscope
