// A capture's request as Python has it: a dict of keyword arguments.
#pragma once

#include <torch/csrc/utils/pybind.h>

#include "app/request/request.h"

namespace opscope::python {

// What is not as in `base`, by the fields' keys.
pybind11::dict changes(const CaptureRequest& base, const CaptureRequest& request);

}  // namespace opscope::python
