// What opscope._native has, a function for each file that binds it.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace opscope::python {

namespace py = pybind11;

void bind_request(py::module_& m);  // CaptureRequest: what to capture, checked by C++
void bind_graph(py::module_& m);    // Graph, and how tracers got there
void bind_profile(py::module_& m);  // Profile
void bind_runs(py::module_& m);     // runs inside a capture
void bind_tensor_methods(
    py::module_& m);                  // answer_abstract: what an abstract tensor's method does in a capture
void bind_profiler(py::module_& m);   // the graphs of opscope.Profiler
void bind_replay(py::module_& m);     // each distinct op of a graph replayed alone
void bind_questions(py::module_& m);  // compare, diff, check, reconcile, and those of app/cases/question.h
void bind_sweep(py::module_& m);      // sweep, fit

}  // namespace opscope::python
