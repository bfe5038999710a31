// Whose memory is held at the peak: the module tree, cut to what holds something, equal numbered siblings in
// one row.
#include <algorithm>

#include "analyse/tree/module_tree.h"
#include "base/text.h"
#include "report/memory/report.h"

namespace opscope {
namespace {

constexpr std::size_t kOwnerRows = 24;  // on a screen; --verbose shows all

// What holds at least `least`. An item for each of the report's owners, of the same number.
ModuleTree<TreeNode> owner_tree(const MemoryReport& report, Count least) {
  auto tree = module_tree<TreeNode>(*report.profile);
  const auto& owners = report.owners;
  for (TreeNode& item : tree.items)
    std::erase_if(item.children, [&](std::uint32_t c) { return owners[c].held < least || !owners[c].held; });
  tree.find_shapes([&](std::uint32_t row, FoldKey& key) {
    key.add(report.graph().modules[owners[row].module].type).add(owners[row].held.value());
    key.add(owners[row].pieces);
  });
  tree.fold();
  return tree;
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
  const auto tree = owner_tree(report, options.verbose ? Count{} : all / 100);
  const auto deepest = options.verbose ? kNone : tree.depth_that_fits(kOwnerRows);
  for (TreeLine& line : tree.lines(deepest)) {
    const auto& row = report.owners[line.item];
    const Count repeat{tree[line.item].repeat};
    std::string label = tree[line.item].name;
    if (repeat > Count{1})
      label = numbered_range(label, repeat.value()) + " x" + std::to_string(repeat.value());
    section.table.rows.push_back(
        {{std::move(label), Style::kPlain, std::move(line.guides)},
         {std::string(graph.text(graph.modules[row.module].type)), Style::kQuiet},
         {format_bytes(row.held * repeat, Zero::kDash)},
         {format_percent(row.held * repeat, all, Zero::kDash)},
         {row.pieces == 0 ? "-" : std::to_string(row.pieces * repeat.value())},
         {format_bytes(row.weights * repeat, Zero::kDash), Style::kQuiet},
         bar_cell(static_cast<double>(row.held * repeat) / std::max(1.0, static_cast<double>(all)))});
  }
  const bool is_cut = deepest != kNone && tree.shown_at_depth().size() > deepest + 1;
  section.remarks.push_back("held at the peak by the module whose op made it, weights apart; rows under 1% " +
                            std::string(is_cut ? "and deeper ones " : "") +
                            "are left out: --verbose shows all");
  return section;
}

}  // namespace opscope
