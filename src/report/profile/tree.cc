// The hierarchical profile: the module tree, equal numbered siblings folded into one row, cut at a depth that
// fits a screen unless told otherwise.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "analyse/tree/module_tree.h"
#include "report/profile/sections.h"
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
  key.add(text_of(outputs_cell(graph, row)));
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
    const LayerRow& layer = profile.layers()[profile.layer_of()[i]];
    if (layer.is_module || std::ranges::count(seen[module], op.target)) continue;
    if (!profile.costs[i].flops && !profile.costs[i].traffic.total()) continue;
    seen[module].push_back(op.target);
    types[module].append(types[module].empty() ? "" : ", ").append(layer.type);
  }
  return types;
}

std::string label(const TreeNode& item, const ModuleRow& row) {
  std::string text = item.name;
  if (item.repeat > 1) text = fmt::format("{} x{}", numbered_range(text, item.repeat), item.repeat);
  if (item.is_module && row.calls > 1) text += fmt::format(" ({} calls)", row.calls);
  return text;
}

// A line with what it shows.
struct ShownLine {
  const TreeNode& item;
  const ModuleRow& row;
  std::string guides;
  Metrics metrics, own;  // of all in it, and without the modules below it
  Statistics time;
  Style style;
};

Columns<ShownLine> columns(const Profile& profile, const TextOptions& options,
                           const std::vector<std::string>& own_types) {
  using Row = const ShownLine&;
  const Graph& graph = *profile.graph;
  const bool measured = is_measured(profile), device = has_device(profile);
  Column params = number("Params");
  params.optional = measured || options.predicted;
  Columns<ShownLine> result{
      {words("Module", 24),
       [](Row line) { return Cell(label(line.item, line.row), line.style, line.guides); }},
      {words("Type", 12),
       [&](Row line) {
         const ModuleId id = line.row.module;
         return line.item.is_module ? Cell(graph.text(graph.modules[id].type)) : Cell(own_types[id]);
       }},
      {params, [](Row line) {
         return line.item.is_module ? cell_of(line.row.parameters.total, Unit::kParams) : Cell("-");
       }}};
  if (options.show_shapes)
    result += {{words("Output", 10),
                [&](Row line) { return line.item.is_module ? outputs_cell(graph, line.row) : Cell(""); }}};
  if (options.predicted)
    return result += through<ShownLine>(
               &ShownLine::metrics,
               shown_columns(profile,
                             "predicted_seconds predicted_seconds% predicted_range? flops memory_bytes? "
                             "predicted_bound"));
  if (!measured) {
    const bool wide = options.width >= kWideTerminal;
    std::string names = device ? "macs? " : "macs ";
    names += wide ? "flops flops% memory_bytes memory_bytes% arithmetic_intensity"
                  : "flops memory_bytes arithmetic_intensity";
    names += device ? " roofline_seconds? predicted_seconds bound" : "";
    return result += through<ShownLine>(&ShownLine::metrics, shown_columns(profile, names));
  }
  const bool wall = has_wall(profile);
  if (wall) {
    result += through<ShownLine>(&ShownLine::metrics, shown_columns(profile, "wall_seconds wall_seconds%"));
    result += {{number("Self"), [](Row line) {
                  return line.item.is_module ? format_time(line.own.wall_seconds()) : std::string("-");
                }}};
  }
  return result +=
         timed_columns<ShownLine>(profile, &ShownLine::metrics, &ShownLine::time,
                                  wall ? "time_seconds time_seconds%?" : "time_seconds time_seconds%",
                                  wall ? "flops? memory_bytes?" : "flops memory_bytes?");
}

}  // namespace

Section tree_section(const Profile& profile, const TextOptions& options) {
  const std::vector<Metrics> own = own_metrics(profile);
  const std::vector<std::string> own_types = own_op_types(profile);
  const Tree tree(profile, own, options.fold);
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
    const auto metrics = [&, is_module = item.is_module](std::uint32_t of) -> const Metrics& {
      return is_module ? profile.modules()[of].metrics : own[profile.modules()[of].module];
    };
    const std::uint32_t at = tree.row(line.item);
    shown.push_back({item, row, std::move(line.guides), metrics(at), own[row.module], {}, style});
    is_folded |= item.repeat > 1;
    if (!times) continue;
    // Equal blocks cost the same and take as long as they take: a row has the mean of those that it stands
    // for.
    const auto blocks = tree.blocks(line.item);
    Metrics sum, own_sum;
    for (const auto block : blocks) sum += metrics(block), own_sum += own[profile.modules()[block].module];
    const Count count{blocks.size()};
    Metrics& mean = shown.back().metrics;
    mean.time = sum.time / count, mean.wall_time = sum.wall_time / count;
    shown.back().own.wall_time = own_sum.wall_time / count;
    if (!item.is_module) mean.wall_time = (sum.wall_time - sum.outside_time) / count;
    shown.back().time = item.is_module ? times->of_modules(blocks) : times->of_module_alone(at);
  }
  Section section{"Modules", table_of<ShownLine>(columns(profile, options, own_types), shown, In::kPeople,
                                                 &ShownLine::style)};
  // However deep the tree lines go, some of the name stays.
  section.table.columns[0].min_width = std::max(24, 3 * static_cast<int>(depth) + 12);
  if (depth < deepest) {
    const auto all = std::accumulate(at_depth.begin(), at_depth.end(), std::size_t{0});
    section.remarks.push_back(fmt::format("{} rows below are not shown: --depth {} shows all",
                                          all - section.table.rows.size(), deepest));
  }
  if (times && is_folded) section.remarks.push_back("rows of equal blocks show the mean of one block");
  if (profile.totals.confidence != Confidence::kExact)
    section.remarks.push_back(flops_legend(profile.totals.confidence));
  return section;
}

}  // namespace opscope
