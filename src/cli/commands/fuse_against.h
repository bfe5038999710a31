// `opscope fuse MODEL --against inductor`: Python asks Inductor for its kernels, C++ compares.
#pragma once

#include <string>

#include "analyse/fusion/comparison.h"
#include "app/models/request.h"
#include "cli/flags/flags.h"
#include "cli/output/output.h"
#include "partition/partition.h"

namespace opscope {

// Throws Error naming the choices for anything that there is nothing to compare with.
void check_against(const std::string& against);

// Captures the model anew, by Dynamo's graphs: those are what Inductor makes its kernels of. Returns the exit
// code.
int run_against(const std::string& against, const CaptureRequest& request, const PartitionOptions& partition,
                const TalkFlags& talk, const Output& output, TextOptions text);

// Throws Error for what is not such an answer.
OtherFusion parse_kernels(std::string_view json, const std::string& where);

}  // namespace opscope
