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

// The pieces.
Document detail_document(const TraceDetail& detail, const TextOptions& options);
// One row each.
Section overview_section(const std::vector<TracerRow>& rows);
// Why rows do not work, and the reasons of graph breaks.
Section reasons_section(const std::vector<TracerRow>& rows, bool verbose);
// What was written, or why not, and what there is to note; what has a row of its own says the rest there.
void add_files(const std::vector<SavedFile>& files, bool verbose, Document& document);
// The reason, where and what to do; with `verbose` all that PyTorch said.
std::vector<std::string> failure_lines(const TraceFailure& failure, bool verbose);
std::string difference_text(std::int64_t difference);  // "same", "+1.20K", "-3"

// What a torch.profiler trace says about a model's ops: the module tree with its times, how much of the trace
// was joined, and what was not. `profile` is of the graph with the trace's measurement; `file` is the trace's
// name.
std::string joined_trace_report(const Profile& profile, const JoinedTrace& joined, const std::string& file,
                                Format format, const TextOptions& options = {});

}  // namespace opscope
