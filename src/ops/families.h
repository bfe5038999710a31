// The families of the cost table, one function and one file each. Inside src/ops only.
#pragma once

#include <span>

#include "ops/op_facts.h"

namespace opscope {

std::span<const OpRow> activation_rules();
std::span<const OpRow> attention_rules();
std::span<const OpRow> backward_rules();
std::span<const OpRow> conv_rules();
std::span<const OpRow> copy_rules();
std::span<const OpRow> create_rules();
std::span<const OpRow> index_rules();
std::span<const OpRow> linalg_rules();
std::span<const OpRow> loss_rules();
std::span<const OpRow> matmul_rules();
std::span<const OpRow> norm_rules();
std::span<const OpRow> optimiser_rules();
std::span<const OpRow> pointwise_rules();
std::span<const OpRow> pool_rules();
std::span<const OpRow> quantised_rules();
std::span<const OpRow> recurrent_rules();
std::span<const OpRow> reduction_rules();
std::span<const OpRow> resize_rules();
std::span<const OpRow> view_rules();

}  // namespace opscope
