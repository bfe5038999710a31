// Our groups beside another compiler's kernels -> bytes.
#pragma once

#include <string>

#include "analyse/fusion/comparison.h"
#include "report/core/document.h"

namespace opscope {

// options.top: how many rows of each table are shown to people; options.verbose: all of them. JSON and CSV
// carry everything; CSV has a row for each sort of pair that differs.
std::string to_format(const FusionComparison& comparison, Format format, const TextOptions& options);

// "layer1.0 #12" of an op: its module and its number.
std::string op_place(const Graph& graph, OpId op);

}  // namespace opscope
