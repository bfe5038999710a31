// The sections of a profile's report, which reports of other things show as well.
#pragma once

#include <string_view>

#include "analyse/profile/profile.h"
#include "base/json_writer.h"
#include "report/core/document.h"
#include "report/core/report.h"
#include "report/core/table.h"

namespace opscope {

inline bool is_measured(const Profile& profile) { return !profile.graph->measurement.empty(); }
inline bool has_device(const Profile& profile) { return profile.roofline.device != nullptr; }

std::vector<Cell> model_cells(const Graph& graph);  // the model, where it is from, its inputs
std::vector<Cell> header_cells(const Profile& profile);
// all_breaks: a line for each graph break, also where not everything was asked for.
std::vector<std::string> note_lines(const Profile& profile, const TextOptions& options,
                                    bool all_breaks = false);
// The tree of modules, or the pieces that were asked for.
Section pieces_section(const Profile& profile, const TextOptions& options);
Section tree_section(const Profile& profile, const TextOptions& options);
Section summary_section(const Profile& profile);
Section breakdown_section(const Profile& profile, const TextOptions& options);
Section bottleneck_section(const Profile& profile);
Section top_layers_section(const Profile& profile, const TextOptions& options);
Section parts_section(const Profile& profile);

// Graph breaks in a line each: "break 1 after graph 1 at model.py:42: a call of print", the graph where there
// are several; those of one place and reason together: "breaks 1, 3 at ...". With `verbose` each on its own,
// and all that PyTorch says on lines of its own.
std::vector<std::string> break_lines(const std::vector<Break>& breaks, bool in_several, bool verbose);
std::uint64_t slow_path_ops(const CaptureInfo& capture);
// "forward, from line 14 on" for what Dynamo calls "torch_dynamo_resume_in_forward_at_14".
std::string function_text(std::string_view name);

void write_profile(JsonWriter& json, const Profile& profile);
// One field of it: "totals", "layers", ...; nothing where the profile has no such part. Throws Error for a
// name that is none.
void write_profile_part(JsonWriter& json, const Profile& profile, std::string_view part);
Table profile_rows(const Profile& profile, Level level);  // CSV: of modules or layers

}  // namespace opscope
