// The bindings of sweeps and of what fits: C++ asks Python for a graph at a place, and works out the rest.
#include "analyse/sweep/sweep.h"

#include <torch/csrc/utils/pybind.h>

#include <optional>
#include <tuple>

#include "analyse/sweep/fit.h"
#include "analyse/sweep/turns.h"
#include "base/error.h"
#include "metrics/unit.h"
#include "python/handed.h"
#include "python/sweep.h"
#include "report/sweep/sweep.h"

namespace opscope::python {
namespace {

namespace py = pybind11;

using AxisText = std::tuple<std::string, std::string, bool>;  // name, values, whether it is a file's

// A point's sizes as Python's Options has them.
py::dict sizes_at(const std::vector<SweepAxis>& axes, const std::vector<bool>& is_dim,
                  const SweepPlace& place) {
  py::dict sizes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (is_dim[a]) continue;
    const std::string& text =
        axes[a].numeric ? axes[a].name : axes[a].texts[static_cast<std::size_t>(place[a])];
    if (axes[a].numeric)
      sizes[axes[a].name.c_str()] = place[a];
    else if (axes[a].name == "image_size")
      sizes["image_size"] = sides_of(text);
    else
      sizes[axes[a].name.c_str()] = text;
  }
  return sizes;
}

py::dict dims_at(const std::vector<SweepAxis>& axes, const std::vector<bool>& is_dim,
                 const SweepPlace& place) {
  py::dict dims;
  for (std::size_t a = 0; a < axes.size(); ++a)
    if (is_dim[a]) dims[axes[a].name.c_str()] = place[a];
  return dims;
}

// A graph, or an exception that stands for the point.
void give_answer(const py::object& answer,
                 const std::function<void(const Graph*, const std::string&)>& give) {
  if (py::isinstance<Graph>(answer)) return give(answer.cast<std::shared_ptr<Graph>>().get(), "");
  give(nullptr, py::cast<std::string>(py::str(answer)));
}

[[noreturn]] void throw_python(const py::object& problem) {
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(problem.ptr())), problem.ptr());
  throw py::error_already_set();
}

template <class Answer>
std::string in_named_format(const Answer& answer, const std::string& format, int width, bool color) {
  TextOptions options;
  options.width = width, options.color = color;
  return to_format(answer, format_from_name(format), options);
}

class PythonSweep {
 public:
  PythonSweep(const std::vector<AxisText>& axes, const std::string& metric, const std::string& memory,
              std::optional<bool> polynomial, const ProfileOptions& profile) {
    if (axes.empty())
      throw Error("nothing varies", "sweep", "give batch, seq_len, image_size, dtype or dims, as a list");
    for (const auto& [name, text, is_dim] : axes) {
      axes_.push_back(axis_from_text(name, name.c_str(), text));
      is_dim_.push_back(is_dim);
    }
    SweepOptions options{.profile = profile};
    if (polynomial) options.way = *polynomial ? SweepWay::kPolynomial : SweepWay::kCapture;
    sweep_.emplace(axes_, options);
    if (!metric.empty()) report_.metrics = sweep_metrics_from("metric", metric);
    if (!memory.empty()) report_.memory = parse_bytes("memory", memory), report_.memory_text = memory;
  }

  void run(const py::object& capture) {
    py::object first;
    const SweepCapture take = [&](std::span<const SweepPlace> places, const SweepGiven& give) {
      for (std::size_t i = 0; i < places.size(); ++i) {
        const py::object answer =
            capture(sizes_at(axes_, is_dim_, places[i]), dims_at(axes_, is_dim_, places[i]));
        if (!first && !py::isinstance<Graph>(answer)) first = answer;
        give_answer(answer, [&](const Graph* graph, const std::string& why) { give(i, graph, why); });
      }
    };
    sweep_->run(take);
    const SweepResult& result = sweep_->result();
    if (result.count(SweepState::kCaptured) == 0 && first) throw_python(first);
    const FiguresAt at = [&](const SweepPlace& place) { return result.at(place); };
    report_.turns = find_turns(result, report_.memory, at);
    report_.result = &result;
    if (report_.metrics.empty()) report_.metrics = usual_sweep_metrics(result);
  }

  std::string in(const std::string& format, int width, bool color) const {
    return in_named_format(report_, format, width, color);
  }

 private:
  std::vector<SweepAxis> axes_;
  std::vector<bool> is_dim_;
  std::optional<Sweep> sweep_;
  SweepReport report_;
};

struct PythonFit {
  FitAnswer answer;

  std::string in(const std::string& format, int width, bool color) const {
    return in_named_format(answer, format, width, color);
  }
};

PythonFit fit(std::string variable, const std::string& memory, const std::string& reserve,
              std::optional<std::int64_t> step, const py::object& capture, const std::string& convention,
              const std::string& hardware) {
  const ProfileOptions options = profile_options(convention, std::nullopt, hardware, "torch");
  FitQuestion question = fit_question(std::move(variable), memory, reserve, step, options.hardware.get());
  py::object first;
  PythonFit found{find_fit(question, options, [&](std::int64_t value, const auto& give) {
    py::dict sizes;
    sizes[question.variable.c_str()] = value;
    const py::object answer = capture(sizes, py::dict());
    if (!first && !py::isinstance<Graph>(answer)) first = answer;
    give_answer(answer, give);
  })};
  if (found.answer.end == FitAnswer::End::kFails && first) throw_python(first);
  return found;
}

}  // namespace

void bind_sweep(py::module_& m) {
  py::class_<PythonSweep>(m, "Sweep")
      .def(
          py::init([](const std::vector<AxisText>& axes, const std::string& metric, const std::string& memory,
                      std::optional<bool> polynomial, const std::string& convention,
                      std::optional<double> ridge, const std::string& hardware, const std::string& float32) {
            return std::make_unique<PythonSweep>(axes, metric, memory, polynomial,
                                                 profile_options(convention, ridge, hardware, float32));
          }),
          py::arg("axes"), py::kw_only(), py::arg("metric") = "", py::arg("memory") = "",
          py::arg("polynomial") = py::none(), py::arg("convention") = "opscope",
          py::arg("ridge") = py::none(), py::arg("hardware") = "", py::arg("float32") = "torch")
      .def("run", &PythonSweep::run)
      .def("to_format", &PythonSweep::in, py::arg("format"), py::kw_only(), py::arg("width") = 100,
           py::arg("color") = false);
  py::class_<PythonFit>(m, "Fit").def("to_format", &PythonFit::in, py::arg("format"), py::kw_only(),
                                      py::arg("width") = 100, py::arg("color") = false);
  m.def("fit", fit, py::arg("variable"), py::arg("memory"), py::arg("reserve"), py::arg("step"),
        py::arg("capture"), py::kw_only(), py::arg("convention") = "opscope", py::arg("hardware") = "");
}

}  // namespace opscope::python
