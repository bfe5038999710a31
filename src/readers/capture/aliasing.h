// Which ops return their input's memory, told from the op's name and the shapes and strides on both sides:
// files do not say it, and bytes and live memory depend on it.
#pragma once

#include <span>
#include <string_view>

#include "readers/capture/graph_assembler.h"

namespace opscope {

struct TensorLayout {
  std::span<const std::int64_t> shape, strides;
  DType dtype = DType::kUndefined;
  StringId device = 0;
};

// op: "aten::reshape". drops: a dropout that drops; copies: a cast that was told to copy.
bool shares_memory(std::string_view op, const TensorLayout& in, const TensorLayout& out,
                   bool drops_or_copies);

// The strides that give `shape` on the same memory without a copy; empty where there are none.
std::vector<std::int64_t> view_strides(const TensorLayout& in, std::span<const std::int64_t> shape);

}  // namespace opscope
