// A model -> its graph with times: from a file where it was measured before, else measured now. Never cached:
// times are those of one machine in one state.
#pragma once

#include "app/models/request.h"
#include "app/worker/talk.h"
#include "graph/graph.h"

namespace opscope {

// Throws Error for a file that has no times, and for flags of a run where there is none to make.
Graph measured_model(const CaptureRequest& capture, const MeasureRequest& measure, const TalkFlags& talk);

}  // namespace opscope
