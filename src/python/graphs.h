// Graphs and profiles for Python.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace opscope::python {

void bind_graph(pybind11::module_& m);
void bind_profile(pybind11::module_& m);

}  // namespace opscope::python
