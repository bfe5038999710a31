// Everything about one node: what it is, what it takes and gives, how long its results live, its subgraph,
// and how its numbers come about.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "analyse/fusion/subgraphs.h"
#include "base/text.h"
#include "report/explore/explore.h"
#include "report/hardware/hardware.h"
#include "report/predict/predict.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::size_t kOpsShown = 6, kNodeRowsShown = 12;

// "a, b, c", and ", ..." where there are more than `most`.
std::string first_few(const auto& items, std::size_t most, const auto& text) {
  const auto shown = items | std::views::take(most) | std::views::transform(text);
  return fmt::format("{}{}", fmt::join(shown, ", "), items.size() > most ? ", ..." : "");
}

struct NodeReport {
  const GraphView& view;
  std::uint32_t index;
  const TextOptions& options;
  const Profile& profile = *view.profile;
  const Graph& graph = *profile.graph;
  const ViewNode& node = view.nodes[index];

  std::vector<Section> sections() const {
    std::vector<Section> sections{facts()};
    if (node.inputs.size > 0 || !weights_read(view, node).empty()) sections.push_back(takes());
    if (node.outputs.size > 0) sections.push_back(gives());
    if (Section held = memory(); !held.table.rows.empty()) sections.push_back(std::move(held));
    if (node.subgraph != kNone) sections.push_back(subgraph());
    if (node.ops.size > 0) sections.push_back(numbers());
    return sections;
  }

  // Labels, each with what is to say about it.
  struct Pairs : Section {
    explicit Pairs(const std::string& heading)
        : Section{heading, {{words(heading).quiet(), words("", 30)}, {}}} {}
    void add(std::string label, std::string text, Style style = Style::kPlain) {
      table.add({std::move(label), {std::move(text), style}});
    }
  };

  Section facts() const {
    Pairs section(fmt::format("Node {} of {}", index + 1, view.nodes.size()));
    section.add("Name", std::string(node.name), Style::kStrong);
    section.add("Kind", std::string(node.kind));
    if (node.node != kNone) {
      const Node& traced = graph.nodes[node.node];
      section.add("Name by " + graph.capture.tracer, std::string(graph.text(traced.name)));
      const std::uint32_t calls = graph.parts[traced.part].calls;
      if (graph.parts.size() > 1 || calls > 1)
        section.add("Graph", fmt::format("{}, run {} times", traced.part + 1, calls));
    }
    section.add("Target", std::string(node.target));
    const Module& module = graph.modules[node.module];
    const std::string_view path = graph.path(module);
    section.add("Module",
                fmt::format("{} ({})", path.empty() ? "the model itself" : path, graph.text(module.type)));
    section.add("Source", source_line());
    if (node.ops.size > 0) cost_facts(section);
    return section;
  }
  std::string source_line() const {
    if (node.node != kNone && graph.nodes[node.node].source)
      return std::string(graph.text(graph.nodes[node.node].source));
    for (const OpId op : view.ops_of(node))
      if (graph.ops[op].source) return std::string(graph.text(graph.ops[op].source));
    return node.ops.size ? "not captured: --source-lines" : "-";
  }
  void cost_facts(Pairs& section) const {
    const Metrics& m = node.metrics;
    const Traffic& t = m.traffic;
    const auto op_text = [&](OpId op) { return fmt::format("{} {}", op, graph.op_name(graph.ops[op])); };
    section.add("Ops", plural(node.ops.size, "op") + ": " + first_few(view.ops_of(node), kOpsShown, op_text));
    section.add("Work", fmt::format("{} MACs, {} other flops, {} specials", format_exact(m.work.macs),
                                    format_exact(m.work.other_flops), format_exact(m.work.specials)));
    section.add("FLOPs", fmt::format("{}, {} of the model's, {}", format_exact(m.flops),
                                     format_percent(m.flops, profile.totals.flops), name(m.confidence)));
    section.add("Bytes", fmt::format("{} = {} read + {} written + {} weights", format_exact(m.memory_bytes()),
                                     format_bytes(t.input_bytes), format_bytes(t.output_bytes),
                                     format_bytes(t.weight_bytes)));
    if (m.counts()) {
      const Bottleneck bound = bottleneck_of(m, profile.options.ridge);
      section.add(
          "Intensity",
          fmt::format("{} FLOPs per byte by itself: {}", format_ratio(m.arithmetic_intensity()), name(bound)),
          style_of(bound));
    }
    if (is_measured(profile)) section.add("Time", time_text(m));
    if (has_device(profile) && m.counts())
      section.add("Roofline", fmt::format("{} on {}, limited by {}", roofline_text(m),
                                          profile.roofline.device->id, bound_word(m)));
    if (is_predicted(profile) && m.predicted_time)
      section.add("Predicted",
                  fmt::format("{}, {}, {} of the run", predicted_text(m), predicted_range_text(profile, m),
                              format_percent(m.predicted_time, profile.totals.predicted_time)));
    section.add("Parameters", parameters_text());
    section.add("Memory then", alive_text());
  }
  // "47.9 ms, 4.7% of all ops', 4.82GFLOP/s, 36.6MB/s"
  std::string time_text(const Metrics& m) const {
    if (!m.time) return "not in any timed run, or shorter than the timer's resolution";
    std::string text = fmt::format("{}, {} of all ops'", format_time(m.time_seconds()),
                                   format_percent(m.time, profile.totals.time));
    if (m.flops) text += ", " + flops_rate_text(flops_per_second(m)) + "FLOP/s";
    if (m.memory_bytes()) text += ", " + bytes_rate_text(bytes_per_second(m)) + "/s";
    return text;
  }

  std::string parameters_text() const {
    const Parameters& p = node.parameters;
    if (!p.total && !p.buffers) return "none";
    std::string text = format_exact(p.total) + " (" + format_bytes(p.bytes) + ")";
    if (p.buffers) text += ", " + format_exact(p.buffers) + " in buffers";
    return text;
  }
  // What the run holds while the node runs: at its fullest.
  std::string alive_text() const {
    const MemoryTimeline& timeline = profile.memory();
    Count most{};
    bool at_peak = false;
    for (const OpId op : view.ops_of(node)) {
      most = std::max(most, timeline.alive[op]);
      at_peak |= op == timeline.peak_op;
    }
    return format_bytes(most) + " in use while it runs, weights apart" +
           (at_peak ? ": the model's peak" : ", " + format_percent(most, timeline.peak) + " of the peak");
  }

  // A tensor between this node and who gives or takes it.
  struct ValueRow {
    std::string who, what;
    ValueId id;
  };
  Section values(const std::string& title, const std::vector<ValueRow>& rows) const {
    const auto value = [this](const auto& read) {
      return [this, read](const ValueRow& row) { return row.id == kNone ? Cell("-") : Cell(read(row.id)); };
    };
    const Columns<ValueRow> columns{
        {words(title, 20, 40), &ValueRow::who},
        {words("What").quiet(), &ValueRow::what},
        {words("Shape"), value([this](ValueId id) { return shape_text(graph, id); })},
        {words("Type"), value([this](ValueId id) { return name(graph.values[id].dtype); })},
        {number("Bytes"),
         value([this](ValueId id) { return format_bytes(bytes_of(graph, graph.values[id])); })}};
    return limited({title, table_of(columns, rows)});
  }
  Section limited(Section section) const {
    const std::size_t all = section.table.rows.size();
    if (options.verbose || all <= kNodeRowsShown) return section;
    section.table.rows.resize(kNodeRowsShown);
    section.remarks.push_back(fmt::format("and {} more: --verbose shows them", all - kNodeRowsShown));
    return section;
  }

  Section takes() const {
    std::vector<ValueRow> rows;
    for (const ViewEdge& edge : view.inputs_of(node))
      rows.push_back({node_text(view, edge.from), std::string(view.nodes[edge.from].target), edge.value});
    for (const ValueId id : weights_read(view, node))
      rows.push_back(
          {std::string(graph.text(graph.values[id].name)), std::string(name(graph.values[id].kind)), id});
    return values("Inputs from", rows);
  }
  Section gives() const {
    std::vector<ValueRow> rows;
    for (const std::uint32_t e : view.outputs_of(node)) {
      const ViewEdge& edge = view.edges[e];
      rows.push_back({node_text(view, edge.to), std::string(view.nodes[edge.to].target), edge.value});
    }
    return values("Outputs to", rows);
  }

  Section memory() const {
    using Row = const HeldResult&;
    const auto op = [this](OpId op_id, const char* none) {
      return op_id == kNone ? none : node_text(view, view.node_of[op_id]);
    };
    const Columns<HeldResult> columns{
        {words("Liveness"),
         [this](Row row) {
           return (row.made_here ? "" : "in ") + shape_text(graph, row.value) + " " +
                  std::string(name(row.piece.kind));
         }},
        {number("Bytes"), [](Row row) { return format_bytes(row.piece.bytes); }},
        {words("Made by", 12, 24),
         [=](Row row) { return op(row.piece.held.made, "allocated before the run"); }},
        {words("Last read by", 12, 24), [=](Row row) { return op(row.piece.last_use, "nobody"); }},
        {words("Freed after", 12, 24), [=](Row row) {
           const bool weight = row.piece.kind == MemoryKind::kWeights;
           return op(weight ? kNone : row.piece.held.freed, "held to the end");
         }}};
    return limited({"Liveness", table_of(columns, results_of(view, node))});
  }

  Section subgraph() const {
    const Partition& partition = profile.partition();
    const Subgraph& group = partition.subgraphs[node.subgraph];
    const auto member_text = [&](std::uint32_t n) { return node_text(view, n); };
    const auto neighbours = [&](const auto& ids) {
      const auto text = [&](SubgraphId id) {
        return fmt::format("#{} {}", id + 1, partition.subgraphs[id].type);
      };
      return ids.empty() ? "none" : first_few(ids, kOpsShown, text);
    };
    Pairs section(fmt::format("Subgraph #{}", node.subgraph + 1));
    section.add("Type", std::string(group.type), Style::kStrong);
    section.add("Nodes", first_few(nodes_of_subgraph(view, node.subgraph), kNodeRowsShown, member_text));
    section.add("FLOPs", format_exact(group.flops));
    section.add("Bytes", fmt::format("{}, op by op {}: {} saved", format_exact(group.memory_bytes()),
                                     format_exact(group.unfused_bytes), format_bytes(group.saved_bytes())));
    const Bottleneck bound = bottleneck_of(profile, group);
    section.add("Intensity",
                fmt::format("{} FLOPs per byte: {}", format_ratio(ratio(group.flops, group.memory_bytes())),
                            name(bound)),
                style_of(bound));
    section.add("Begins", border_text(view, "after", group.begins, group.begins_at));
    section.add("Ends", border_text(view, "before", group.ends, group.ends_at));
    section.add("Waits for", neighbours(partition.depends_on(group)));
    section.add("Waited for by", neighbours(readers_of(partition, node.subgraph)));
    if (const auto all = subgraphs_of(partition, view.ops_of(node)); all.size() > 1)
      section.remarks.push_back(
          fmt::format("the costliest of the {} that its ops are in: {}", all.size(), subgraphs_text(all)));
    return section;
  }

  Section numbers() const {
    Section section{"Formulas"};
    const auto ops = view.ops_of(node);
    const std::size_t shown = options.verbose ? ops.size() : std::min(ops.size(), kOpsShown);
    for (const OpId op : ops.first(shown))
      section.entries.push_back({fmt::format("op {}", op), explained_lines(*view.profile, op)});
    if (shown < ops.size())
      section.remarks.push_back(
          fmt::format("the first {} of {} ops: --verbose shows all", shown, ops.size()));
    return section;
  }
};

}  // namespace

std::string explore_node(const GraphView& view, std::uint32_t node, Format format,
                         const TextOptions& options) {
  const NodeReport report{view, node, options};
  const auto sections = [&] { return report.sections(); };
  return explore_report(view, format, options, {.nodes = {node}, .sections = sections, .details = true});
}

}  // namespace opscope
