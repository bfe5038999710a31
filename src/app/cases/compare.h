// Models side by side.
#pragma once

#include <vector>

#include "analyse/compare/comparison.h"
#include "app/cases/loaded_model.h"

namespace opscope {

// `by_device`: what the models were profiled with, once for each device; the first is that of their figures.
ModelComparison compare(std::vector<LoadedModel> models, const std::vector<ProfileOptions>& by_device);

}  // namespace opscope
