// What a request asks of a graph after its capture: edits, which hold for captures, saved ones and files
// alike.
#pragma once

#include "app/request/fields.h"
#include "graph/graph.h"

namespace opscope {

// Stores the weights as asked; where nothing is asked, as the model's config says that they are published.
// Throws Error where that is not possible.
void apply_edits(Graph& graph, const CaptureRequest& request, Voice voice = Voice::kFlags);

// Throws Error where an edit is asked of a command that shows the model as it is.
void refuse_edits(const CaptureRequest& request, const std::string& what);

}  // namespace opscope
