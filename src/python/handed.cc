// Graphs are profiled and saved profiles are read, so that both have figures.
#include "python/handed.h"

#include "base/error.h"
#include "base/files.h"
#include "hardware/devices.h"
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

HandedModel::HandedModel(const Handed& handed, const ProfileOptions& options)
    : spec(std::get<0>(handed)), graph(std::get<1>(handed)) {
  if (graph) profile = std::make_shared<Profile>(make_profile(*graph, options));
  figures = graph ? figures_of(*profile) : saved_figures(std::get<2>(handed));
}

ProfileOptions profile_options(const std::string& convention, std::optional<double> ridge,
                               const std::string& hardware, const std::string& float32) {
  ProfileOptions options{.convention = convention_from_name(convention)};
  options.ridge = ridge.value_or(options.ridge), options.ridge_is_given = ridge.has_value();
  if (!hardware.empty()) options.hardware = load_device(hardware, "hardware");
  options.float32 = float32_from_name(float32);
  return options;
}

}  // namespace opscope::python
