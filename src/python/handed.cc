// Graphs are profiled and saved profiles are read, so that both have figures.
#include "python/handed.h"

#include "app/cases/costs.h"
#include "base/error.h"
#include "base/files.h"
#ifdef OPSCOPE_READERS
#include "readers/results/profile_reader.h"
#endif

namespace opscope::python {
namespace {

Figures saved_figures(const std::string& path) {
#ifdef OPSCOPE_READERS
  return read_profile(read_file(path), path);
#else
  throw Error("this build of opscope reads no profiles", path, "profile the model instead");
#endif
}

}  // namespace

LoadedModel loaded(const Handed& handed, const ProfileOptions& options) {
  const auto& [spec, graph, path] = handed;
  LoadedModel model =
      graph ? profiled(spec, graph, options) : LoadedModel{spec, "", nullptr, nullptr, saved_figures(path)};
  model.label = spec.empty() ? model.figures.model : spec;
  return model;
}

std::vector<ProfileOptions> options_by_device(const std::string& convention, std::optional<double> ridge,
                                              const std::string& hardware, const std::string& float32) {
  std::vector<ProfileOptions> all = profile_options_by_device(
      {.convention = convention, .hardware = hardware, .float32 = float32}, Voice::kArguments);
  for (ProfileOptions& options : all)
    if (ridge) options.ridge = *ridge, options.ridge_is_given = true;
  return all;
}

ProfileOptions profile_options(const std::string& convention, std::optional<double> ridge,
                               const std::string& hardware, const std::string& float32) {
  std::vector<ProfileOptions> all = options_by_device(convention, ridge, hardware, float32);
  if (all.size() > 1)
    throw Error("only one device here", "hardware", "opscope.compare shows several side by side");
  return std::move(all.front());
}

}  // namespace opscope::python
