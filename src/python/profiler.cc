// The graphs of opscope.Profiler for Python: rows as dicts, totals, and the text files.
#include <filesystem>

#include "analyse/times/profiler_graph.h"
#include "base/files.h"
#include "base/text.h"
#include "python/bindings.h"
#include "report/times/times.h"

namespace opscope::python {
namespace {

using namespace py::literals;

// A graph to show with everything that its names are views of.
struct OwnedProfilerGraph {
  std::shared_ptr<Graph> graph;
  Profile profile;
  ProfilerGraph shown;
};

std::shared_ptr<OwnedProfilerGraph> make(const std::shared_ptr<Graph>& graph, Level granularity) {
  auto owned = std::make_shared<OwnedProfilerGraph>();
  owned->graph = graph;
  owned->profile = make_profile(*graph);
  owned->shown = make_profiler_graph(owned->profile, granularity);
  return owned;
}

py::object seconds(const std::optional<Count>& picoseconds) {
  if (!picoseconds) return py::none();
  return py::float_(static_cast<double>(*picoseconds) * kPicosecond);
}

py::str text(std::string_view words) { return py::str(words.data(), words.size()); }

// The row with the tensor's shape and dtype; None where there is none.
py::dict with_tensor(py::dict row, const Graph& graph, ValueId id) {
  row["shape"] = py::none();
  row["dtype"] = py::none();
  if (id == kNone) return row;
  const auto shape = graph.shape(graph.values[id]);
  row["shape"] = py::tuple(py::cast(std::vector<std::int64_t>(shape.begin(), shape.end())));
  row["dtype"] = text(name(graph.values[id].dtype));
  return row;
}

py::list nodes_of_graph(const OwnedProfilerGraph& self) {
  py::list rows;
  for (std::size_t id = 0; id < self.shown.nodes.size(); ++id) {
    const ProfilerNode& node = self.shown.nodes[id];
    const py::dict row("id"_a = id, "name"_a = text(node.name), "type"_a = text(node.type),
                       "is_module"_a = node.is_module, "parameters"_a = node.parameters.total.value(),
                       "parameter_bytes"_a = node.parameters.bytes.value(), "ops"_a = node.ops,
                       "time_seconds"_a = seconds(node.time), "call_seconds"_a = seconds(node.call_time));
    rows.append(with_tensor(row, *self.graph, node.output));
  }
  return rows;
}

py::list edges_of(const OwnedProfilerGraph& self) {
  py::list rows;
  const auto& nodes = self.shown.nodes;
  for (const ProfilerEdge& edge : self.shown.edges) {
    const py::dict row("from_id"_a = edge.from, "to_id"_a = edge.to,
                       "from_name"_a = text(nodes[edge.from].name), "to_name"_a = text(nodes[edge.to].name));
    rows.append(with_tensor(row, *self.graph, edge.value));
  }
  return rows;
}

py::list ports_of(const OwnedProfilerGraph& self, const std::vector<ProfilerPort>& ports) {
  py::list rows;
  for (const ProfilerPort& port : ports)
    rows.append(
        with_tensor(py::dict("name"_a = text(port.name), "nodes"_a = port.nodes), *self.graph, port.value));
  return rows;
}

py::dict stats_of(const OwnedProfilerGraph& self) {
  const ProfilerStats stats = profiler_stats(self.shown);
  const auto if_measured = [&](Count time) {
    return seconds(self.shown.is_measured() ? std::optional(time) : std::nullopt);
  };
  return py::dict(
      "nodes"_a = stats.nodes, "edges"_a = stats.edges, "ops"_a = stats.ops,
      "parameters"_a = stats.parameters.total.value(), "parameter_bytes"_a = stats.parameters.bytes.value(),
      "time_seconds"_a = if_measured(stats.time), "mean_time_seconds"_a = if_measured(stats.mean_time),
      "median_time_seconds"_a = if_measured(stats.median_time),
      "max_time_seconds"_a = if_measured(stats.max_time), "run_seconds"_a = if_measured(stats.run_time));
}

std::string text_of(const OwnedProfilerGraph& self, bool edges, bool stats, const std::string& tokens) {
  return profiler_text(self.shown, {.include_edges = edges, .include_stats = stats, .tokens = tokens});
}

// Whether the file was written: one that is there stays where it is not to be overwritten.
bool write(const OwnedProfilerGraph& self, const std::string& path, bool edges, bool stats,
           const std::string& tokens, bool overwrite) {
  if (!overwrite && std::filesystem::exists(path)) return false;
  write_file(path, text_of(self, edges, stats, tokens));
  return true;
}

}  // namespace

void bind_profiler(py::module_& m) {
  py::class_<OwnedProfilerGraph, std::shared_ptr<OwnedProfilerGraph>>(m, "ProfilerGraph")
      .def_property_readonly("captured", [](const OwnedProfilerGraph& self) { return self.graph; })
      .def_property_readonly(
          "granularity", [](const OwnedProfilerGraph& self) { return text(name(self.shown.granularity)); })
      .def_property_readonly("nodes", nodes_of_graph)
      .def_property_readonly("edges", edges_of)
      .def_property_readonly("inputs",
                             [](const OwnedProfilerGraph& self) { return ports_of(self, self.shown.inputs); })
      .def_property_readonly(
          "outputs", [](const OwnedProfilerGraph& self) { return ports_of(self, self.shown.outputs); })
      .def("stats", stats_of)
      .def("stats_text", [](const OwnedProfilerGraph& self) { return profiler_stats_text(self.shown); })
      .def("to_text", text_of, py::kw_only(), py::arg("include_edges") = true,
           py::arg("include_stats") = true, py::arg("tokens") = "")
      .def("write", write, py::arg("path"), py::kw_only(), py::arg("include_edges") = true,
           py::arg("include_stats") = true, py::arg("tokens") = "", py::arg("overwrite") = true);
  m.def("check_granularity", [](const std::string& words) { granularity_from_name(words); });
  m.def("profiler_graph", [](const std::shared_ptr<Graph>& graph, const std::string& granularity) {
    return make(graph, granularity_from_name(granularity));
  });
  m.def("profiler_detail_graph", [](const std::shared_ptr<Graph>& graph) { return make(graph, Level::kOp); });
}

}  // namespace opscope::python
