#include "app/cases/loaded_model.h"

#include <filesystem>

namespace opscope {

LoadedModel profiled(std::string spec, std::shared_ptr<Graph> graph, const ProfileOptions& options) {
  LoadedModel model{std::move(spec), "", std::move(graph), nullptr, {}};
  model.profile = std::make_shared<Profile>(make_profile(*model.graph, options));
  model.figures = figures_of(*model.profile);
  return model;
}

void name_apart(std::vector<LoadedModel>& models) {
  std::vector<std::vector<std::string>> choices;
  for (const LoadedModel& model : models) {
    const std::filesystem::path path(model.spec);
    const std::string in_folder = (path.parent_path().filename() / path.filename()).string();
    auto& names = choices.emplace_back();
    for (const std::string& name : {model.label.empty() ? model.figures.model : model.label,
                                    path.stem().string(), in_folder, model.spec})
      if (!name.empty()) names.push_back(name);
  }
  const std::vector<std::string> labels = labels_apart(choices);
  for (std::size_t i = 0; i < models.size(); ++i) models[i].label = labels[i];
}

}  // namespace opscope
