// Other tools' numbers beside ours, for people and for programs.
#pragma once

#include <span>
#include <string>
#include <vector>

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

// One file each.
Document reconcile_document(std::span<const Reconciliation> models, const ReconcileOptions& reconcile,
                            const TextOptions& options);
Section why_section(const Reconciliation& model, const PeerComparison& peer, const TextOptions& options);
std::string reconcile_json(std::span<const Reconciliation> models, const ReconcileOptions& reconcile);
std::string reconcile_csv(std::span<const Reconciliation> models, const ReconcileOptions& reconcile);

// "+4,667,368", "-12", "0"
std::string signed_exact(std::int64_t number);
// "+4.67M", "0"
std::string signed_count_text(std::int64_t number);
// "the tool's own": "FLOPs" or "MACs"
std::string_view unit_text(PeerUnit unit);

}  // namespace opscope
