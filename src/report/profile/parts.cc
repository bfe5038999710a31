// The graphs that a tracer cut the model into, and what ran between them.
#include "base/text.h"
#include "report/core/document.h"

namespace opscope {
namespace {

std::vector<Cell> cells(std::string number, std::string name, std::string calls, std::string nodes,
                        const Metrics& metrics) {
  return {{std::move(number)},
          {std::move(name), Style::kQuiet},
          {std::move(calls)},
          {std::move(nodes)},
          {std::to_string(metrics.ops)},
          {format_count(metrics.work.macs, Zero::kDash)},
          {flops_text(metrics)},
          {format_bytes(metrics.memory_bytes(), Zero::kDash)}};
}

}  // namespace

// Dynamo's "torch_dynamo_resume_in_forward_at_14": what is left of a function after a break.
std::string function_text(std::string_view name) {
  constexpr std::string_view kPrefix = "torch_dynamo_resume_in_", kMark = "_at_";
  const auto mark = name.rfind(kMark);
  if (!name.starts_with(kPrefix) || mark == std::string_view::npos || mark < kPrefix.size())
    return std::string(name);
  return std::string(name.substr(kPrefix.size(), mark - kPrefix.size())) + ", from line " +
         std::string(name.substr(mark + kMark.size())) + " on";
}

Section parts_section(const Profile& profile) {
  const Graph& graph = *profile.graph;
  const std::string heading = plural(profile.parts.size(), "graph") + " of " + graph.capture.tracer;
  Section section{heading,
                  {{{heading, Align::kLeft},
                    {"Function", Align::kLeft, 12},
                    {"Calls"},
                    {"Nodes"},
                    {"Ops"},
                    {"MACs"},
                    {"FLOPs"},
                    {"Memory"}},
                   {}},
                  {}};
  for (const PartRow& row : profile.parts) {
    const Part& part = graph.parts[row.part];
    section.table.rows.push_back(cells(std::to_string(row.part + 1), function_text(part.name),
                                       std::to_string(part.calls), std::to_string(row.nodes), row.metrics));
  }
  if (profile.outside.ops > 0)
    section.table.rows.push_back(cells("outside the graphs", "", "", "", profile.outside));
  section.remarks.push_back("--graph-part N shows one of them on its own");
  return section;
}

}  // namespace opscope
