// The report in each format. For people: summary, subgraphs, savings, what was missed.
#include "report/fuse/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "analyse/fusion/subgraphs.h"
#include "report/core/json_parts.h"
#include "report/fuse/json.h"
#include "report/hardware/hardware.h"

namespace opscope {
namespace {

Document fuse_document(const Profile& profile, const FuseOptions& options) {
  Document document{header_cells(profile), note_lines(profile, options.text), {}};
  document.sections = {fuse_summary_section(profile), fuse_bounds_section(profile),
                       subgraphs_section(profile, options)};
  if (profile.partition.unfused_bytes > profile.partition.fused_bytes)
    document.sections.push_back(savings_section(profile, options));
  if (!profile.partition.missed.empty() && profile.partition.options.strategy == Strategy::kFused)
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

std::string fuse_json(const Profile& profile) {
  std::string out;
  JsonWriter json(out);
  begin_report(json, *profile.graph);
  json.field("convention", name(profile.options.convention));
  json.field("ridge", profile.options.ridge);
  write_partition(json, profile);
  write_subgraphs(json, profile);
  json.end_object();
  return out + "\n";
}

// One row a subgraph; lists in one field, with spaces between.
std::string fuse_csv(const Profile& profile) {
  std::string out =
      "id,type,category,module,ops,macs,other_flops,specials,flops,input_bytes,output_bytes,weight_bytes,"
      "memory_bytes,"
      "unfused_bytes,saved_bytes,working_set_bytes,arithmetic_intensity,bottleneck,parallelism,confidence,"
      "depends_on,"
      "begins,ends";
  out.append(has_device(profile) ? ",roofline_seconds,bound" : "").append("\n");
  const auto add = std::back_inserter(out);
  const Partition& partition = profile.partition;
  for (SubgraphId id = 0; id < partition.subgraphs.size(); ++id) {
    const Subgraph& s = partition.subgraphs[id];
    const Metrics metrics = metrics_of(profile, s);
    std::vector<SubgraphId> before;
    for (const SubgraphId other : partition.depends_on(s)) before.push_back(other + 1);
    fmt::format_to(add, "{},{},{},{},{}", id + 1, csv_field(s.type), name(s.category),
                   csv_field(profile.graph->path(profile.graph->modules[s.module])),
                   fmt::join(partition.ops_of(s), " "));
    for (const Count number : {s.work.macs, s.work.other_flops, s.work.specials, s.flops,
                               s.traffic.input_bytes, s.traffic.output_bytes, s.traffic.weight_bytes,
                               s.memory_bytes(), s.unfused_bytes, s.saved_bytes(), s.working_set_bytes})
      fmt::format_to(add, ",{}", number.value());
    fmt::format_to(add, ",{},{},{},{},{},{},{}", metrics.arithmetic_intensity(),
                   name(bottleneck_of(profile, s)), s.parallelism.value(), name(s.confidence),
                   fmt::join(before, " "), name(s.begins), name(s.ends));
    out.append(has_device(profile) ? csv_roofline(kernel_roofline(profile, id)) : "").append("\n");
  }
  return out;
}

std::string fuse_report(const Profile& profile, Format format, const FuseOptions& options) {
  return in_format(
      format, options.text, [&] { return fuse_json(profile); }, [&] { return fuse_csv(profile); },
      [&] { return fuse_document(profile, options); });
}

}  // namespace opscope
