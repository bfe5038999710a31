// What a torch.profiler trace says about a model's ops: the module tree with its times, how much of the trace
// was joined, and what was not.
#pragma once

#include <string>

#include "analyse/trace/joined.h"
#include "report/core/document.h"

namespace opscope {

// `profile` is of the graph with the trace's measurement; `file` is the trace's name.
std::string joined_trace_report(const Profile& profile, const JoinedTrace& joined, const std::string& file,
                                Format format, const TextOptions& options = {});

// The two forms that are not made from documents.
void write_joined_trace(JsonWriter& json, const Profile& profile, const JoinedTrace& joined,
                        const std::string& file);
Table joined_trace_rows(const Profile& profile, const JoinedTrace& joined);  // one row per op

}  // namespace opscope
