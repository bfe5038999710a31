// Graphs and profiles for Python.
#include <algorithm>

#include "analyse/profile/profile.h"
#include "base/error.h"
#include "base/files.h"
#include "cost/cost.h"
#include "cost/liveness.h"
#include "graph/either_way.h"
#include "python/bindings.h"
#include "python/kv_cache.h"
#include "python/objects.h"
#include "report/core/document.h"
#include "report/draw/draw.h"
#include "report/fuse/report.h"
#include "report/profile/sections.h"
#include "report/times/times.h"
#ifdef OPSCOPE_READERS
#include "readers/capture/capture_reader.h"
#endif

namespace opscope::python {
namespace {

// A profile, the graph it speaks about, and the arguments that it was made with.
struct OwnedProfile {
  std::shared_ptr<Graph> graph;
  Profile profile;
  py::dict costs;
};

std::shared_ptr<OwnedProfile> profile_of(const std::shared_ptr<Graph>& graph, const py::kwargs& costs) {
  auto owned = std::make_shared<OwnedProfile>();
  owned->graph = graph;
  owned->profile = make_profile(*graph, profile_options(costs));
  owned->costs = costs;
  return owned;
}

// For pickle and copy: a graph is the text of its file, a profile is made of its graph again.
py::bytes pickled(const Graph& graph) { return py::bytes(write_json(graph)); }

std::shared_ptr<Graph> unpickled(const py::bytes& text) {
#ifdef OPSCOPE_READERS
  return std::make_shared<Graph>(read_capture(std::string_view(text), "a pickled capture"));
#else
  static_cast<void>(text);
  throw Error("this build of opscope cannot read captures", "a pickled capture",
              "rebuild it with OPSCOPE_CLI=ON");
#endif
}

// ((shape), dtype) of a value.
py::object shape_and_dtype(const Graph& graph, ValueId id) {
  if (id == kNone) return py::none();
  const auto& value = graph.values[id];
  const auto shape = graph.shape(value);
  return py::make_tuple(py::tuple(py::cast(std::vector<std::int64_t>(shape.begin(), shape.end()))),
                        std::string(name(value.dtype)));
}

py::list shapes_and_dtypes(const Graph& graph, std::span<const ValueId> ids) {
  py::list items;
  for (const auto id : ids) items.append(shape_and_dtype(graph, id));
  return items;
}

py::object to_python(const Graph& graph, const Argument& argument) {
  const auto listed = [](auto items) { return py::cast(std::vector(items.begin(), items.end())); };
  switch (argument.kind) {
    case ArgumentKind::kNone:
      return py::none();
    case ArgumentKind::kTensor:
      return shape_and_dtype(graph, static_cast<ValueId>(argument.integer));
    case ArgumentKind::kTensorList:
      return shapes_and_dtypes(graph, graph.values_in(argument));
    case ArgumentKind::kInt:
      return py::int_(argument.integer);
    case ArgumentKind::kBool:
      return py::bool_(argument.integer != 0);
    case ArgumentKind::kFloat:
      return py::float_(argument.real);
    case ArgumentKind::kString:
      return py::str(std::string(graph.text(static_cast<StringId>(argument.integer))));
    case ArgumentKind::kDType:
      return py::str(std::string(name(static_cast<DType>(argument.integer))));
    case ArgumentKind::kIntList:
    case ArgumentKind::kBoolList:
      return listed(graph.ints_in(argument));
    case ArgumentKind::kFloatList:
      return listed(graph.reals_in(argument));
  }
  return py::none();
}

// (op index, op, arguments by name, outputs) of every call of these ops, for the formulas that users declare.
py::list calls_of(const Graph& graph, const std::vector<std::string>& op_names) {
  py::list calls;
  const auto asked = [&](StringId name) {
    return std::ranges::find(op_names, graph.text(name)) != op_names.end();
  };
  if (std::ranges::none_of(graph.targets, asked, &Target::name)) return calls;
  for (OpId id = 0; id < graph.ops.size(); ++id) {
    const auto& op = graph.ops[id];
    const auto name = graph.op_name(op);
    if (std::ranges::find(op_names, name) == op_names.end()) continue;
    py::dict arguments;
    for (const auto& argument : graph.arguments_of(op))
      arguments[py::str(std::string(graph.text(argument.name)))] = to_python(graph, argument);
    calls.append(
        py::make_tuple(id, std::string(name), arguments, shapes_and_dtypes(graph, graph.outputs_of(op))));
  }
  return calls;
}

// (name, calls) of each.
py::list parts_of(const Graph& graph) {
  py::list rows;
  for (const auto& part : graph.parts) rows.append(py::make_tuple(part.name, part.calls));
  return rows;
}

// (index, name, bytes in use after it) of each node.
py::list node_memory(const Graph& graph) {
  py::list rows;
  const auto bytes = node_timeline(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id)
    rows.append(py::make_tuple(id, std::string(graph.text(graph.nodes[id].name)), bytes[id].value()));
  return rows;
}

// Keys are the fields' names; clocks_mhz is a dict.
void set_environment(Graph& graph, const py::dict& fields) {
  auto& made = graph.measurement.environment;
  const std::pair<const char*, std::string*> texts[] = {
      {"device", &made.device}, {"device_name", &made.device_name},
      {"host", &made.host},     {"system", &made.system},
      {"torch", &made.torch},   {"runtime", &made.runtime},
      {"driver", &made.driver}, {"precision", &made.precision},
      {"dtype", &made.dtype}};
  for (const auto& [key, field] : texts)
    if (fields.contains(key)) *field = py::cast<std::string>(fields[key]);
  if (fields.contains("threads")) made.threads = py::cast<std::uint32_t>(fields["threads"]);
  if (fields.contains("memory_bytes")) made.memory_bytes = py::cast<std::uint64_t>(fields["memory_bytes"]);
  if (!fields.contains("clocks_mhz")) return;
  for (const auto& [name_of, mhz] : py::cast<py::dict>(fields["clocks_mhz"]))
    made.clocks_mhz.emplace_back(py::cast<std::string>(name_of), py::cast<double>(mhz));
}

// The picture in a file, in the format of its extension; the line that says so.
std::string draw_to(const OwnedProfile& self, const std::string& path, const std::string& level,
                    const std::string& color, std::optional<std::uint32_t> depth, const std::string& focus,
                    std::size_t max_boxes, bool fold) {
  const PictureFormat format = picture_format_from_extension(path);
  const DrawOptions options{
      .level = level_from_name(level),
      .collapse = {.depth = depth.value_or(kNone), .max_boxes = max_boxes, .fold = fold, .focus = focus},
      .color = color_by_from_name(color)};
  check_writable(path);
  const Picture picture = draw(self.profile, format, options);
  write_file(path, picture.bytes);
  return picture_line(path, format, picture);
}

// For a person: what was measured where it was, else what it costs.
std::string report_of(const OwnedProfile& self, Format format, const TextOptions& options) {
  if (self.graph->measurement.empty() || options.sections_000)
    return to_format(self.profile, format, options);
  return measure_report(self.profile, format, options);
}

// The value of one part of the profile's JSON; None where it has no such part.
py::object part_of_profile(const OwnedProfile& self, const std::string& part) {
  return dict_of([&](auto& fields) { write_profile_part(fields, self.profile, part); }).attr("get")(part);
}

// A number of the totals, and nothing that only the others need.
py::object total_of_profile(const OwnedProfile& self, const std::string& name) {
  FieldReader field(name);
  write_profile_part(field, self.profile, "totals");
  py::object found = field.take();
  if (!found) throw py::key_error(name);
  return found;
}

std::pair<Count, Count> total_weight(const Graph& graph) {
  std::pair<Count, Count> total;
  for (const OpCost& cost : estimate(graph, Convention::kOpscope)) {
    total.first += cost.flops;
    total.second += cost.traffic.total();
  }
  return total;
}

}  // namespace

void bind_graph(py::module_& m) {
  py::class_<Rung>(m, "Rung")
      .def(py::init<std::string, std::string, std::string, std::string, std::string, double>(),
           py::arg("tracer"), py::arg("outcome"), py::arg("reason") = "", py::arg("hint") = "",
           py::arg("detail") = "", py::arg("seconds") = 0.0)
      .def_readonly("tracer", &Rung::tracer)
      .def_readonly("outcome", &Rung::outcome)
      .def_readonly("reason", &Rung::reason)
      .def_readonly("hint", &Rung::hint)
      .def_readonly("detail", &Rung::detail)
      .def_readonly("seconds", &Rung::seconds);
  py::class_<Graph, std::shared_ptr<Graph>>(m, "Graph")
      .def("__len__", [](const Graph& graph) { return graph.ops.size(); })
      .def("to_json", [](const Graph& graph) { return write_json(graph); })
      .def("save",
           [](const Graph& graph, const std::string& path) {
             write_file(path, [&](const TextSink& sink) { write_json(graph, sink); });
           })
      .def(
          "set_info",
          [](Graph& graph, const std::string& model, const std::string& source, const std::string& torch,
             double seconds) {
            graph.capture.model = model;
            graph.capture.source = source;
            graph.capture.torch = torch;
            graph.capture.seconds = seconds;
          },
          py::arg("model"), py::arg("source"), py::arg("torch"), py::arg("seconds"))
      .def(
          "set_facts",
          [](Graph& graph, std::uint64_t positions, const std::string& published_dtype) {
            graph.capture.facts = {positions, published_dtype};
          },
          py::kw_only(), py::arg("positions"), py::arg("published_dtype"))
      .def("add_dependency",
           [](Graph& graph, const std::string& path) {
             const auto stamp = file_stamp(path);
             if (!stamp) throw Error("cannot look at a file that the capture depends on", path);
             graph.capture.dependencies.push_back({path, stamp->bytes, stamp->modified_ns});
           })
      .def("add_diagnostic",
           [](Graph& graph, const std::string& kind, const std::string& op, const std::string& module,
              const std::string& message) {
             graph.diagnostics.push_back({kind, op, module, message});
           })
      .def("set_published",
           [](Graph& graph, const std::string& method, const std::string& scheme,
              const std::vector<std::string>& only, const std::vector<std::string>& without) {
             graph.capture.published = {.method = method, .scheme = scheme, .only = only, .without = without};
           })
      // A part of a training step that stands for several that are alike.
      .def("repeat_phase",
           [](Graph& graph, const std::string& name, std::uint64_t times) {
             for (std::size_t i = 0; i < graph.phases.size(); ++i) {
               if (graph.phases[i].name != name) continue;
               for (OpId op = graph.phases[i].begin; op < phase_end(graph, i); ++op)
                 graph.ops[op].repeats = times;
             }
           })
      .def("set_kv_cache", [](Graph& graph, const py::dict& told) { graph.kv_cache = kv_cache_of(told); })
      .def("calls_of", calls_of)
      .def("costs_more_than",
           [](const Graph& graph, const Graph& other) { return total_weight(graph) > total_weight(other); })
      .def("bound_by", bound_by)
      // What runs from this op on depends on a condition that was assumed.
      .def("assume_from",
           [](Graph& graph, OpId first) {
             for (OpId op = first; op < graph.ops.size(); ++op) graph.ops[op].estimated = true;
           })
      .def("declare_cost",
           [](Graph& graph, OpId op, std::optional<std::uint64_t> macs, std::optional<std::uint64_t> flops,
              std::optional<std::uint64_t> bytes, const std::string& source) {
             graph.declared.push_back({op, macs, flops, bytes, source});
           })
      .def_property(
          "tracer", [](const Graph& graph) { return graph.capture.tracer; },
          [](Graph& graph, const std::string& tracer) { graph.capture.tracer = tracer; })
      .def_property(
          "seconds", [](const Graph& graph) { return graph.capture.seconds; },
          [](Graph& graph, double seconds) { graph.capture.seconds = seconds; })
      .def_property_readonly("rungs", [](const Graph& graph) { return graph.capture.rungs; })
      .def_property_readonly("parts", parts_of)
      .def("part",
           [](const Graph& graph, PartId part) { return std::make_shared<Graph>(part_of(graph, part)); })
      .def("memory_timeline", node_memory)
      .def_property_readonly("measured", [](const Graph& graph) { return !graph.measurement.empty(); })
      .def("set_environment", set_environment)
      .def("set_memory",
           [](Graph& graph, std::uint64_t growth, std::uint64_t base) {
             graph.measurement.peak_memory_bytes = base + growth;
             graph.measurement.base_memory_bytes = base;
           })
      .def("add_rung", [](Graph& graph, Rung rung) { graph.capture.rungs.push_back(std::move(rung)); })
      .def("profile", profile_of)
      .def(py::pickle(&pickled, &unpickled));
}

void bind_profile(py::module_& m) {
  py::class_<OwnedProfile, std::shared_ptr<OwnedProfile>>(m, "Profile")
      .def(py::pickle([](const OwnedProfile& self) { return py::make_tuple(self.graph, self.costs); },
                      [](const py::tuple& state) {
                        return profile_of(py::cast<std::shared_ptr<Graph>>(state[0]),
                                          py::kwargs(py::dict(state[1])));
                      }))
      .def("part", part_of_profile)
      .def("total", total_of_profile)
      // {name: array of numbers or list} of a part that is rows.
      .def("columns",
           [](const OwnedProfile& self, const std::string& part) {
             ColumnWriter columns;
             write_profile_part(columns, self.profile, part);
             return columns.take();
           })
      .def("to_dict",
           [](const OwnedProfile& self) {
             ObjectWriter objects;
             write_profile(objects, self.profile);
             return objects.take();
           })
      .def_property_readonly("model", [](const OwnedProfile& self) { return model_name(*self.graph); })
      .def("to_json", [](const OwnedProfile& self) { return to_json(self.profile); })
      .def("to_csv", [](const OwnedProfile& self) { return to_format(self.profile, Format::kCsv); })
      .def("to_markdown", [](const OwnedProfile& self) { return report_of(self, Format::kMarkdown, {}); })
      .def("to_html", [](const OwnedProfile& self) { return report_of(self, Format::kHtml, {}); })
      .def_property_readonly("graph", [](const OwnedProfile& self) { return self.graph; })
      .def("chrome_trace", [](const OwnedProfile& self) { return chrome_trace(self.profile); })
      .def("fuse_json", [](const OwnedProfile& self) { return fuse_report(self.profile, Format::kJson, {}); })
      .def(
          "fuse_text",
          [](const OwnedProfile& self, const std::string& sort, const py::kwargs& text) {
            return fuse_report(self.profile, Format::kText,
                               {.sort = fuse_sort_from_name(sort, "sort"), .text = text_options(text)});
          },
          py::kw_only(), py::arg("sort") = "order")
      .def("to_text",
           [](const OwnedProfile& self, const py::kwargs& text) {
             return report_of(self, Format::kText, text_options(text));
           })
      .def("draw", draw_to, py::arg("path"), py::kw_only(), py::arg("level") = "layer",
           py::arg("color") = "category", py::arg("depth") = py::none(), py::arg("focus") = "",
           py::arg("max_boxes") = 60, py::arg("fold") = true)
      .def("explain", [](const OwnedProfile& self, const std::string& node) {
        std::string text;
        for (const auto op : find_node(self.profile, node))
          text += explain(*self.graph, op, self.profile.experts);
        return text;
      });
}

}  // namespace opscope::python
