// Other tools' numbers beside ours, for people and for programs.
#pragma once

#include <span>
#include <string>

#include "analyse/reconcile/reconcile.h"
#include "report/core/document.h"

namespace opscope {

struct ReconcileOptions {
  double tolerance = 0.1;  // a tool that is further off is flagged
  bool why = false;        // the causes too
};

// Whether a tool ran and is further off than that.
bool is_flagged(const Reconciliation& model, const PeerComparison& peer, double tolerance);

std::string to_format(std::span<const Reconciliation> models, const ReconcileOptions& reconcile,
                      Format format, const TextOptions& options);

}  // namespace opscope
