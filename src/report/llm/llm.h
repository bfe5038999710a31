// The page of a language model: for people and programs, and as a picture over batch and context.
#pragma once

#include <string>

#include "analyse/llm/llm.h"
#include "report/core/document.h"

namespace opscope {

std::string to_format(const LlmAnswer& answer, Format format, const TextOptions& options = {});
// Tokens a second over the batch, a line for each context; memory where no device is named.
std::string llm_svg(const LlmAnswer& answer);

}  // namespace opscope
