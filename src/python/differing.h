// opscope.diff and opscope.check for Python.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace opscope::python {

void bind_differing(pybind11::module_& m);

}  // namespace opscope::python
