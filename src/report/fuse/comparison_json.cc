// The comparison with another compiler as JSON. Nodes count from 1, ops from 0, as in the profile.
#include "report/core/json_parts.h"
#include "report/fuse/comparison.h"

namespace opscope {
namespace {

void write_counts(const FusionComparison& c, JsonWriter& json) {
  json.key("totals");
  json.begin_object();
  json.field("ops", c.ops);
  json.field("groups", c.groups);
  json.field("equal_groups", c.equal_groups);
  json.field("kernels", c.kernels);
  json.field("fused_kernels", c.fused);
  json.field("template_kernels", c.templates);
  json.field("extern_kernels", c.library_calls);
  json.field("layout_kernels", c.layout_kernels);
  json.field("folded_ops", c.folded);
  json.field("split_ops", c.split);
  json.field("constant_ops", c.constant);
  json.field("removed_ops", c.removed);
  json.field("outside_ops", c.outside);
  json.end_object();
}

void write_pairs(const PairCounts& pairs, JsonWriter& json) {
  json.key("pairs");
  json.begin_object();
  json.field("both", pairs.both);
  json.field("ours_only", pairs.ours_only);
  json.field("theirs_only", pairs.theirs_only);
  json.field("neither", pairs.neither);
  json.field("unjudged", pairs.unjudged);
  json.field("both_bytes", pairs.both_bytes);
  json.field("ours_only_bytes", pairs.ours_only_bytes);
  json.field("theirs_only_bytes", pairs.theirs_only_bytes);
  json.field("precision", pairs.precision());
  json.field("recall", pairs.recall());
  json.end_object();
}

std::string_view side(bool is_ours) { return is_ours ? "here" : "there"; }

}  // namespace

std::string fusion_comparison_json(const FusionComparison& c) {
  std::string out;
  JsonWriter json(out);
  begin_report(json, *c.graph);
  json.field("against", c.other->setting);
  json.field("torch", c.other->version);
  json.field("frozen", c.other->frozen);
  write_counts(c, json);
  write_pairs(c.pairs, json);
  json.objects("differences", c.differences, [&](const PairDifference& row) {
    json.field("together", side(row.is_ours));
    json.field("from", row.from);
    json.field("to", row.to);
    json.field("why", row.why);
    json.field("pairs", row.count);
    json.field("bytes", row.bytes);
    json.field("first_from", row.first_from);
    json.field("first_to", row.first_to);
    json.field("first", op_place(*c.graph, row.first_to));
  });
  json.objects("groups", c.group_differences, [&](const GroupDifference& row) {
    json.field("together", side(row.is_ours));
    json.field("type", row.type);
    json.field("pieces", row.pieces);
    json.field("why", row.why);
    json.field("count", row.count);
    json.field("first", op_place(*c.graph, row.first));
  });
  json.objects("kernels", c.other->kernels, [&](const OtherKernel& kernel) {
    json.field("name", kernel.name);
    json.field("kind", name(kernel.kind));
    json.field("target", kernel.target);
    std::vector<std::uint64_t> nodes;
    for (const NodeId node : kernel.nodes) nodes.push_back(node + std::uint64_t{1});
    json.list("nodes", nodes);
  });
  json.end_object();
  out += '\n';
  return out;
}

}  // namespace opscope
