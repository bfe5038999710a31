#include "app/cases/diff.h"

#include "base/error.h"
#include "report/diff/report.h"

namespace opscope {
namespace {

DiffSide side_of(const LoadedModel& model) { return {model.label, &model.figures, model.profile.get()}; }

}  // namespace

DiffAnswer diff(LoadedModel base, LoadedModel now) {
  ModelDiff found = make_diff(side_of(base), side_of(now));
  return {std::move(base), std::move(now), std::move(found)};
}

std::string draw(const DiffAnswer& answer, PictureFormat format, std::size_t max_boxes) {
  if (!answer.has_graphs())
    throw Error("a saved profile has no graph to draw",
                (answer.base.has_graph() ? answer.now : answer.base).spec,
                "diff captures, or the models themselves");
  return draw_diff(answer.diff, *answer.base.profile, *answer.now.profile, format, max_boxes).bytes;
}

CheckReport check(const LoadedModel& model, const LoadedModel* base, std::span<const BudgetLimit> limits,
                  bool allow_unknown) {
  if (!base) return check_budget({model.label, &model.figures, nullptr}, limits, allow_unknown);
  DiffSide before = side_of(*base);
  if (base->label == model.label && !base->spec.empty()) before.label = base->spec;
  const ModelDiff change = make_diff(before, side_of(model));
  return check_budget({model.label, &model.figures, &change}, limits, allow_unknown);
}

}  // namespace opscope
