// The facts of a KV cache as Python reads them off a model's own cache object: inputs/kv_facts.py.
#pragma once

#include "graph/kv_cache.h"
#include "python/objects.h"

namespace opscope::python {

// Of a dict with the keys of the capture's section "kv_cache".
KvCache kv_cache_of(const py::dict& told);

}  // namespace opscope::python
