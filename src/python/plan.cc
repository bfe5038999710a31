// opscope.plan: a model's graph, or the file of a graph of costs, split over devices.
#include "app/cases/plan.h"

#include "base/error.h"
#include "base/files.h"
#include "python/bindings.h"
#include "report/plan/emit.h"
#include "report/plan/plan.h"
#ifdef OPSCOPE_READERS
#include "readers/plan/cost_reader.h"
#endif

namespace opscope::python {
namespace {

using Texts = std::vector<std::string>;

// A plan, and the graph that it is of; nullptr: a plain graph of costs.
struct HandedPlan {
  std::shared_ptr<Graph> graph;
  PlannedGraph planned;
};

HandedPlan plan_handed(const std::shared_ptr<Graph>& graph, const PlanTask& task) {
  return {graph, plan(task, *graph)};
}

void emit(const HandedPlan& self, const std::string& path, const std::string& form) {
  if (!self.graph) throw Error("a graph of costs has no program", path, "plan a model");
  check_writable(path);
  write_file(path, emitted(*self.graph, self.planned, plan_form_from_name(form, "form")));
}

void write_trace(const HandedPlan& self, const std::string& path) {
  check_writable(path);
  write_file(path, plan_trace(self.planned));
}

PlanTask task_of(const std::string& devices, const Texts& links, const Texts& pins,
                 const std::string& objective, const std::string& reserve, const std::string& in_flight,
                 bool overlap, const std::string& float32, const std::string& mode, const std::string& host,
                 const std::string& routing, const std::string& dp) {
  PlanRequest request{.devices = devices, .objective = objective, .reserve = reserve, .in_flight = in_flight};
  request.links = links, request.pins = pins, request.no_overlap = !overlap;
  request.cost.float32 = float32, request.cost.mode = mode, request.cost.host = host;
  request.cost.routing = routing, request.voice = Voice::kArguments;
  request.dp = dp;
  return plan_task(request);
}

HandedPlan plan_costs(const std::string& path, const std::string& objective) {
#ifdef OPSCOPE_READERS
  const PlanQuestion question = plan_question(objective, "objective");
  return {nullptr, plan_graph(read_costs(read_file(path), path), question, path)};
#else
  (void)objective;
  throw Error("this build of opscope reads no graphs of costs", path, "plan a model instead");
#endif
}

}  // namespace

void bind_plan(py::module_& m) {
  py::class_<PlanTask>(m, "PlanTask").def_property_readonly("gpu", [](const PlanTask& self) {
    for (const ProfileOptions& device : self.devices)
      if (const auto cuda = device.hardware->cuda()) return to_text(*cuda);
    return std::string();
  });
  py::class_<HandedPlan>(m, "Plan")
      .def("to_format",
           [](const HandedPlan& self, const std::string& format, const py::kwargs& text) {
             return to_format(self.planned, format_from_name(format), text_options(text));
           })
      .def("draw",
           [](const HandedPlan& self, const std::string& path) {
             write_picture(path,
                           [&](PictureFormat format) { return svg_to(format, plan_svg(self.planned)); });
           })
      .def("trace", write_trace)
      .def("emit", emit);
  m.def("plan_task", task_of, py::kw_only(), py::arg("devices"), py::arg("links"), py::arg("pins"),
        py::arg("objective"), py::arg("reserve") = "", py::arg("in_flight") = "", py::arg("overlap") = true,
        py::arg("float32") = "torch", py::arg("mode") = "", py::arg("host") = "",
        py::arg("routing") = "balanced", py::arg("dp") = "");
  m.def("plan", plan_handed);
  m.def("plan_costs", plan_costs);
}

}  // namespace opscope::python
