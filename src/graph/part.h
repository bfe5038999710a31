// One graph of a tracer, taken out of a capture as a capture of its own.
#pragma once

#include "graph/graph.h"

namespace opscope {

// The part's nodes, the ops of all its runs, and what they need. What was made elsewhere and is read here is
// an input; what is made here and read elsewhere, or returned by the part or the model, an output. Modules
// and scopes stay as they are, so that paths and layers have the names they have in the whole; parameters and
// buffers are those that its ops read.
Graph part_of(const Graph& graph, PartId part);

}  // namespace opscope
