// `--partition` and `--fast-memory`: how a graph is cut into subgraphs, for every command that shows them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "partition/partition.h"

namespace opscope {

struct PartitionFlags {
  std::string strategy = "fused", fast_memory;
};

void add_partition_flags(CLI::App& app, PartitionFlags& flags);
// Throws Error for a strategy that is not known, or a size that is none.
PartitionOptions partition_options(const PartitionFlags& flags);

// "256KiB", "1MB", "1.5 GiB", "65536": bytes; throws Error saying what would do.
Count parse_bytes(const char* flag, const std::string& text);

}  // namespace opscope
