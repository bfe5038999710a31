// The hierarchical profile: the module tree, equal numbered siblings folded into one row, cut at a depth that
// fits a screen unless told otherwise.
#include <algorithm>
#include <map>

#include "analyse/folding.h"
#include "base/text.h"
#include "report/document.h"

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
      : graph_(*profile.graph), rows_(profile.modules), own_(own) {
    find_ends();
    repeat_.assign(rows_.size(), 1);
    if (fold) fold_siblings();
    make_lines();
  }

  const std::vector<Line>& lines() const { return lines_; }
  std::uint32_t max_depth() const {
    return lines_.empty() ? 0 : std::ranges::max(lines_, {}, &Line::depth).depth;
  }
  // The deepest cut that fits a screen, at least one level.
  std::uint32_t screen_depth() const {
    std::vector<std::size_t> at_depth(max_depth() + 1, 0);
    for (const Line& line : lines_) ++at_depth[line.depth];
    std::size_t shown = at_depth[0];
    std::uint32_t depth = 0;
    while (depth + 1 < at_depth.size() && (depth == 0 || shown + at_depth[depth + 1] <= kScreenRows))
      shown += at_depth[++depth];
    return depth;
  }

 private:
  std::string_view name_of(std::size_t row) const {
    return graph_.text(graph_.modules[rows_[row].module].name);
  }
  bool has_children(std::size_t row) const { return end_[row] > row + 1; }

  void find_ends() {
    end_.resize(rows_.size());
    std::vector<std::uint32_t> open;
    for (std::uint32_t r = 0; r < rows_.size(); ++r) {
      for (; !open.empty() && rows_[open.back()].depth >= rows_[r].depth; open.pop_back())
        end_[open.back()] = r;
      open.push_back(r);
    }
    for (const std::uint32_t r : open) end_[r] = static_cast<std::uint32_t>(rows_.size());
  }

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
          ++repeat_[first], repeat_[c] = 0;
        else
          first = c;
      }
    }
  }

  bool shows_own_ops(std::size_t row) const { return has_children(row) && own_[rows_[row].module].counts(); }

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
  const std::vector<Metrics>& own_;    // by module
  std::vector<std::uint32_t> end_;     // by row: one past its subtree
  std::vector<std::uint32_t> repeat_;  // by row: 0 is folded into an earlier sibling
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

std::vector<Column> columns(const TextOptions& options) {
  std::vector<Column> result{{"Module", Align::kLeft, 24}, {"Type", Align::kLeft, 12}, {"Params"}};
  if (options.show_shapes) result.push_back({"Output", Align::kLeft, 10});
  for (const char* title : {"MACs", "FLOPs", "Memory", "AI"}) result.push_back({title});
  if (options.width >= kWideTerminal)
    result.insert(result.end() - 2, {"% FLOPs"}), result.insert(result.end() - 1, {"% Mem"});
  return result;
}

std::vector<Cell> cells(const Profile& profile, const TextOptions& options, const Line& line,
                        std::string guides, const OwnOps& own) {
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
  add(format_count(metrics.work.macs, Zero::kDash));
  add(flops_text(metrics));
  const bool wide = options.width >= kWideTerminal;
  if (wide) add(format_percent(metrics.flops, profile.totals.flops, Zero::kDash));
  add(format_bytes(metrics.memory_bytes(), Zero::kDash));
  if (wide) add(format_percent(metrics.memory_bytes(), profile.totals.memory_bytes(), Zero::kDash));
  add(format_ratio(metrics.arithmetic_intensity(), Zero::kDash));
  return result;
}

}  // namespace

Section tree_section(const Profile& profile, const TextOptions& options) {
  const OwnOps own{own_metrics(profile), own_op_types(profile)};
  const Tree tree(profile, own.metrics, options.fold);
  const std::uint32_t deepest = tree.max_depth();
  const std::uint32_t depth =
      options.depth < 0 ? tree.screen_depth() : std::min(static_cast<std::uint32_t>(options.depth), deepest);
  Section section{"Modules", {columns(options), {}}, {}};
  Guides guides;
  for (const Line& line : tree.lines())
    if (line.depth <= depth)
      section.table.rows.push_back(cells(profile, options, line, guides.next(line), own));
  // However deep the tree lines go, some of the name stays.
  section.table.columns[0].min_width = std::max(24, 3 * static_cast<int>(depth) + 12);
  if (depth < deepest)
    section.remarks.push_back(std::to_string(tree.lines().size() - section.table.rows.size()) +
                              " rows below are not shown: --depth " + std::to_string(deepest) + " shows all");
  if (profile.totals.confidence != Confidence::kExact)
    section.remarks.push_back(flops_legend(profile.totals.confidence));
  return section;
}

}  // namespace opscope
