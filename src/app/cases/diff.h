// Two versions of a model, and whether the later one keeps its limits.
#pragma once

#include <span>
#include <string>

#include "analyse/check/budget.h"
#include "analyse/diff/diff.h"
#include "app/cases/loaded_model.h"
#include "report/svg/pictures.h"

namespace opscope {

struct DiffAnswer {
  LoadedModel base, now;
  ModelDiff diff;

  bool has_graphs() const { return base.has_graph() && now.has_graph(); }
};

DiffAnswer diff(LoadedModel base, LoadedModel now);
// Throws Error where one of them is a saved profile.
std::string draw(const DiffAnswer& answer, PictureFormat format, std::size_t max_boxes);

// `base`: what increases are counted from; nullptr: none.
CheckReport check(const LoadedModel& model, const LoadedModel* base, std::span<const BudgetLimit> limits,
                  bool allow_unknown);

}  // namespace opscope
