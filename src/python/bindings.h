// What opscope._native has, a function for each part of it, and what several of them share.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include <functional>
#include <string>
#include <vector>

#include "app/cases/question.h"

namespace opscope::python {

namespace py = pybind11;

void bind_request(py::module_& m);       // CaptureRequest: what to capture, checked by C++
void bind_graph(py::module_& m);         // Graph, and how tracers got there
void bind_profile(py::module_& m);       // Profile
void bind_runs(py::module_& m);          // runs inside a capture, and methods of tensors in one
void bind_module_calls(py::module_& m);  // the calls of modules in threads
void bind_profiler(py::module_& m);      // the graphs of opscope.Profiler
void bind_replay(py::module_& m);        // each distinct op of a graph replayed alone
void bind_predict(py::module_& m);       // what predictions of time are made of
void bind_calibrate(py::module_& m);     // a calibration as it is made, and as it is shown
void bind_questions(py::module_& m);     // compare, diff, check, reconcile, and those of app/cases/question.h
void bind_sweep(py::module_& m);         // sweep, fit
void bind_plan(py::module_& m);          // plan

// Keyword arguments that many functions take: of TextOptions by the names of its members, and of CostRequest.
TextOptions text_options(const py::kwargs& given, TextOptions options = {});
ProfileOptions profile_options(const py::kwargs& given);
// One for each device: the first is what the models are profiled for.
std::vector<ProfileOptions> options_by_device(const py::kwargs& given);

// What is not as in `base`, by the fields' keys.
py::dict changes(const CaptureRequest& base, const CaptureRequest& request);

// A file in the format of its extension; `draw` gives its bytes.
void write_picture(const std::string& path, const std::function<std::string(PictureFormat format)>& draw);

}  // namespace opscope::python
