// opscope.reconcile's comparisons for Python.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace opscope::python {

void bind_reconcile(pybind11::module_& m);

}  // namespace opscope::python
