// A model's name, path or file -> its graph, or the inputs that it would be called with.
#pragma once

#include <optional>
#include <string>

#include "app/models/cache.h"
#include "app/request/request.h"
#include "app/worker/listener.h"
#include "app/worker/protocol.h"
#include "graph/graph.h"
#include "readers/files/model_file.h"

namespace opscope {

// From a file that C++ reads, the cache or Python, in this order.
Graph load_model(const CaptureRequest& request, Listener& listener);

// What is called .json and nothing else is taken for a capture: then its reader's error is the useful one.
FileKind model_file_kind(const std::string& model);

// Throws Error where a flag asks for another capture than the one in the file.
void refuse_capture_flags(const CaptureRequest& request);

// From a file that C++ reads, if the model is one.
std::optional<Graph> read_model(const CaptureRequest& request);

// Under which the cache keeps it, and from the cache alone.
std::string capture_key(const std::string& python, const CaptureRequest& request);
std::optional<Graph> cached_model(const CaptureRequest& request, const Cache& cache,
                                  const std::string& python);

// What the model would be called with, and why.
PlannedInputs plan_inputs(const CaptureRequest& request, Listener& listener);

}  // namespace opscope
