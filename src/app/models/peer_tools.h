// Models run by other tools in Python, each beside opscope's own capture of the same call.
#pragma once

#include <string>
#include <vector>

#include "analyse/reconcile/reconcile.h"
#include "app/models/request.h"
#include "app/worker/talk.h"

namespace opscope {

// One Python process for all. `request` says how each model is built and called; its own model is not looked
// at. A model that cannot be had is a Reconciliation with an error; throws where it is the only one. `notes`
// gets what the user should know.
std::vector<Reconciliation> run_peer_tools(const std::vector<std::string>& models,
                                           const std::vector<std::string>& tools,
                                           const CaptureRequest& request, const TalkFlags& talk,
                                           std::vector<std::string>& notes);

}  // namespace opscope
