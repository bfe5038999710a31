// Everything about one node: what it is, what it takes and gives, how long its results live, its subgraph,
// and how its numbers come about.
#include <algorithm>

#include "base/text.h"
#include "report/explore/explore.h"
#include "report/hardware/hardware.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::size_t kOpsShown = 6, kNodeRowsShown = 12;

class NodeReport {
 public:
  NodeReport(const GraphView& view, std::uint32_t node, const TextOptions& options)
      : view_(view),
        profile_(*view.profile),
        graph_(*profile_.graph),
        index_(node),
        node_(view.nodes[node]),
        options_(options) {}

  Document document() const {
    Document document{header_cells(profile_), note_lines(profile_, options_), {}};
    document.sections.push_back(facts());
    if (node_.inputs.size > 0 || !weights_read(view_, node_).empty()) document.sections.push_back(takes());
    if (node_.outputs.size > 0) document.sections.push_back(gives());
    if (Section held = memory(); !held.table.rows.empty()) document.sections.push_back(std::move(held));
    if (node_.subgraph != kNone) document.sections.push_back(subgraph());
    if (node_.ops.size > 0) document.sections.push_back(numbers());
    return document;
  }

 private:
  static void add(Section& section, std::string label, std::string text, Style style = Style::kPlain) {
    section.table.add({{std::move(label), Style::kQuiet}, {std::move(text), style}});
  }
  static Section pairs(std::string title) { return {title, {{words(title), words("", 30)}, {}}}; }

  Section facts() const {
    Section section =
        pairs("Node " + std::to_string(index_ + 1) + " of " + std::to_string(view_.nodes.size()));
    add(section, "Name", std::string(node_.name), Style::kStrong);
    add(section, "Kind", std::string(node_.kind));
    if (node_.node != kNone) tracer_facts(section);
    add(section, "Target", std::string(node_.target));
    add(section, "Module", module_text());
    add(section, "Source", source_line());
    if (node_.ops.size == 0) return section;
    cost_facts(section);
    return section;
  }
  void tracer_facts(Section& section) const {
    const Node& node = graph_.nodes[node_.node];
    add(section, "Name by " + graph_.capture.tracer, std::string(graph_.text(node.name)));
    const Part& part = graph_.parts[node.part];
    if (graph_.parts.size() > 1 || part.calls > 1)
      add(section, "Graph", std::to_string(node.part + 1) + ", run " + std::to_string(part.calls) + " times");
  }
  std::string module_text() const {
    const Module& module = graph_.modules[node_.module];
    const std::string_view path = graph_.path(module);
    return (path.empty() ? "the model itself" : std::string(path)) + " (" +
           std::string(graph_.text(module.type)) + ")";
  }
  std::string source_line() const {
    if (node_.node != kNone && graph_.nodes[node_.node].source)
      return std::string(graph_.text(graph_.nodes[node_.node].source));
    for (const OpId op : view_.ops_of(node_))
      if (graph_.ops[op].source) return std::string(graph_.text(graph_.ops[op].source));
    return node_.ops.size ? "not captured: --source-lines" : "-";
  }
  void cost_facts(Section& section) const {
    const Metrics& m = node_.metrics;
    const Traffic& t = m.traffic;
    add(section, "Ops", ops_text());
    add(section, "Work",
        format_exact(m.work.macs) + " MACs, " + format_exact(m.work.other_flops) + " other flops, " +
            format_exact(m.work.specials) + " specials");
    add(section, "FLOPs",
        format_exact(m.flops) + ", " + format_percent(m.flops, profile_.totals.flops) + " of the model's, " +
            std::string(name(m.confidence)));
    add(section, "Bytes",
        format_exact(m.memory_bytes()) + " = " + format_bytes(t.input_bytes) + " read + " +
            format_bytes(t.output_bytes) + " written + " + format_bytes(t.weight_bytes) + " weights");
    if (m.counts()) {
      const Bottleneck bound = bottleneck_of(m, profile_.options.ridge);
      add(section, "Intensity",
          format_ratio(m.arithmetic_intensity()) + " FLOPs per byte by itself: " + std::string(name(bound)),
          style_of(bound));
    }
    if (is_measured(profile_)) add(section, "Time", time_text(m));
    if (has_device(profile_) && m.counts())
      add(section, "Roofline",
          roofline_text(m) + " on " + profile_.roofline.device->id + ", limited by " +
              std::string(bound_word(m)));
    add(section, "Parameters", parameters_text());
    add(section, "Memory then", alive_text());
  }
  std::string ops_text() const {
    const auto ops = view_.ops_of(node_);
    std::string text = plural(ops.size(), "op") + ": ";
    std::size_t shown = 0;
    for (const OpId op : ops) {
      if (shown++ == kOpsShown) return text + ", ...";
      text +=
          (shown > 1 ? ", " : "") + std::to_string(op) + " " + std::string(graph_.op_name(graph_.ops[op]));
    }
    return text;
  }
  // "47.9 ms, 4.7% of all ops', 4.82GFLOP/s, 36.6MB/s"
  std::string time_text(const Metrics& m) const {
    if (!m.time) return "not in any timed run, or shorter than the timer's resolution";
    std::string text =
        format_time(m.time_seconds()) + ", " + format_percent(m.time, profile_.totals.time) + " of all ops'";
    if (m.flops) text += ", " + flops_rate_text(flops_per_second(m)) + "FLOP/s";
    if (m.memory_bytes()) text += ", " + bytes_rate_text(bytes_per_second(m)) + "/s";
    return text;
  }

  std::string parameters_text() const {
    const Parameters& p = node_.parameters;
    if (!p.total && !p.buffers) return "none";
    std::string text = format_exact(p.total) + " (" + format_bytes(p.bytes) + ")";
    if (p.buffers) text += ", " + format_exact(p.buffers) + " in buffers";
    return text;
  }
  // What the run holds while the node runs: at its fullest.
  std::string alive_text() const {
    const MemoryTimeline& memory = profile_.memory();
    Count most{};
    bool at_peak = false;
    for (const OpId op : view_.ops_of(node_)) {
      most = std::max(most, memory.alive[op]);
      at_peak |= op == memory.peak_op;
    }
    std::string text = format_bytes(most) + " in use while it runs, weights apart";
    return text +
           (at_peak ? ": the model's peak" : ", " + format_percent(most, memory.peak) + " of the peak");
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
        {words("What"), [](const ValueRow& row) { return Cell(row.what, Style::kQuiet); }},
        {words("Shape"), value([this](ValueId id) { return shape_of(graph_, id); })},
        {words("Type"), value([this](ValueId id) { return name(graph_.values[id].dtype); })},
        {number("Bytes"),
         value([this](ValueId id) { return format_bytes(bytes_of(graph_, graph_.values[id])); })}};
    return limited({title, table_of(columns, rows)});
  }
  Section limited(Section section) const {
    const std::size_t all = section.table.rows.size();
    if (options_.verbose || all <= kNodeRowsShown) return section;
    section.table.rows.resize(kNodeRowsShown);
    section.remarks.push_back("and " + std::to_string(all - kNodeRowsShown) + " more: --verbose shows them");
    return section;
  }

  Section takes() const {
    std::vector<ValueRow> rows;
    for (const ViewEdge& edge : view_.inputs_of(node_))
      rows.push_back({node_text(view_, edge.from), std::string(view_.nodes[edge.from].target), edge.value});
    for (const ValueId id : weights_read(view_, node_))
      rows.push_back(
          {std::string(graph_.text(graph_.values[id].name)), std::string(name(graph_.values[id].kind)), id});
    return values("Inputs from", rows);
  }
  Section gives() const {
    std::vector<ValueRow> rows;
    for (const std::uint32_t e : view_.outputs_of(node_)) {
      const ViewEdge& edge = view_.edges[e];
      rows.push_back({node_text(view_, edge.to), std::string(view_.nodes[edge.to].target), edge.value});
    }
    return values("Outputs to", rows);
  }

  std::string at(OpId op) const { return node_text(view_, view_.node_of[op]); }
  Section memory() const {
    using Row = const HeldResult&;
    const auto op = [this](OpId op_id, const char* none) { return op_id == kNone ? none : at(op_id); };
    const Columns<HeldResult> columns{
        {words("Liveness"),
         [this](Row row) {
           return (row.made_here ? "" : "in ") + shape_of(graph_, row.value) + " " +
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
    return limited({"Liveness", table_of(columns, results_of(view_, node_))});
  }

  Section subgraph() const {
    const Partition& partition = profile_.partition();
    const Subgraph& group = partition.subgraphs[node_.subgraph];
    Section section = pairs("Subgraph #" + std::to_string(node_.subgraph + 1));
    add(section, "Type", std::string(group.type), Style::kStrong);
    add(section, "Nodes", members_text());
    add(section, "FLOPs", format_exact(group.flops));
    add(section, "Bytes",
        format_exact(group.memory_bytes()) + ", op by op " + format_exact(group.unfused_bytes) + ": " +
            format_bytes(group.saved_bytes()) + " saved");
    const Bottleneck bound = bottleneck_of(group.flops, group.memory_bytes(), profile_.options.ridge);
    const double intensity =
        group.memory_bytes() ? static_cast<double>(group.flops) / static_cast<double>(group.memory_bytes())
                             : 0;
    add(section, "Intensity", format_ratio(intensity) + " FLOPs per byte: " + std::string(name(bound)),
        style_of(bound));
    add(section, "Begins", begins_text(view_, group));
    add(section, "Ends", ends_text(view_, group));
    const auto before = partition.depends_on(group);
    add(section, "Waits for", neighbours({before.begin(), before.end()}));
    add(section, "Waited for by", neighbours(readers_of(partition, node_.subgraph)));
    const Standing standing = standing_of(view_, node_);
    if (standing.subgraphs.size() > 1)
      section.remarks.push_back("the costliest of the " + std::to_string(standing.subgraphs.size()) +
                                " that its ops are in: " + subgraphs_text(standing.subgraphs));
    return section;
  }
  std::string members_text() const {
    const std::vector<std::uint32_t> nodes = nodes_of_subgraph(view_, node_.subgraph);
    std::string text;
    for (std::size_t i = 0; i < nodes.size() && i < kNodeRowsShown; ++i)
      text += (i ? ", " : "") + node_text(view_, nodes[i]);
    return nodes.size() > kNodeRowsShown ? text + ", ..." : text;
  }
  std::string neighbours(const std::vector<SubgraphId>& ids) const {
    if (ids.empty()) return "none";
    std::string text;
    for (std::size_t i = 0; i < ids.size() && i < kOpsShown; ++i)
      text += (i ? ", " : "") + ("#" + std::to_string(ids[i] + 1) + " ") +
              std::string(profile_.partition().subgraphs[ids[i]].type);
    return ids.size() > kOpsShown ? text + ", ..." : text;
  }

  Section numbers() const {
    Section section{"Formulas"};
    const auto ops = view_.ops_of(node_);
    const std::size_t shown = options_.verbose ? ops.size() : std::min(ops.size(), kOpsShown);
    for (const OpId op : ops.subspan(0, shown)) {
      Entry entry{"op " + std::to_string(op), {}};
      const std::string text = explain(graph_, op);
      for (std::size_t begin = 0; begin < text.size();) {
        const auto end = std::min(text.find('\n', begin), text.size());
        entry.lines.push_back(text.substr(begin, end - begin));
        begin = end + 1;
      }
      section.entries.push_back(std::move(entry));
    }
    if (shown < ops.size())
      section.remarks.push_back("the first " + std::to_string(shown) + " of " + std::to_string(ops.size()) +
                                " ops: --verbose shows all");
    return section;
  }

  const GraphView& view_;
  const Profile& profile_;
  const Graph& graph_;
  std::uint32_t index_;
  const ViewNode& node_;
  const TextOptions& options_;
};

}  // namespace

std::string explore_node(const GraphView& view, std::uint32_t node, Format format,
                         const TextOptions& options) {
  return to_format(Report{[&](JsonWriter& json) { write_node(json, view, node); },
                          [&] { return nodes_table(view, {node}); },
                          [&] { return NodeReport(view, node, options).document(); }},
                   format, options);
}

}  // namespace opscope
