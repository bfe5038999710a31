#pragma once

#include <torch/csrc/utils/pybind.h>

namespace opscope::python {

// opscope._native.Echo: the same forward again with every op returning its earlier result. For bench/ only.
void bind_echo(pybind11::module_& m);

}  // namespace opscope::python
