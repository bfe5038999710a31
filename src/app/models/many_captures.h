// Models that Python has to capture, all in one process of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/models/cache.h"
#include "app/request/request.h"
#include "app/worker/listener.h"
#include "app/worker/protocol.h"
#include "graph/graph.h"

namespace opscope {

// Where a model takes Python down: leave the rest, or take it as that model's failure and go on in a new
// process.
enum class AfterDeath : std::uint8_t { kStop, kGoOn };

// Of each model as it is done: its graph, or nullptr and why.
using GiveCapture =
    std::function<void(std::size_t index, std::shared_ptr<Graph> graph, const ChildError& why)>;

// The requests differ in their models alone. What may be kept is in the cache before it is told of, so that
// an interrupt loses nothing. Returns how Python ended where it left models without a word: "" for in order.
std::string capture_many(const std::vector<CaptureRequest>& requests, const Cache& cache,
                         const std::string& python, AfterDeath after_death, Listener& listener,
                         const GiveCapture& give);

}  // namespace opscope
