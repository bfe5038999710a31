// The ops of a graph, each distinct one replayed alone, for Python.
#pragma once

#include "python/session.h"

namespace opscope::python {

void bind_replay(py::module_& m);

}  // namespace opscope::python
