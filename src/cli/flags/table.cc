#include "cli/flags/table.h"

#include <CLI/CLI.hpp>

namespace opscope {

void add_table_flags(CLI::App& app, TableFlags& flags, const std::string& sort, const std::string& top_help) {
  flags.sort = sort;
  app.add_flag("--showshape", flags.show_shapes, "Show output shapes");
  app.add_option("--depth", flags.depth, "Levels of the module tree. Default: as many as fit a screen")
      ->type_name("N");
  app.add_flag("--no-fold", flags.no_fold, "Show repeated equal blocks one by one");
  app.add_option("--top", flags.top, top_help)->type_name("N");
  app.add_option("--sort", flags.sort, "What layers are sorted by: " + metric_choices(kLayerNeeds))
      ->type_name("KEY");
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
