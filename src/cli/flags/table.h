// Flags of the commands whose report is a module tree and a list of layers.
#pragma once

#include <string>

#include "cli/flags/flags.h"
#include "cli/main/cli11.h"
#include "report/core/report.h"

namespace opscope {

struct TableFlags {
  std::string depth, top, sort;
  bool show_shapes = false, no_fold = false;
};

// `sort` is the key by default; the help of --top says what it lists.
void add_table_flags(CLI::App& app, TableFlags& flags, const std::string& sort, const std::string& top_help);

TextOptions text_options(const TableFlags& flags, const TalkFlags& talk);

}  // namespace opscope
