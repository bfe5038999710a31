// Steps of optimisers in one kernel, which write into what they are given and return nothing. PyTorch has no
// meta kernel for some.
#include "torch/rules/shape_rule.h"

namespace opscope::engine {
namespace {

bool writes_only(RuleCall&) { return true; }

constexpr ShapeRuleRow kOptimizerRules[] = {
    {"aten::_fused_adagrad_ aten::_fused_sgd_", "", writes_only},
    {"aten::_fused_adagrad_ aten::_fused_sgd_", "tensor_lr", writes_only},
};

}  // namespace

std::span<const ShapeRuleRow> optimizer_shape_rules() { return kOptimizerRules; }

}  // namespace opscope::engine
