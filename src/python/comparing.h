// opscope.compare for Python.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace opscope::python {

void bind_comparing(pybind11::module_& m);

}  // namespace opscope::python
