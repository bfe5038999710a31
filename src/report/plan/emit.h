// A plan as something that runs it: a program for torchrun, or the device map of accelerate.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "plan/planned/planned.h"

namespace opscope {

enum class PlanForm : std::uint8_t { kTorch, kAccelerate };
std::string_view name(PlanForm form);  // "torch", "accelerate"
PlanForm plan_form_from_name(std::string_view text, std::string_view where);

// Throws Error for a plan of no model, and for what cannot be written so: tensors that the model made before
// it was called and that are none of its weights.
std::string emitted(const Graph& graph, const PlannedGraph& planned, PlanForm form);

}  // namespace opscope
