// Subgraphs that a caller describes in words, as a graph that the core can price.
#pragma once

#include "python/session.h"

namespace opscope::python {

void bind_subgraphs(py::module_& m);

}  // namespace opscope::python
