// Any bytes -> the reader of budgets -> a small model is held to what it says.
#include "analyse/small_models.h"
#include "fuzz/accepted.h"
#include "readers/results/budget_reader.h"
#include "report/check/report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace opscope;
  static const Graph graph = test::shared_and_unknown();
  static const Figures figures = figures_of(make_profile(graph));
  const auto budgets = accepted([&] { return read_budget(text_of(data, size), "fuzz"); });
  if (!budgets) return 0;
  std::vector<CheckReport> reports;
  for (const ModelBudget& budget : *budgets) {
    // A limit may be of a module that the model does not have.
    auto report =
        accepted([&] { return check_budget({.label = "fuzz", .figures = &figures}, budget.limits, false); });
    if (report) reports.push_back(*std::move(report));
  }
  if (reports.empty()) return 0;
  for (const Format format : all_formats()) require(!to_format(reports, format).empty());
  check_annotations(reports);
  return 0;
}
