// A model's name, path or capture file -> its graph; and the names there are.
#pragma once

#include "cli/flags.h"
#include "cli/protocol.h"
#include "cli/request.h"
#include "graph/graph.h"

namespace opscope {

// From a saved capture, the cache or Python, in this order.
Graph load_model(const CaptureRequest& request, const TalkFlags& talk);

// Every model name, sorted. With only_cached, none where Python would have to be asked.
std::vector<ListedModel> list_models(const std::string& registry, bool use_cache, bool only_cached,
                                     const TalkFlags& talk);

}  // namespace opscope
