#include "app/cases/compare.h"

namespace opscope {
namespace {

// Of a graph on every device; a saved profile is as it was saved.
std::vector<DeviceTime> times_of(const LoadedModel& model, const std::vector<ProfileOptions>& by_device) {
  std::vector<DeviceTime> times;
  if (const auto first = device_time(model.figures)) times.push_back(*first);
  if (!model.has_graph()) return times;
  for (std::size_t i = 1; i < by_device.size(); ++i)
    if (const auto time = device_time(figures_of(make_profile(*model.graph, by_device[i]))))
      times.push_back(*time);
  return times;
}

}  // namespace

ModelComparison compare(std::vector<LoadedModel> models, const std::vector<ProfileOptions>& by_device) {
  name_apart(models);
  std::vector<ComparedModel> compared;
  for (LoadedModel& model : models) {
    std::vector<DeviceTime> times = times_of(model, by_device);
    compared.push_back({std::move(model.label), std::move(model.figures), std::move(times)});
  }
  return compare_models(std::move(compared));
}

}  // namespace opscope
