// The hierarchical profile: the module tree, equal numbered siblings folded into one row, cut at a depth that
// fits a screen unless told otherwise.
#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "analyse/tree/module_tree.h"
#include "base/text.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"
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
      find_shapes([&](Id row, FoldKey& key) { add_row(*profile.graph, profile.modules[row], key); });
      fold();
    }
    blocks_ = stands_for();
    for (Id row = 0; row < profile.modules.size(); ++row) {
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
    if (profile.layers[profile.layer_of[i]].is_module || std::ranges::count(seen[module], op.target))
      continue;
    if (!profile.costs[i].flops && !profile.costs[i].traffic.total()) continue;
    seen[module].push_back(op.target);
    if (!types[module].empty()) types[module] += ", ";
    types[module] += profile.layers[profile.layer_of[i]].type;
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
    return own_ops ? own.metrics[profile.modules[row].module] : profile.modules[row].metrics;
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

std::vector<Column> columns(const Profile& profile, const TextOptions& options) {
  std::vector<Column> result{{"Module", Align::kLeft, 24},
                             {"Type", Align::kLeft, 12},
                             {.title = "Params", .optional = is_measured(profile)}};
  if (options.show_shapes) result.push_back({"Output", Align::kLeft, 10});
  if (is_measured(profile)) {
    append(result, time_columns());
    append(result, {{"FLOPs"}, {.title = "Memory", .optional = true}});
    append(result, rate_columns(profile));
    return result;
  }
  result.push_back({.title = "MACs", .optional = has_device(profile)});
  for (const char* title : {"FLOPs", "Memory", "AI"}) result.push_back({title});
  if (options.width >= kWideTerminal)
    result.insert(result.end() - 2, {"% FLOPs"}), result.insert(result.end() - 1, {"% Mem"});
  if (has_device(profile)) append(result, {{"Roofline"}, {"Bound", Align::kLeft}});
  return result;
}

std::vector<Cell> cells(const Profile& profile, const TextOptions& options, const TreeNode& item,
                        const ModuleRow& row, std::string guides, const OwnOps& own,
                        const std::optional<Measured>& measured) {
  const Graph& graph = *profile.graph;
  const bool own_ops = !item.is_module;
  const Metrics& metrics = own_ops ? own.metrics[row.module] : row.metrics;
  const Style style = own_ops || row.metrics.ops == 0 ? Style::kQuiet
                      : row.depth == 0                ? Style::kStrong
                                                      : Style::kPlain;
  std::vector<Cell> result{{label(item, row), style, std::move(guides)}};
  const auto add = [&](std::string text) { result.push_back({std::move(text), style}); };
  add(own_ops ? own.types[row.module] : std::string(graph.text(graph.modules[row.module].type)));
  add(own_ops ? "-" : format_params(row.parameters.total, Zero::kDash));
  if (options.show_shapes) add(own_ops ? "" : shape_text(graph, row.output));
  if (measured) {
    add_time_cells(profile, measured->metrics, measured->time, style, result);
    add(flops_text(metrics)), add(format_bytes(metrics.memory_bytes(), Zero::kDash));
    add_rate_cells(profile, measured->metrics, style, result);
    return result;
  }
  add(format_count(metrics.work.macs, Zero::kDash));
  add(flops_text(metrics));
  const bool wide = options.width >= kWideTerminal;
  if (wide) add(format_percent(metrics.flops, profile.totals.flops, Zero::kDash));
  add(format_bytes(metrics.memory_bytes(), Zero::kDash));
  if (wide) add(format_percent(metrics.memory_bytes(), profile.totals.memory_bytes(), Zero::kDash));
  add(format_ratio(metrics.arithmetic_intensity(), Zero::kDash));
  if (has_device(profile)) add(roofline_text(metrics)), result.push_back(bound_cell(metrics));
  return result;
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
  Section section{"Modules", {columns(profile, options), {}}, {}};
  std::optional<OpTimes> times;
  if (is_measured(profile)) times.emplace(profile);
  bool is_folded = false;
  for (TreeLine& line : tree.lines(depth)) {
    std::optional<Measured> of_line;
    if (times) of_line = measured(profile, *times, tree, line.item, own);
    is_folded |= tree[line.item].repeat > 1;
    section.table.rows.push_back(cells(profile, options, tree[line.item],
                                       profile.modules[tree.row(line.item)], std::move(line.guides), own,
                                       of_line));
  }
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
