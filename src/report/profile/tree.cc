// The hierarchical profile: the module tree, equal numbered siblings folded into one row, cut at a depth that
// fits a screen unless told otherwise.
#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "analyse/tree/module_tree.h"
#include "base/text.h"
#include "report/profile/columns.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::size_t kScreenRows = 40;
constexpr int kWideTerminal = 120;  // from here on there is room for shares

// Everything that a row shows of itself; rows that show the same below them too are equal.
void add_row(const Graph& graph, const ModuleRow& row, FoldKey& key) {
  const Metrics& m = row.metrics;
  key.add(graph.modules[row.module].type).add(row.calls).add(m.ops);
  for (const Count count : {row.parameters.total, row.parameters.trainable, row.parameters.buffers,
                            m.work.macs, m.work.other_flops, m.work.specials, m.flops, m.traffic.input_bytes,
                            m.traffic.output_bytes, m.traffic.weight_bytes})
    key.add(count.value());
  if (row.output == kNone) return;
  for (const auto dim : graph.shape(graph.values[row.output])) key.add(static_cast<std::uint64_t>(dim));
}

// The rows of the table: modules, and last below a module with children the ops that it ran itself. `own` by
// module.
class Tree : public ModuleTree<TreeNode> {
 public:
  Tree(const Profile& profile, const std::vector<Metrics>& own, bool is_folded)
      : ModuleTree(module_tree<TreeNode>(profile)) {
    if (is_folded) {
      find_shapes([&](Id row, FoldKey& key) { add_row(*profile.graph, profile.modules()[row], key); });
      fold();
    }
    blocks_ = stands_for();
    for (Id row = 0; row < profile.modules().size(); ++row) {
      const Metrics& metrics = own[items[row].module];
      if (items[row].children.empty() || !(metrics.counts() || metrics.time)) continue;
      TreeNode own_ops;
      own_ops.name = "(own ops)";
      own_ops.is_module = false;
      add(std::move(own_ops), row);
    }
  }

  // Of Profile::modules.
  Id row(Id item) const { return items[item].is_module ? item : items[item].parent; }
  // The rows that a row stands for, itself first: the same place in each of the equal blocks.
  std::span<const Id> blocks(Id item) const { return blocks_[row(item)]; }

 private:
  std::vector<std::vector<Id>> blocks_;  // by row that is shown
};

// The types of a module's own ops, as "add, mul".
std::vector<std::string> own_op_types(const Profile& profile) {
  const Graph& graph = *profile.graph;
  std::vector<std::string> types(graph.modules.size());
  std::vector<std::vector<TargetId>> seen(graph.modules.size());
  for (OpId i = 0; i < graph.ops.size(); ++i) {
    const Op& op = graph.ops[i];
    const ModuleId module = graph.scopes[op.scope].module;
    if (profile.layers()[profile.layer_of()[i]].is_module || std::ranges::count(seen[module], op.target))
      continue;
    if (!profile.costs[i].flops && !profile.costs[i].traffic.total()) continue;
    seen[module].push_back(op.target);
    if (!types[module].empty()) types[module] += ", ";
    types[module] += profile.layers()[profile.layer_of()[i]].type;
  }
  return types;
}

// What each module ran itself.
struct OwnOps {
  std::vector<Metrics> metrics;
  std::vector<std::string> types;
};

// Equal blocks cost the same and take as long as they take: a row has the mean of those that it stands for.
struct Measured {
  Metrics metrics;
  Statistics time;
};
Measured measured(const Profile& profile, const OpTimes& times, const Tree& tree, std::uint32_t item,
                  const OwnOps& own) {
  const auto blocks = tree.blocks(item);
  const bool own_ops = !tree[item].is_module;
  const auto of = [&](std::uint32_t row) -> const Metrics& {
    return own_ops ? own.metrics[profile.modules()[row].module] : profile.modules()[row].metrics;
  };
  Measured result{of(tree.row(item)), {}};
  Count time;
  for (const auto row : blocks) time += of(row).time;
  result.metrics.time = time / Count{blocks.size()};
  result.time = own_ops ? times.of_module_alone(tree.row(item)) : times.of_modules(blocks);
  return result;
}

std::string label(const TreeNode& item, const ModuleRow& row) {
  std::string text = item.name;
  if (item.repeat > 1) text = numbered_range(text, item.repeat) + " x" + std::to_string(item.repeat);
  if (item.is_module && row.calls > 1) text += " (" + std::to_string(row.calls) + " calls)";
  return text;
}

// A line with what it shows.
struct ShownLine {
  const TreeNode& item;
  const ModuleRow& row;
  std::string guides;
  Metrics metrics;
  Statistics time;
  Style style;
};

Columns<ShownLine> columns(const Profile& profile, const TextOptions& options, const OwnOps& own) {
  using Row = const ShownLine&;
  const Graph& graph = *profile.graph;
  const auto metrics = [](const Columns<Metrics>& of) { return through<ShownLine>(&ShownLine::metrics, of); };
  const bool measured = is_measured(profile), device = has_device(profile);
  Column params = number("Params");
  params.optional = measured;
  Columns<ShownLine> result{
      {words("Module", 24),
       [](Row line) { return Cell(label(line.item, line.row), line.style, line.guides); }},
      {words("Type", 12),
       [&](Row line) {
         const ModuleId id = line.row.module;
         return line.item.is_module ? Cell(graph.text(graph.modules[id].type)) : Cell(own.types[id]);
       }},
      {params, [](Row line) {
         return line.item.is_module ? cell_of(line.row.parameters.total, Unit::kParams) : Cell("-");
       }}};
  if (options.show_shapes)
    result += {{words("Output", 10), [&](Row line) {
                  return line.item.is_module ? shape_cell(graph, line.row.output) : Cell("");
                }}};
  if (!measured) {
    const bool wide = options.width >= kWideTerminal;
    std::string names = device ? "macs? " : "macs ";
    names += wide ? "flops flops% memory_bytes memory_bytes% arithmetic_intensity"
                  : "flops memory_bytes arithmetic_intensity";
    return result += metrics(shown_columns(profile, names + (device ? " roofline_seconds bound" : "")));
  }
  result += metrics(shown_columns(profile, "time_seconds time_seconds%"));
  result += {{spread_column(), [](Row row) { return spread_cell(row.time); }}};
  result += metrics(shown_columns(profile, "flops memory_bytes?"));
  return result += metrics(rate_columns(profile));
}

}  // namespace

Section tree_section(const Profile& profile, const TextOptions& options) {
  const OwnOps own{own_metrics(profile), own_op_types(profile)};
  const Tree tree(profile, own.metrics, options.fold);
  const auto at_depth = tree.shown_at_depth();
  const auto deepest = static_cast<std::uint32_t>(at_depth.size() - 1);
  const std::uint32_t depth = options.depth < 0
                                  ? tree.depth_that_fits(kScreenRows)
                                  : std::min(static_cast<std::uint32_t>(options.depth), deepest);
  std::optional<OpTimes> times;
  if (is_measured(profile)) times.emplace(profile);
  bool is_folded = false;
  std::vector<ShownLine> shown;
  for (TreeLine& line : tree.lines(depth)) {
    const TreeNode& item = tree[line.item];
    const ModuleRow& row = profile.modules()[tree.row(line.item)];
    const Style style = !item.is_module || row.metrics.ops == 0 ? Style::kQuiet
                        : row.depth == 0                        ? Style::kStrong
                                                                : Style::kPlain;
    const Metrics& metrics = item.is_module ? row.metrics : own.metrics[row.module];
    shown.push_back({item, row, std::move(line.guides), metrics, {}, style});
    is_folded |= item.repeat > 1;
    if (!times) continue;
    const Measured of_line = measured(profile, *times, tree, line.item, own);
    shown.back().metrics = of_line.metrics, shown.back().time = of_line.time;
  }
  Section section{"Modules",
                  table_of<ShownLine>(columns(profile, options, own), shown, In::kPeople, &ShownLine::style)};
  // However deep the tree lines go, some of the name stays.
  section.table.columns[0].min_width = std::max(24, 3 * static_cast<int>(depth) + 12);
  if (depth < deepest) {
    const auto all = std::accumulate(at_depth.begin(), at_depth.end(), std::size_t{0});
    section.remarks.push_back(std::to_string(all - section.table.rows.size()) +
                              " rows below are not shown: --depth " + std::to_string(deepest) + " shows all");
  }
  if (times && is_folded) section.remarks.push_back("rows of equal blocks show the mean of one block");
  if (profile.totals.confidence != Confidence::kExact)
    section.remarks.push_back(flops_legend(profile.totals.confidence));
  return section;
}

}  // namespace opscope
