// `opscope fuse`: which ops run as one kernel, why each group ends where it does, and what that saves.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "app/models/measure.h"
#include "cli/flags/model.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "report/fuse/report.h"

namespace opscope {
namespace {

struct FuseFlags : ModelCommandFlags {
  std::string top, against, sort = "order";
  bool no_fold = false;
};

FuseOptions fuse_options(const FuseFlags& flags) {
  FuseOptions options{.sort = fuse_sort_from_name(flags.sort, "--sort")};
  options.text.fold = !flags.no_fold;
  read_number(options.text.top, "--top", flags.top, 0);
  return options;
}

int run_fuse(const FuseFlags& flags) {
  FuseOptions fuse = fuse_options(flags);
  const ProfileOptions options = profile_options(flags.cost);
  const AskedGraph asked(flags, fuse.text.notes);
  const Output output(flags, fuse.text);
  if (!flags.against.empty()) {
    Talk talk(flags.talk);
    const auto answer = compare_with_inductor({asked.request(), flags.against, options.partition}, talk);
    std::ranges::copy(answer.notes, std::back_inserter(fuse.text.notes));
    output.write(to_format(answer.comparison(), output.format(), fuse.text));
    return kExitDone;
  }
  const Graph graph = asked.load();
  output.write(fuse_report(make_profile(graph, options), output.format(), fuse));
  return kExitDone;
}

}  // namespace

Action define_fuse(CLI::App& app) {
  const auto flags = std::make_shared<FuseFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  add_value(app, "--against", flags->against, "COMPILER",
            "Compare with the kernels of torch.compile: inductor, or inductor-max (frozen weights, "
            "Inductor's own matmul templates)");
  add_value(app, "--top", flags->top, "N", "Rows: largest savings, and ops that were not fused. Default 10");
  add_value(app, "--sort", flags->sort, "KEY",
            "Sort subgraphs by: order (execution order), " + metric_choices(kSubgraphNeeds));
  add_switch(app, "--no-fold", flags->no_fold, "Show equal subgraphs one by one");
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All subgraphs, all that was not fused, and all notes");
  return [flags] { return run_fuse(*flags); };
}

}  // namespace opscope
