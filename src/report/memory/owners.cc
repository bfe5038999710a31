// Whose memory is held at the peak: the module tree, cut to what holds something, equal numbered siblings in
// one row.
#include <algorithm>

#include "analyse/tree/folding.h"
#include "base/text.h"
#include "report/memory/report.h"

namespace opscope {
namespace {

constexpr std::size_t kOwnerRows = 24;  // on a screen; --verbose shows all

struct Line {
  std::uint32_t row = 0;
  std::uint64_t repeat = 1;  // equal siblings in this line
  std::string guides{};
  Count held{};
};

class OwnerTree {
 public:
  explicit OwnerTree(const MemoryReport& report, Count least)
      : graph_(report.graph()), rows_(report.owners), least_(least), children_(rows_.size()) {
    std::vector<std::uint32_t> open;
    for (std::uint32_t r = 0; r < rows_.size(); ++r) {
      while (!open.empty() && rows_[open.back()].depth >= rows_[r].depth) open.pop_back();
      if (!open.empty() && rows_[r].held >= least_ && rows_[r].held) children_[open.back()].push_back(r);
      open.push_back(r);
    }
    add(0, 1, "", "");
  }
  std::vector<Line> lines;

 private:
  std::string_view name_of(std::uint32_t row) const {
    return graph_.text(graph_.modules[rows_[row].module].name);
  }
  bool is_same(std::uint32_t a, std::uint32_t b) const {
    return rows_[a].held == rows_[b].held && rows_[a].pieces == rows_[b].pieces &&
           graph_.modules[rows_[a].module].type == graph_.modules[rows_[b].module].type;
  }

  void add(std::uint32_t row, std::uint64_t repeat, const std::string& guides, const std::string& below) {
    lines.push_back({row, repeat, guides, rows_[row].held * repeat});
    const auto& children = children_[row];
    for (std::size_t i = 0; i < children.size();) {
      std::size_t end = i + 1;
      while (end < children.size() && is_same(children[i], children[end]) &&
             follows(name_of(children[end]), name_of(children[end - 1])))
        ++end;
      const bool is_last = end == children.size();
      add(children[i], end - i, below + (is_last ? "└─ " : "├─ "), below + (is_last ? "   " : "│  "));
      i = end;
    }
  }

  const Graph& graph_;
  const std::vector<MemoryOwner>& rows_;
  Count least_;
  std::vector<std::vector<std::uint32_t>> children_;
};

std::vector<std::size_t> rows_at_depth(const MemoryReport& report, const std::vector<Line>& lines) {
  std::vector<std::size_t> at_depth;
  for (const auto& line : lines) {
    const auto depth = report.owners[line.row].depth;
    if (depth >= at_depth.size()) at_depth.resize(depth + 1);
    ++at_depth[depth];
  }
  return at_depth;
}

}  // namespace

Section memory_owners_section(const MemoryReport& report, const TextOptions& options) {
  const Graph& graph = report.graph();
  Section section{"By module",
                  {{{.title = "By module", .align = Align::kLeft, .min_width = 20, .good_width = 32},
                    {.title = "Type", .align = Align::kLeft, .min_width = 8, .optional = true},
                    {"Held"},
                    {"% held"},
                    {"Storages"},
                    {"Weights"},
                    {"", Align::kLeft}},
                   {}},
                  {}};
  const Count all = report.owners.front().held;
  const auto lines = OwnerTree(report, options.verbose ? Count{} : all / 100).lines;
  const auto deepest = options.verbose ? kNone : screen_depth(rows_at_depth(report, lines), kOwnerRows);
  bool is_cut = false;
  for (const auto& line : lines) {
    if (report.owners[line.row].depth > deepest) {
      is_cut = true;
      continue;
    }
    const auto& row = report.owners[line.row];
    const auto& module = graph.modules[row.module];
    std::string label = line.row == 0 ? model_name(graph) : std::string(graph.text(module.name));
    if (line.repeat > 1) label = numbered_range(label, line.repeat) + " x" + std::to_string(line.repeat);
    section.table.rows.push_back(
        {{.text = std::move(label), .guides = line.guides},
         {std::string(graph.text(module.type)), Style::kQuiet},
         {format_bytes(line.held, Zero::kDash)},
         {format_percent(line.held, all, Zero::kDash)},
         {row.pieces == 0 ? "-" : std::to_string(row.pieces * line.repeat)},
         {format_bytes(row.weights * line.repeat, Zero::kDash), Style::kQuiet},
         {.bar = static_cast<double>(line.held) / std::max(1.0, static_cast<double>(all))}});
  }
  section.remarks.push_back("held at the peak by the module whose op made it, weights apart; rows under 1% " +
                            std::string(is_cut ? "and deeper ones " : "") +
                            "are left out: --verbose shows all");
  return section;
}

}  // namespace opscope
