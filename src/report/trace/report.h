// What tracers make of a model -> bytes: the comparison of several, and one tracer's graph in full.
#pragma once

#include <string>

#include "analyse/trace/joined.h"
#include "analyse/trace/trace.h"
#include "report/core/document.h"

namespace opscope {

// options.top: how many nodes are shown to people; options.verbose: all of them, and all that
// PyTorch said. JSON and CSV carry everything.
std::string to_format(const TraceComparison& comparison, Format format, const TextOptions& options);
std::string to_format(const TraceDetail& detail, Format format, const TextOptions& options);

// The reason, where and what to do; with `verbose` all that PyTorch said.
std::vector<std::string> failure_lines(const TraceFailure& failure, bool verbose);

// What a torch.profiler trace says about a model's ops: the module tree with its times, how much of the trace
// was joined, and what was not. `profile` is of the graph with the trace's measurement; `file` is the trace's
// name.
std::string joined_trace_report(const Profile& profile, const JoinedTrace& joined, const std::string& file,
                                Format format, const TextOptions& options = {});

}  // namespace opscope
