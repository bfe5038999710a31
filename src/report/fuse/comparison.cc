// The comparison with another compiler: how much is the same, and what is not, each with its reason.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/fuse/report.h"
#include "report/profile/sections.h"

namespace opscope {
namespace {

// "layer1.0 #12" of an op: its module and its number.
std::string op_place(const Graph& graph, OpId op) {
  const std::string_view path = graph.path(graph.module_of(graph.ops[op]));
  return fmt::format("{}{}#{}", path, path.empty() ? "" : " ", op);
}

// "12 calls of a library, 3 loops": those that there are.
std::string counts_text(std::initializer_list<std::pair<std::uint64_t, std::string>> counts) {
  std::string text;
  for (const auto& [count, what] : counts)
    if (count) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, what);
  return text;
}

std::string kinds_text(const FusionComparison& c) {
  const auto named = [](std::uint64_t count, std::string noun) {
    return std::pair(count, count == 1 ? noun : noun + "s");
  };
  std::string text = counts_text(
      {named(c.fused, "fused loop"), named(c.templates, "template"), named(c.library_calls, "library call")});
  if (c.layout_kernels) text += fmt::format("; {} more lay memory out for a library", c.layout_kernels);
  return text;
}

std::string fates_text(const FusionComparison& c) {
  return counts_text({{c.folded, "folded into a library call"},
                      {c.split, "spread over several kernels"},
                      {c.constant, "worked out beforehand"},
                      {c.removed, "left out"},
                      {c.outside, "outside Dynamo's graphs"}});
}

Section summary_of(const FusionComparison& c) {
  const PairCounts& p = c.pairs;
  Section section{"Summary", {{words(""), number(""), words("")}, {}}};
  const auto row = [&](std::string_view label, Cell value, std::string remark) {
    section.table.add({{label, Style::kStrong}, std::move(value), std::move(remark)});
  };
  const auto share = [](double of) {
    return Cell(fmt::format("{:.3f}", of), of < 0.8 ? Style::kWarning : Style::kGood);
  };
  row("Ops", c.ops, fates_text(c));
  row("Our groups", c.groups, fmt::format("{} of them are kernels there, op for op", c.equal_groups));
  row("Their kernels", c.kernels, kinds_text(c));
  row("Pairs", p.ours() + p.theirs_only + p.neither,
      fmt::format("pairs of ops connected by a tensor: {} fused on both sides, {} only here, {} only there, "
                  "{} on neither",
                  p.both, p.ours_only, p.theirs_only, p.neither));
  row("Precision", share(p.precision()), fmt::format("{} of the {} that we have together", p.both, p.ours()));
  row("Recall", share(p.recall()), fmt::format("{} of the {} that they have together", p.both, p.theirs()));
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
  const std::size_t top = shown_of(result.size(), options);
  if (top > 0 && top < result.size())  // without rows there is no section
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
  return {{words("", 20, 30).strong(), [](Row row) { return row.from + " -> " + row.to; }},
          {"together", side<PairDifference>},
          {"from", &PairDifference::from},
          {"to", &PairDifference::to},
          {in_json("why"), &PairDifference::why},
          {keyed("pairs", number("Pairs")), &PairDifference::count},
          {keyed("bytes", number("Bytes", Unit::kBytes)), &PairDifference::bytes},
          {in_json("first_from"), &PairDifference::first_from},
          {in_json("first_to"), &PairDifference::first_to},
          {keyed("first", words("First", 12).or_not().quiet()),
           [&graph](Row row) { return op_place(graph, row.first_to); }},
          {in_csv("why"), &PairDifference::why},
          {words(is_ours ? "Why they do not" : "Why we do not", 20, 64), &PairDifference::why}};
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
          {"kind", &OtherKernel::kind},
          {"target", &OtherKernel::target},
          {"nodes", [](const OtherKernel& kernel) { return counted_from_1(kernel.nodes); }}};
}

void write_comparison(JsonWriter& json, const FusionComparison& c) {
  begin_report(json, *c.graph);
  json.fields("against", c.other->setting, "torch", c.other->version, "frozen", c.other->frozen);
  json.object("totals", [&] {
    json.fields("ops", c.ops, "groups", c.groups, "equal_groups", c.equal_groups, "kernels", c.kernels);
    json.fields("fused_kernels", c.fused, "template_kernels", c.templates);
    json.fields("extern_kernels", c.library_calls, "layout_kernels", c.layout_kernels);
    json.fields("folded_ops", c.folded, "split_ops", c.split, "constant_ops", c.constant);
    json.fields("removed_ops", c.removed, "outside_ops", c.outside);
  });
  json.object("pairs", [&, &p = c.pairs] {
    json.fields("both", p.both, "ours_only", p.ours_only, "theirs_only", p.theirs_only);
    json.fields("neither", p.neither, "unjudged", p.unjudged, "both_bytes", p.both_bytes);
    json.fields("ours_only_bytes", p.ours_only_bytes, "theirs_only_bytes", p.theirs_only_bytes);
    json.fields("precision", p.precision(), "recall", p.recall());
  });
  write_rows(json, "differences", pair_columns(*c.graph, true), c.differences);
  write_rows(json, "groups", group_columns(*c.graph), c.group_differences);
  write_rows(json, "kernels", kernel_columns(), c.other->kernels);
}

Document comparison_document(const FusionComparison& c, const TextOptions& options) {
  Document document{model_cells(*c.graph), options.notes};
  document.header.push_back({fmt::format("against {} of torch {}", c.other->setting, c.other->version)});
  document.sections.push_back(summary_of(c));
  for (const bool is_ours : {false, true}) {
    document.add(pairs_section(c, is_ours, options));
    document.add(groups_section(c, is_ours, options));
  }
  return document;
}

}  // namespace

std::string to_format(const FusionComparison& comparison, Format format, const TextOptions& options) {
  return to_format(
      Report{
          [&](JsonWriter& json) { write_comparison(json, comparison); },
          [&] { return table_of(pair_columns(*comparison.graph, true), comparison.differences, In::kCsv); },
          [&] { return comparison_document(comparison, options); }},
      format, options);
}

}  // namespace opscope
