// The comparison with another compiler: how much is the same, and what is not, each with its reason.
#include "report/fuse/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

std::string share_text(double share) { return fmt::format("{:.3f}", share); }

std::string counted(std::uint64_t count, std::string_view what) { return fmt::format("{} {}", count, what); }

// "12 calls of a library, 3 loops": those that there are.
std::string kinds_text(const FusionComparison& c) {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view noun) {
    if (count) text += (text.empty() ? "" : ", ") + plural(count, noun);
  };
  add(c.fused, "fused loop");
  add(c.templates, "template");
  add(c.library_calls, "library call");
  if (c.layout_kernels) text += fmt::format("; {} more lay memory out for a library", c.layout_kernels);
  return text;
}

std::string fates_text(const FusionComparison& c) {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count) text += (text.empty() ? "" : ", ") + counted(count, what);
  };
  add(c.folded, "folded into a library call");
  add(c.split, "spread over several kernels");
  add(c.constant, "worked out beforehand");
  add(c.removed, "left out");
  add(c.outside, "outside Dynamo's graphs");
  return text;
}

Section summary_of(const FusionComparison& c) {
  const PairCounts& p = c.pairs;
  Section section{"Summary", {{words(""), number(""), words("")}, {}}};
  const auto row = [&](std::string_view label, std::string value, std::string remark,
                       Style style = Style::kPlain) {
    section.table.add({{label, Style::kStrong}, {std::move(value), style}, std::move(remark)});
  };
  row("Ops", std::to_string(c.ops), fates_text(c));
  row("Our groups", std::to_string(c.groups),
      fmt::format("{} of them are kernels there, op for op", c.equal_groups));
  row("Their kernels", std::to_string(c.kernels), kinds_text(c));
  row("Pairs", std::to_string(p.ours() + p.theirs_only + p.neither),
      fmt::format("pairs of ops connected by a tensor: {} fused on both sides, {} only here, {} only there, "
                  "{} on neither",
                  p.both, p.ours_only, p.theirs_only, p.neither));
  row("Precision", share_text(p.precision()),
      fmt::format("{} of the {} that we have together", p.both, p.ours()),
      p.precision() < 0.8 ? Style::kWarning : Style::kGood);
  row("Recall", share_text(p.recall()),
      fmt::format("{} of the {} that they have together", p.both, p.theirs()),
      p.recall() < 0.8 ? Style::kWarning : Style::kGood);
  row("Stays inside", format_bytes(p.both_bytes + p.ours_only_bytes),
      fmt::format("of values in our groups; {} in their kernels, {} in both",
                  format_bytes(p.both_bytes + p.theirs_only_bytes), format_bytes(p.both_bytes)));
  if (p.unjudged)
    section.remarks.push_back(
        fmt::format("{} not compared: an op has no kernel there", plural(p.unjudged, "pair")));
  return section;
}

// Rows of one side that are shown, and a remark on the others.
template <class Row>
std::vector<Row> shown(const std::vector<Row>& rows, bool is_ours, const TextOptions& options,
                       Section& section) {
  std::vector<Row> result;
  std::ranges::copy_if(rows, std::back_inserter(result),
                       [&](const Row& row) { return row.is_ours == is_ours; });
  const auto top = static_cast<std::size_t>(std::max(options.top, 0));
  if (options.verbose || result.size() <= top) return result;
  section.remarks.push_back(fmt::format("{} more sorts; --verbose shows all", result.size() - top));
  result.resize(top);
  return result;
}

template <class Row>
std::string_view side(const Row& row) {
  return row.is_ours ? "here" : "there";
}

Columns<PairDifference> pair_columns(const Graph& graph, bool is_ours) {
  using Row = const PairDifference&;
  const auto first = [&graph](Row row) { return Cell(op_place(graph, row.first_to), Style::kQuiet); };
  const Columns<PairDifference> why{{"why", &PairDifference::why}};
  Columns<PairDifference> columns{
      {words("", 20, 30), [](Row row) { return Cell(row.from + " -> " + row.to, Style::kStrong); }},
      {"together", side<PairDifference>},
      {"from", &PairDifference::from},
      {"to", &PairDifference::to}};
  columns += in_format_alone(In::kJson, why);
  columns += {{keyed("pairs", number("Pairs")), &PairDifference::count},
              {keyed("bytes", number("Bytes", Unit::kBytes)), &PairDifference::bytes},
              {{.key = "first_from", .in = In::kJson}, &PairDifference::first_from},
              {{.key = "first_to", .in = In::kJson}, &PairDifference::first_to},
              {keyed("first", words("First", 12).or_not()), first}};
  columns += in_format_alone(In::kCsv, why);
  return columns += {{words(is_ours ? "Why they do not" : "Why we do not", 20, 64), &PairDifference::why}};
}

Section pairs_section(const FusionComparison& c, bool is_ours, const TextOptions& options) {
  Section section{is_ours ? "Fused here, not there" : "Fused there, not here"};
  section.table = table_of(pair_columns(*c.graph, is_ours), shown(c.differences, is_ours, options, section));
  section.table.columns.front().title = section.title;
  return section;
}

Section groups_section(const FusionComparison& c, bool is_ours, const TextOptions& options) {
  Section section{is_ours ? "Our subgraphs that are several kernels"
                          : "Their kernels that are several subgraphs"};
  for (const GroupDifference& row : shown(c.group_differences, is_ours, options, section))
    section.entries.push_back({fmt::format("{} x", row.count),
                               {row.type + ", first at " + op_place(*c.graph, row.first),
                                (is_ours ? "there: " : "here: ") + row.pieces, "why: " + row.why}});
  return section;
}

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

Columns<GroupDifference> group_columns(const Graph& graph) {
  return {{"together", side<GroupDifference>},
          {"type", &GroupDifference::type},
          {"pieces", &GroupDifference::pieces},
          {"why", &GroupDifference::why},
          {"count", &GroupDifference::count},
          {"first", [&graph](const GroupDifference& row) { return op_place(graph, row.first); }}};
}

// Nodes count from 1, ops from 0, as in the profile.
Columns<OtherKernel> kernel_columns() {
  return {{"name", &OtherKernel::name},
          {"kind", [](const OtherKernel& kernel) { return name(kernel.kind); }},
          {"target", &OtherKernel::target},
          {"nodes", [](const OtherKernel& kernel) {
             Numbers nodes;
             for (const NodeId node : kernel.nodes) nodes.push_back(std::int64_t{node} + 1);
             return nodes;
           }}};
}

void write_comparison(JsonWriter& json, const FusionComparison& c) {
  begin_report(json, *c.graph);
  json.field("against", c.other->setting);
  json.field("torch", c.other->version);
  json.field("frozen", c.other->frozen);
  write_counts(c, json);
  write_pairs(c.pairs, json);
  write_rows(json, "differences", pair_columns(*c.graph, true), c.differences);
  write_rows(json, "groups", group_columns(*c.graph), c.group_differences);
  write_rows(json, "kernels", kernel_columns(), c.other->kernels);
}

Document comparison_document(const FusionComparison& c, const TextOptions& options) {
  Document document{model_cells(*c.graph), options.notes};
  document.header.push_back({fmt::format("against {} of torch {}", c.other->setting, c.other->version)});
  document.sections.push_back(summary_of(c));
  for (const bool is_ours : {false, true}) {
    if (Section pairs = pairs_section(c, is_ours, options); !pairs.table.rows.empty())
      document.sections.push_back(std::move(pairs));
    if (Section groups = groups_section(c, is_ours, options); !groups.entries.empty())
      document.sections.push_back(std::move(groups));
  }
  return document;
}

}  // namespace

std::string op_place(const Graph& graph, OpId op) {
  const std::string_view path = graph.path(graph.modules[graph.scopes[graph.ops[op].scope].module]);
  return fmt::format("{}{}#{}", path, path.empty() ? "" : " ", op);
}

std::string to_format(const FusionComparison& comparison, Format format, const TextOptions& options) {
  return to_format(
      Report{
          [&](JsonWriter& json) { write_comparison(json, comparison); },
          [&] { return table_of(pair_columns(*comparison.graph, true), comparison.differences, In::kCsv); },
          [&] { return comparison_document(comparison, options); }},
      format, options);
}

}  // namespace opscope
