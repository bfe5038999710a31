// Memory over time for people and for programs: `opscope memory`, and the timeline for `opscope plot memory`.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "analyse/memory/memory.h"
#include "report/core/document.h"

namespace opscope {

std::string to_format(const MemoryReport& report, Format format, const TextOptions& options = {});

// The timeline as a picture: stacked areas by kind, the peak and the phases marked.
std::string memory_svg(const MemoryReport& report);
// The same in characters, lines of at most options.width columns, each with its end.
std::string memory_plot(const MemoryReport& report, const TextOptions& options);

// `memory` of a profile's JSON: the peak, where it is, its split and the phases.
void write_memory(JsonWriter& json, const Profile& profile);

// "weights_bytes", "kv_cache_bytes": a column of programs for each kind.
Columns<MemorySplit> split_columns();
// "438.0MB weights + 3.2MB activations", the largest first; what is nothing is left out. Of more than
// `most` and one, the rest is "other".
std::string split_text(const MemorySplit& split, std::size_t most = kMemoryKinds);
// "with cuBLAS and cuDNN 68.2MB more", or an interval.
std::string library_text(const LibraryWorkspace& library);
// "KV cache", "activations": a kind as people say it.
std::string_view title(MemoryKind kind);

// Bottom to top, as the areas are stacked; weights below them all.
inline constexpr MemoryKind kStacking[] = {
    MemoryKind::kWeights, MemoryKind::kOptimizerState, MemoryKind::kKvCache,  MemoryKind::kGradients,
    MemoryKind::kInputs,  MemoryKind::kActivations,    MemoryKind::kWorkspace};
// Those that are in use at some time.
std::vector<MemoryKind> kinds_in_use(std::span<const MemorySplit> splits);

}  // namespace opscope
