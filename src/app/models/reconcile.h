// Models run by other tools in Python, each beside opscope's own capture of the same call.
#pragma once

#include <string>
#include <vector>

#include "analyse/reconcile/reconcile.h"
#include "app/request/request.h"
#include "app/worker/listener.h"

namespace opscope {

struct ReconcileRequest {
  CaptureRequest capture;  // how each model is built and called; its own model is not looked at
  std::vector<std::string> models, tools;
};

// One Python process for all. A model that cannot be had is a Reconciliation with an error. `notes` gets what
// the user should know. Throws Error for what the tools cannot run.
std::vector<Reconciliation> reconcile(const ReconcileRequest& request, Listener& listener,
                                      std::vector<std::string>& notes);

}  // namespace opscope
