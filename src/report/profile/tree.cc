// The hierarchical profile: the module tree, equal numbered siblings folded into one row, cut at a depth that
// fits a screen unless told otherwise.
#include <algorithm>
#include <map>
#include <optional>
#include <span>

#include "analyse/tree/folding.h"
#include "base/text.h"
#include "report/core/document.h"
#include "report/hardware/hardware.h"
#include "report/times/times.h"

namespace opscope {
namespace {

constexpr std::size_t kScreenRows = 40;
constexpr int kWideTerminal = 120;  // from here on there is room for shares

// One line of the tree: a module, or the ops that a module with children ran itself.
struct Line {
  std::uint32_t row = 0;
  std::uint32_t depth = 0;
  std::uint32_t repeat = 1;  // equal siblings in this line
  bool own_ops = false;
  bool last = true;  // among its siblings
};

class Tree {
 public:
  Tree(const Profile& profile, const std::vector<Metrics>& own, bool fold)
      : graph_(*profile.graph), rows_(profile.modules), own_(own), end_(subtree_ends(profile.modules)) {
    repeat_.assign(rows_.size(), 1);
    folded_into_.assign(rows_.size(), kNone);
    if (fold) fold_siblings();
    find_blocks();
    make_lines();
  }

  const std::vector<Line>& lines() const { return lines_; }
  // The rows that a row stands for, itself first: the same place in each of the equal blocks.
  std::span<const std::uint32_t> blocks(const Line& line) const { return blocks_[line.row]; }
  std::uint32_t max_depth() const {
    return lines_.empty() ? 0 : std::ranges::max(lines_, {}, &Line::depth).depth;
  }
  std::vector<std::size_t> rows_at_depth() const {
    std::vector<std::size_t> at_depth(max_depth() + 1, 0);
    for (const Line& line : lines_) ++at_depth[line.depth];
    return at_depth;
  }

 private:
  std::string_view name_of(std::size_t row) const {
    return graph_.text(graph_.modules[rows_[row].module].name);
  }
  bool has_children(std::size_t row) const { return end_[row] > row + 1; }

  // Everything that a row and those below it show; equal rows get equal numbers.
  std::vector<std::uint64_t> signature(std::size_t row, const std::vector<std::uint32_t>& kind) const {
    const ModuleRow& r = rows_[row];
    const Metrics& m = r.metrics;
    std::vector<std::uint64_t> key{graph_.modules[r.module].type,
                                   r.calls,
                                   r.parameters.total.value(),
                                   r.parameters.trainable.value(),
                                   r.parameters.buffers.value(),
                                   m.work.macs.value(),
                                   m.work.other_flops.value(),
                                   m.work.specials.value(),
                                   m.flops.value(),
                                   m.traffic.input_bytes.value(),
                                   m.traffic.output_bytes.value(),
                                   m.traffic.weight_bytes.value(),
                                   m.ops};
    if (r.output != kNone)
      for (const auto dim : graph_.shape(graph_.values[r.output]))
        key.push_back(static_cast<std::uint64_t>(dim));
    for (std::uint32_t c = static_cast<std::uint32_t>(row) + 1; c < end_[row]; c = end_[c]) {
      key.push_back(graph_.modules[rows_[c].module].name);
      key.push_back(kind[c]);
    }
    return key;
  }

  void fold_siblings() {
    std::map<std::vector<std::uint64_t>, std::uint32_t> kinds;
    std::vector<std::uint32_t> kind(rows_.size());
    for (std::size_t r = rows_.size(); r-- > 0;)
      kind[r] = kinds.emplace(signature(r, kind), static_cast<std::uint32_t>(kinds.size())).first->second;
    for (std::uint32_t parent = 0; parent < rows_.size(); ++parent) {
      std::uint32_t first = 0, previous = 0;
      for (std::uint32_t c = parent + 1; c < end_[parent]; previous = c, c = end_[c]) {
        const bool same = first && kind[c] == kind[first] && follows(name_of(c), name_of(previous));
        if (same)
          ++repeat_[first], repeat_[c] = 0, folded_into_[c] = first;
        else
          first = c;
      }
    }
  }

  // A block that is folded away lies over the first of its siblings, which may lie over another itself.
  void find_blocks() {
    std::vector<std::uint32_t> shown_in(rows_.size());
    blocks_.resize(rows_.size());
    for (std::uint32_t r = 0, folded = 0, end = 0; r < rows_.size(); ++r) {
      if (r >= end && folded_into_[r] != kNone) folded = r, end = end_[r];
      shown_in[r] = r < end ? shown_in[folded_into_[folded] + (r - folded)] : r;
      blocks_[shown_in[r]].push_back(r);
    }
  }

  bool shows_own_ops(std::size_t row) const {
    const Metrics& own = own_[rows_[row].module];
    return has_children(row) && (own.counts() || own.time);
  }

  void make_lines() {
    std::vector<std::uint32_t> open;
    const auto close_until = [&](std::uint32_t next) {
      for (; !open.empty() && end_[open.back()] <= next; open.pop_back())
        if (shows_own_ops(open.back()))
          lines_.push_back({open.back(), rows_[open.back()].depth + 1, 1, true, true});
    };
    for (std::uint32_t r = 0; r < rows_.size();) {
      close_until(r);
      if (repeat_[r] == 0) {
        r = end_[r];
        continue;
      }
      lines_.push_back({r, rows_[r].depth, repeat_[r], false, is_last(r, open)});
      open.push_back(r++);
    }
    close_until(static_cast<std::uint32_t>(rows_.size()));
  }

  bool is_last(std::uint32_t row, const std::vector<std::uint32_t>& open) const {
    if (open.empty()) return true;
    std::uint32_t next = end_[row];
    while (next < end_[open.back()] && repeat_[next] == 0) next = end_[next];
    return next >= end_[open.back()] && !shows_own_ops(open.back());
  }

  const Graph& graph_;
  const std::vector<ModuleRow>& rows_;
  const std::vector<Metrics>& own_;                 // by module
  std::vector<std::uint32_t> end_;                  // by row: one past its subtree
  std::vector<std::uint32_t> repeat_;               // by row: 0 is folded into an earlier sibling
  std::vector<std::uint32_t> folded_into_;          // by row: the first of its equal siblings; kNone: shown
  std::vector<std::vector<std::uint32_t>> blocks_;  // by row that is shown
  std::vector<Line> lines_;
};

// "├─ ", with a line for each ancestor that has more to come.
class Guides {
 public:
  std::string next(const Line& line) {
    open_.resize(line.depth);
    std::string text;
    for (std::uint32_t d = 1; d < line.depth; ++d) text += open_[d] ? "│  " : "   ";
    if (line.depth > 0) text += line.last ? "└─ " : "├─ ";
    open_.push_back(!line.last);
    return text;
  }

 private:
  std::vector<bool> open_;  // by depth
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
Measured measured(const Profile& profile, const OpTimes& times, const Tree& tree, const Line& line,
                  const OwnOps& own) {
  const auto blocks = tree.blocks(line);
  const auto of = [&](std::uint32_t row) -> const Metrics& {
    return line.own_ops ? own.metrics[profile.modules[row].module] : profile.modules[row].metrics;
  };
  Measured result{of(line.row), {}};
  Count time;
  for (const auto row : blocks) time += of(row).time;
  result.metrics.time = time / Count{blocks.size()};
  result.time = line.own_ops ? times.of_module_alone(line.row) : times.of_modules(blocks);
  return result;
}

std::string label(const Profile& profile, const Line& line) {
  const Graph& graph = *profile.graph;
  if (line.own_ops) return "(own ops)";
  const ModuleRow& row = profile.modules[line.row];
  std::string text(graph.text(graph.modules[row.module].name));
  if (row.depth == 0) text = model_name(*profile.graph);
  if (line.repeat > 1) {
    text = numbered_range(text, line.repeat) + " x" + std::to_string(line.repeat);
  }
  if (row.calls > 1) text += " (" + std::to_string(row.calls) + " calls)";
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

std::vector<Cell> cells(const Profile& profile, const TextOptions& options, const Line& line,
                        std::string guides, const OwnOps& own, const std::optional<Measured>& measured) {
  const ModuleRow& row = profile.modules[line.row];
  const Graph& graph = *profile.graph;
  const Metrics& metrics = line.own_ops ? own.metrics[row.module] : row.metrics;
  const Style style = line.own_ops || row.metrics.ops == 0 ? Style::kQuiet
                      : row.depth == 0                     ? Style::kStrong
                                                           : Style::kPlain;
  std::vector<Cell> result{{label(profile, line), style, std::move(guides)}};
  const auto add = [&](std::string text) { result.push_back({std::move(text), style}); };
  add(line.own_ops ? own.types[row.module] : std::string(graph.text(graph.modules[row.module].type)));
  add(line.own_ops ? "-" : format_params(row.parameters.total, Zero::kDash));
  if (options.show_shapes) add(line.own_ops ? "" : shape_text(graph, row.output));
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
  const std::uint32_t deepest = tree.max_depth();
  const std::uint32_t depth = options.depth < 0
                                  ? screen_depth(tree.rows_at_depth(), kScreenRows)
                                  : std::min(static_cast<std::uint32_t>(options.depth), deepest);
  Section section{"Modules", {columns(profile, options), {}}, {}};
  Guides guides;
  std::optional<OpTimes> times;
  if (is_measured(profile)) times.emplace(profile);
  for (const Line& line : tree.lines()) {
    if (line.depth > depth) continue;
    std::optional<Measured> of_line;
    if (times) of_line = measured(profile, *times, tree, line, own);
    section.table.rows.push_back(cells(profile, options, line, guides.next(line), own, of_line));
  }
  // However deep the tree lines go, some of the name stays.
  section.table.columns[0].min_width = std::max(24, 3 * static_cast<int>(depth) + 12);
  if (depth < deepest)
    section.remarks.push_back(std::to_string(tree.lines().size() - section.table.rows.size()) +
                              " rows below are not shown: --depth " + std::to_string(deepest) + " shows all");
  const auto is_folded = [&](const Line& line) { return line.repeat > 1 && line.depth <= depth; };
  if (times && std::ranges::any_of(tree.lines(), is_folded))
    section.remarks.push_back("rows of equal blocks show the mean of one block");
  if (profile.totals.confidence != Confidence::kExact)
    section.remarks.push_back(flops_legend(profile.totals.confidence));
  return section;
}

}  // namespace opscope
