// The bindings of sweeps and of what fits: C++ asks Python for a graph at a point, and works out the rest.
#include "app/cases/sweep.h"

#include "base/error.h"
#include "python/questions.h"

namespace opscope::python {
namespace {

// Python's object that captures: called with what is special about a point, it gives a graph, or the
// exception that stands for it.
class PythonPoints : public PointSource {
 public:
  PythonPoints(const CaptureRequest& asked, py::object capture)
      : asked_(asked), capture_(std::move(capture)) {}

  void capture(const CaptureRequest&, std::span<const CaptureRequest> requests, const Give& give) override {
    for (std::size_t i = 0; i < requests.size(); ++i) {
      const py::object answer = capture_(changes(asked_, requests[i]));
      if (py::isinstance<Graph>(answer)) {
        give(i, answer.cast<std::shared_ptr<Graph>>().get(), "");
        continue;
      }
      if (!first_problem_) first_problem_ = answer;
      give(i, nullptr, py::cast<std::string>(py::str(answer)));
    }
  }
  void throw_first_problem() const override {
    if (!first_problem_) return;
    PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(first_problem_.ptr())), first_problem_.ptr());
    throw py::error_already_set();
  }

 private:
  const CaptureRequest& asked_;
  py::object capture_, first_problem_;
};

std::shared_ptr<SweepAnswer> sweep_model(const CaptureRequest& model, const std::string& spec,
                                         const std::vector<std::tuple<std::string, std::string, bool>>& axes,
                                         const py::object& capture, const std::string& metric,
                                         const std::string& memory, std::optional<bool> polynomial,
                                         const py::kwargs& costs) {
  SweepRequest request{.model = model, .axes = {}, .voice = Voice::kArguments};
  request.model.model = spec;
  for (const auto& [name, text, is_dim] : axes) request.axes.push_back({name, text, is_dim});
  request.profile = profile_options(costs);
  request.polynomial = polynomial, request.metric = metric, request.memory = memory;
  PythonPoints points(request.model, capture);
  return std::make_shared<SweepAnswer>(sweep(request, points));
}

FitAnswer fit_model(const CaptureRequest& model, const std::string& spec, const std::string& variable,
                    const std::string& memory, const std::string& reserve, std::optional<std::int64_t> step,
                    const py::object& capture, const py::kwargs& costs) {
  FitRequest request{.model = model, .variable = variable, .memory = memory, .reserve = reserve};
  request.model.model = spec, request.step = step, request.voice = Voice::kArguments;
  request.profile = profile_options(costs);
  PythonPoints points(request.model, capture);
  return fit(request, points);
}

}  // namespace

void bind_sweep(py::module_& m) {
  py::class_<SweepAnswer, std::shared_ptr<SweepAnswer>>(m, "Sweep")
      .def("to_format", [](const SweepAnswer& self, const std::string& format, const py::kwargs& text) {
        return to_format(self.report, format_from_name(format), text_options(text));
      });
  m.def("sweep", sweep_model, py::arg("request"), py::arg("spec"), py::arg("axes"), py::arg("capture"),
        py::kw_only(), py::arg("metric") = "", py::arg("memory") = "", py::arg("polynomial") = py::none());
  py::class_<FitAnswer>(m, "Fit").def(
      "to_format", [](const FitAnswer& self, const std::string& format, const py::kwargs& text) {
        return to_format(self, format_from_name(format), text_options(text));
      });
  m.def("fit", fit_model);
}

}  // namespace opscope::python
