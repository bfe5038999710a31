// The families of the cost table, one function and one file each. Inside src/ops only.
#pragma once

#include <span>

#include "ops/op_rule.h"

namespace opscope {

std::span<const OpRule> activation_rules();
std::span<const OpRule> attention_rules();
std::span<const OpRule> backward_rules();
std::span<const OpRule> conv_rules();
std::span<const OpRule> copy_rules();
std::span<const OpRule> create_rules();
std::span<const OpRule> distance_rules();
std::span<const OpRule> embedding_rules();
std::span<const OpRule> fft_rules();
std::span<const OpRule> index_rules();
std::span<const OpRule> linalg_rules();
std::span<const OpRule> loss_rules();
std::span<const OpRule> matmul_rules();
std::span<const OpRule> metadata_rules();
std::span<const OpRule> norm_rules();
std::span<const OpRule> optimiser_rules();
std::span<const OpRule> pointwise_rules();
std::span<const OpRule> pool_rules();
std::span<const OpRule> quantised_rules();
std::span<const OpRule> random_rules();
std::span<const OpRule> recurrent_rules();
std::span<const OpRule> reduction_rules();
std::span<const OpRule> resize_rules();
std::span<const OpRule> softmax_rules();
std::span<const OpRule> sort_rules();
std::span<const OpRule> view_rules();
std::span<const OpRule> vision_rules();

}  // namespace opscope
