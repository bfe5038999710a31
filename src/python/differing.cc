// opscope.diff and opscope.check: graphs and saved profiles, as Python hands them over, held against each
// other or a budget by C++.
#include "python/differing.h"

#include "analyse/check/budget.h"
#include "analyse/diff/diff.h"
#include "base/error.h"
#include "base/files.h"
#include "python/handed.h"
#include "report/check/report.h"
#include "report/diff/report.h"
#ifdef OPSCOPE_READERS
#include "readers/results/budget_reader.h"
#endif

namespace opscope::python {
namespace {

namespace py = pybind11;

// What the user called it, else its own name.
std::string label_of(const HandedModel& model) {
  return model.spec.empty() ? model.figures.model : model.spec;
}

DiffSide side_of(const HandedModel& model) { return {label_of(model), &model.figures, model.profile.get()}; }

struct HandedDiff {
  HandedModel base, now;
  ModelDiff diff;
};

std::shared_ptr<HandedDiff> diff_models(const Handed& base, const Handed& now,
                                        const ProfileOptions& options) {
  HandedModel a(base, options), b(now, options);
  ModelDiff diff = make_diff(side_of(a), side_of(b));
  return std::make_shared<HandedDiff>(HandedDiff{std::move(a), std::move(b), std::move(diff)});
}

std::string format_diff(const HandedDiff& self, const std::string& format, int width, bool color, int depth,
                        bool fold, bool verbose) {
  TextOptions options;
  options.width = width, options.color = color, options.depth = depth, options.fold = fold;
  options.verbose = verbose;
  return to_format(self.diff, format_from_name(format), options);
}

void draw_diff_to(const HandedDiff& self, const std::string& path, std::size_t max_boxes) {
  const PictureFormat format = picture_format_from_extension(path);
  check_writable(path);
  if (!self.base.profile || !self.now.profile)
    throw Error("a saved profile has no graph to draw", path, "diff captures, or the models themselves");
  write_file(path, draw_diff(self.diff, *self.base.profile, *self.now.profile, format, max_boxes).bytes);
}

std::vector<BudgetLimit> limits_of_file(const std::string& budget) {
  if (budget.empty()) return {};
#ifdef OPSCOPE_READERS
  auto models = read_budget(read_file(budget), budget);
  if (models.size() > 1 || !models.front().spec.empty())
    throw Error("the budget is of models that it names", budget,
                "opscope check --budget FILE checks them all");
  return std::move(models.front().limits);
#else
  throw Error("this build of opscope reads no budgets", budget, "give the limits as max={...}");
#endif
}

std::vector<CheckReport> check_model(const Handed& model, const std::optional<Handed>& against,
                                     const std::vector<BudgetLimit>& limits, const ProfileOptions& options,
                                     bool allow_unknown) {
  const HandedModel now(model, options);
  if (!against) return {check_budget({label_of(now), &now.figures, nullptr}, limits, allow_unknown)};
  const HandedModel base(*against, options);
  const ModelDiff diff = make_diff(side_of(base), side_of(now));
  return {check_budget({label_of(now), &now.figures, &diff}, limits, allow_unknown)};
}

using Checks = std::vector<CheckReport>;
struct HandedChecks {
  Checks reports;
};

std::string format_checks(const HandedChecks& self, const std::string& format, int width, bool color) {
  if (format == "github") return check_annotations(self.reports);
  TextOptions options;
  options.width = width, options.color = color;
  return to_format(self.reports, format_from_name(format), options);
}

}  // namespace

void bind_differing(py::module_& m) {
  py::class_<HandedDiff, std::shared_ptr<HandedDiff>>(m, "Diff")
      .def("to_format", format_diff, py::arg("format"), py::kw_only(), py::arg("width") = 100,
           py::arg("color") = false, py::arg("depth") = -1, py::arg("fold") = true,
           py::arg("verbose") = false)
      .def("draw", draw_diff_to, py::arg("path"), py::arg("max_boxes") = 60)
      .def_property_readonly("same", [](const HandedDiff& self) { return self.diff.same(); });
  m.def(
      "diff",
      [](const Handed& base, const Handed& now, const std::string& convention, const std::string& hardware) {
        return diff_models(base, now, profile_options(convention, std::nullopt, hardware, "torch"));
      },
      py::arg("base"), py::arg("new"), py::kw_only(), py::arg("convention") = "opscope",
      py::arg("hardware") = "");
  py::class_<HandedChecks>(m, "Check")
      .def("to_format", format_checks, py::arg("format"), py::kw_only(), py::arg("width") = 100,
           py::arg("color") = false)
      .def_property_readonly("kept", [](const HandedChecks& self) { return self.reports.front().kept(); });
  m.def(
      "check",
      [](const Handed& model, const std::optional<Handed>& against, const std::string& budget,
         const std::string& max, const std::string& min, const std::string& max_increase, bool allow_unknown,
         const std::string& convention, const std::string& hardware) {
        auto limits = limits_of_file(budget);
        add_limits({max, min, max_increase, against.has_value()}, limits);
        return HandedChecks{check_model(model, against, limits,
                                        profile_options(convention, std::nullopt, hardware, "torch"),
                                        allow_unknown)};
      },
      py::arg("model"), py::kw_only(), py::arg("against") = py::none(), py::arg("budget") = "",
      py::arg("max") = "", py::arg("min") = "", py::arg("max_increase") = "",
      py::arg("allow_unknown") = false, py::arg("convention") = "opscope", py::arg("hardware") = "");
}

}  // namespace opscope::python
