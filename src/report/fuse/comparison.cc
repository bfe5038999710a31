// The comparison with another compiler for people: how much is the same, and what is not, each with its
// reason.
#include "report/fuse/comparison.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

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
  Section section{"Summary", {{{"", Align::kLeft}, {""}, {"", Align::kLeft}}, {}}, {}};
  const auto row = [&](std::string_view label, std::string value, std::string remark,
                       Style style = Style::kPlain) {
    section.table.rows.push_back(
        {{std::string(label), Style::kStrong}, {std::move(value), style}, {std::move(remark)}});
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

template <class Row>
std::vector<Row> side(const std::vector<Row>& rows, bool is_ours) {
  std::vector<Row> result;
  std::ranges::copy_if(rows, std::back_inserter(result),
                       [&](const Row& row) { return row.is_ours == is_ours; });
  return result;
}

// Rows that are shown, and a remark on the others.
std::size_t shown(std::size_t count, const TextOptions& options, Section& section) {
  const auto top = static_cast<std::size_t>(std::max(options.top, 0));
  if (options.verbose || count <= top) return count;
  section.remarks.push_back(fmt::format("{} more sorts; --verbose shows all", count - top));
  return top;
}

Section pairs_section(const FusionComparison& c, bool is_ours, const TextOptions& options) {
  const std::string title = is_ours ? "Fused here, not there" : "Fused there, not here";
  Section section{title,
                  {{{title, Align::kLeft, 20, false, 30},
                    {"Pairs"},
                    {"Bytes"},
                    {.title = "First", .align = Align::kLeft, .min_width = 12, .optional = true},
                    {.title = is_ours ? "Why they do not" : "Why we do not",
                     .align = Align::kLeft,
                     .min_width = 20,
                     .good_width = 64}},
                   {}},
                  {}};
  const auto rows = side(c.differences, is_ours);
  const std::size_t count = shown(rows.size(), options, section);
  for (const PairDifference& row : std::span(rows).first(count))
    section.table.rows.push_back({{row.from + " -> " + row.to, Style::kStrong},
                                  {std::to_string(row.count)},
                                  {format_bytes(row.bytes)},
                                  {op_place(*c.graph, row.first_to), Style::kQuiet},
                                  {row.why}});
  return section;
}

Section groups_section(const FusionComparison& c, bool is_ours, const TextOptions& options) {
  Section section{
      is_ours ? "Our subgraphs that are several kernels" : "Their kernels that are several subgraphs",
      {},
      {}};
  const auto rows = side(c.group_differences, is_ours);
  const std::size_t count = shown(rows.size(), options, section);
  for (const GroupDifference& row : std::span(rows).first(count)) {
    section.entries.push_back({fmt::format("{} x", row.count),
                               {row.type + ", first at " + op_place(*c.graph, row.first),
                                (is_ours ? "there: " : "here: ") + row.pieces, "why: " + row.why}});
  }
  return section;
}

std::string csv(const FusionComparison& c) {
  std::string out = "together,from,to,pairs,bytes,first,why\n";
  for (const PairDifference& row : c.differences)
    out += fmt::format("{},{},{},{},{},{},{}\n", row.is_ours ? "here" : "there", csv_field(row.from),
                       csv_field(row.to), row.count, row.bytes.value(),
                       csv_field(op_place(*c.graph, row.first_to)), csv_field(row.why));
  return out;
}

}  // namespace

std::string op_place(const Graph& graph, OpId op) {
  const std::string_view path = graph.path(graph.modules[graph.scopes[graph.ops[op].scope].module]);
  return fmt::format("{}{}#{}", path, path.empty() ? "" : " ", op);
}

Document fusion_comparison_document(const FusionComparison& c, const TextOptions& options) {
  Document document{model_cells(*c.graph), options.notes, {}};
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

std::string to_format(const FusionComparison& comparison, Format format, const TextOptions& options) {
  return in_format(
      format, options, [&] { return fusion_comparison_json(comparison); }, [&] { return csv(comparison); },
      [&] { return fusion_comparison_document(comparison, options); });
}

}  // namespace opscope
