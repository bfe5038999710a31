// The bindings of sweeps, called from module.cc.
#pragma once

#include <torch/csrc/utils/pybind.h>

namespace opscope::python {

void bind_sweep(pybind11::module_& m);

}  // namespace opscope::python
