#include "app/models/model_patterns.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "app/models/model_list.h"
#include "app/request/values.h"
#include "base/error.h"
#include "base/text.h"

namespace opscope {
namespace {

// Prefixes of specs, and the libraries that they stand for.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLibraries{
    {{"torchvision", "torchvision"}, {"timm", "timm"}, {"hf", "transformers"}, {"yolo", "ultralytics"}}};

struct Pattern {
  std::string prefix;   // "timm:", or ""
  std::string library;  // "timm"; "": any
  std::string name;
};

Pattern pattern_of(const std::string& spec) {
  const auto colon = spec.find(':');
  if (colon == std::string::npos) return {"", "", spec};
  for (const auto& [prefix, library] : kLibraries)
    if (spec.substr(0, colon) == prefix)
      return {spec.substr(0, colon + 1), std::string(library), spec.substr(colon + 1)};
  return {"", "", spec};
}

std::vector<std::string> matching(const Pattern& pattern, const std::vector<ModelStatus>& models) {
  std::vector<std::string> found;
  for (const ModelStatus& status : models)
    if (status.model.source.starts_with(pattern.library) && matches_name(pattern.name, status.model.name))
      found.push_back(pattern.prefix + status.model.name);
  return found;
}

}  // namespace

bool is_model_pattern(const std::string& spec) {
  std::error_code ignored;
  return spec.find_first_of("*?[") != std::string::npos && !std::filesystem::exists(spec, ignored);
}

std::vector<std::string> expand_patterns(const std::vector<std::string>& specs, const WrittenRequest& written,
                                         Listener& listener) {
  if (std::ranges::none_of(specs, is_model_pattern)) return specs;
  ModelCatalogue catalogue(registry_path(written.text("registry")), !written.no_cache, listener);
  const std::vector<ModelStatus> models = catalogue.list(false);
  std::vector<std::string> expanded;
  const auto add = [&](const std::string& spec) {
    if (std::ranges::find(expanded, spec) == expanded.end()) expanded.push_back(spec);
  };
  for (const std::string& spec : specs) {
    if (!is_model_pattern(spec)) {
      add(spec);
      continue;
    }
    const auto found = matching(pattern_of(spec), models);
    if (found.empty())
      throw Error("no model matches '" + spec + "'", "",
                  "opscope list shows them all; 'torchvision:resnet*' looks in one library");
    std::ranges::for_each(found, add);
  }
  return expanded;
}

}  // namespace opscope
