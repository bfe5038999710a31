// The report in each format. For people: summary, subgraphs, savings, what was missed.
#include "report/fuse/report.h"

#include <algorithm>

#include "report/fuse/json.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

Document fuse_document(const Profile& profile, const FuseOptions& options) {
  Document document{header_cells(profile), note_lines(profile, options.text), {}};
  document.sections = {fuse_summary_section(profile), fuse_bounds_section(profile),
                       subgraphs_section(profile, options)};
  if (profile.partition().unfused_bytes > profile.partition().fused_bytes)
    document.sections.push_back(savings_section(profile, options));
  if (!profile.partition().missed.empty() && profile.partition().options.strategy == Strategy::kFused)
    document.sections.push_back(missed_section(profile, options));
  return document;
}

}  // namespace

const Metric* fuse_sort_from_name(std::string_view text, const std::string& where) {
  if (text == "order") return nullptr;
  if (find_metric(text)) return &metric_named(text, where, kSubgraphNeeds);
  throw Error("no metric called '" + std::string(text) + "'", where,
              "choose order, " + metric_choices(kSubgraphNeeds));
}

std::string fuse_report(const Profile& profile, Format format, const FuseOptions& options) {
  const auto json = [&](JsonWriter& out) {
    begin_report(out, *profile.graph);
    out.field("convention", name(profile.options.convention));
    out.field("ridge", profile.options.ridge);
    write_partition(out, profile);
    write_subgraphs(out, profile);
  };
  return to_format(
      Report{json, [&] { return table_of(subgraph_columns(profile), subgraph_costs(profile), In::kCsv); },
             [&] { return fuse_document(profile, options); }},
      format, options.text);
}

}  // namespace opscope
