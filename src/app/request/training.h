// What a request says of training: optimisers with their variants, precision, adapters; and whether it goes
// together.
#pragma once

#include <string>

#include "app/request/fields.h"

namespace opscope {

// Throws Error for what no step of training can be. Texts get their one spelling.
void check_training(CaptureRequest& request, Voice voice);

// "sgd sgd-momentum ...": what completes --optimizer.
std::string optimizer_words();

}  // namespace opscope
