// The use cases of src/app for Python: keyword arguments in, answers with their formats out.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace opscope::python {

void bind_request(pybind11::module_& m);    // CaptureRequest: what to capture, checked by C++
void bind_questions(pybind11::module_& m);  // compare, diff, check
void bind_sweep(pybind11::module_& m);      // sweep, fit
void bind_reconcile(pybind11::module_& m);

}  // namespace opscope::python
