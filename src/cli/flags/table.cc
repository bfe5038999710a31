#include "cli/flags/table.h"

#include <CLI/CLI.hpp>

namespace opscope {

void add_table_flags(CLI::App& app, TableFlags& flags, const std::string& sort, const std::string& top_help) {
  flags.sort = sort;
  add_switch(app, "--showshape", flags.show_shapes, "Show output shapes");
  add_value(app, "--depth", flags.depth, "N", "Levels of the module tree. Default: as many as fit a screen");
  add_switch(app, "--no-fold", flags.no_fold, "Show repeated equal blocks one by one");
  add_value(app, "--top", flags.top, "N", top_help);
  add_value(app, "--sort", flags.sort, "KEY", "What layers are sorted by: " + metric_choices(kLayerNeeds));
}

TextOptions text_options(const TableFlags& flags, const TalkFlags& talk) {
  TextOptions options;
  options.show_shapes = flags.show_shapes;
  options.fold = !flags.no_fold;
  options.verbose = talk.verbose;
  options.sort = &metric_named(flags.sort, "--sort", kLayerNeeds);
  if (!flags.depth.empty()) options.depth = static_cast<int>(parse_integer("--depth", flags.depth, 0));
  if (!flags.top.empty()) options.top = static_cast<int>(parse_integer("--top", flags.top, 0));
  return options;
}

}  // namespace opscope
