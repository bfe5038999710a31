// The graphs of opscope.Profiler for Python: rows as dicts, totals, and the text files.
#include "python/profiler.h"

#include <filesystem>

#include "analyse/times/profiler_graph.h"
#include "base/files.h"
#include "base/seconds.h"
#include "python/session.h"
#include "report/times/times.h"

namespace opscope::python {

namespace {

// A graph to show with everything that its names are views of.
struct OwnedProfilerGraph {
  std::shared_ptr<Graph> graph;
  Profile profile;
  ProfilerGraph shown;
};

std::shared_ptr<OwnedProfilerGraph> make(const std::shared_ptr<Graph>& graph, Granularity granularity) {
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

void add_tensor(py::dict& row, const Graph& graph, ValueId id) {
  row["shape"] = py::none();
  row["dtype"] = py::none();
  if (id == kNone) return;
  const auto shape = graph.shape(graph.values[id]);
  row["shape"] = py::tuple(py::cast(std::vector<std::int64_t>(shape.begin(), shape.end())));
  row["dtype"] = text(name(graph.values[id].dtype));
}

py::list nodes_of_graph(const OwnedProfilerGraph& self) {
  py::list rows;
  for (std::size_t id = 0; id < self.shown.nodes.size(); ++id) {
    const ProfilerNode& node = self.shown.nodes[id];
    py::dict row;
    row["id"] = id;
    row["name"] = text(node.name);
    row["type"] = text(node.type);
    row["is_module"] = node.is_module;
    row["parameters"] = node.parameters.total.value();
    row["parameter_bytes"] = node.parameters.bytes.value();
    row["ops"] = node.ops;
    row["time_seconds"] = seconds(node.time);
    row["call_seconds"] = seconds(node.call_time);
    add_tensor(row, *self.graph, node.output);
    rows.append(row);
  }
  return rows;
}

py::list edges_of(const OwnedProfilerGraph& self) {
  py::list rows;
  for (const ProfilerEdge& edge : self.shown.edges) {
    py::dict row;
    row["from_id"] = edge.from;
    row["to_id"] = edge.to;
    row["from_name"] = text(self.shown.nodes[edge.from].name);
    row["to_name"] = text(self.shown.nodes[edge.to].name);
    add_tensor(row, *self.graph, edge.value);
    rows.append(row);
  }
  return rows;
}

py::list ports_of(const OwnedProfilerGraph& self, const std::vector<ProfilerPort>& ports) {
  py::list rows;
  for (const ProfilerPort& port : ports) {
    py::dict row;
    row["name"] = text(port.name);
    row["nodes"] = port.nodes;
    add_tensor(row, *self.graph, port.value);
    rows.append(row);
  }
  return rows;
}

py::dict stats_of(const OwnedProfilerGraph& self) {
  const ProfilerStats stats = profiler_stats(self.shown);
  const auto if_measured = [&](Count time) {
    return seconds(self.shown.is_measured() ? std::optional(time) : std::nullopt);
  };
  py::dict row;
  row["nodes"] = stats.nodes;
  row["edges"] = stats.edges;
  row["ops"] = stats.ops;
  row["parameters"] = stats.parameters.total.value();
  row["parameter_bytes"] = stats.parameters.bytes.value();
  row["time_seconds"] = if_measured(stats.time);
  row["mean_time_seconds"] = if_measured(stats.mean_time);
  row["median_time_seconds"] = if_measured(stats.median_time);
  row["max_time_seconds"] = if_measured(stats.max_time);
  row["run_seconds"] = if_measured(stats.run_time);
  return row;
}

ProfilerTextOptions text_options(bool edges, bool stats, const std::string& tokens) {
  return {.include_edges = edges, .include_stats = stats, .tokens = tokens};
}

// Whether the file was written: one that is there stays where it is not to be overwritten.
bool write(const OwnedProfilerGraph& self, const std::string& path, bool edges, bool stats,
           const std::string& tokens, bool overwrite) {
  if (!overwrite && std::filesystem::exists(path)) return false;
  write_file(path, profiler_text(self.shown, text_options(edges, stats, tokens)));
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
      .def(
          "to_text",
          [](const OwnedProfilerGraph& self, bool edges, bool stats, const std::string& tokens) {
            return profiler_text(self.shown, text_options(edges, stats, tokens));
          },
          py::kw_only(), py::arg("include_edges") = true, py::arg("include_stats") = true,
          py::arg("tokens") = "")
      .def("write", write, py::arg("path"), py::kw_only(), py::arg("include_edges") = true,
           py::arg("include_stats") = true, py::arg("tokens") = "", py::arg("overwrite") = true);
  m.def("check_granularity", [](const std::string& words) { granularity_from_name(words); });
  m.def("profiler_graph", [](const std::shared_ptr<Graph>& graph, const std::string& granularity) {
    return make(graph, granularity_from_name(granularity));
  });
  m.def("profiler_detail_graph",
        [](const std::shared_ptr<Graph>& graph) { return make(graph, Granularity::kOp); });
}

}  // namespace opscope::python
