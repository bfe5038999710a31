// `opscope fuse`: which ops run as one kernel, why each group ends where it does, and what that saves.
#include <CLI/CLI.hpp>
#include <memory>

#include "app/models/models.h"
#include "cli/commands/fuse_against.h"
#include "cli/flags/cost.h"
#include "cli/flags/graph_part.h"
#include "cli/flags/model.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "report/fuse/report.h"

namespace opscope {
namespace {

struct FuseFlags : ModelCommandFlags {
  CostFlags cost;
  std::string top, graph_part, against, sort = "order";
  bool no_fold = false;
};

FuseOptions fuse_options(const FuseFlags& flags) {
  FuseOptions options{.sort = fuse_sort_from_name(flags.sort, "--sort")};
  options.text.fold = !flags.no_fold;
  options.text.verbose = flags.talk.verbose;
  if (!flags.top.empty()) options.text.top = static_cast<int>(parse_integer("--top", flags.top, 0));
  return options;
}

int run_fuse(const FuseFlags& flags) {
  FuseOptions fuse = fuse_options(flags);
  const ProfileOptions options = profile_options(flags.cost);
  const CaptureRequest request = request_from(flags.model, &fuse.text.notes);
  check_graph_part(flags.graph_part);
  const Output output(flags.output);
  output.set_style(fuse.text);
  if (!flags.against.empty()) {
    check_against(flags.against);
    return run_against(flags.against, request, options.partition, flags.talk, output, fuse.text);
  }
  const Graph graph = chosen_part(load_model(request, flags.talk), flags.graph_part, fuse.text.notes);
  output.write(fuse_report(make_profile(graph, options), output.format(), fuse));
  return kExitDone;
}

}  // namespace

Action define_fuse(CLI::App& app) {
  const auto flags = std::make_shared<FuseFlags>();
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  app.add_option("--against", flags->against,
                 "Compare with the kernels of torch.compile: inductor, or inductor-max (frozen weights, "
                 "Inductor's own matmul templates)")
      ->type_name("COMPILER");
  app.add_option("--top", flags->top, "Rows: largest savings, and ops that were not fused. Default 10")
      ->type_name("N");
  app.add_option("--sort", flags->sort,
                 "What subgraphs are sorted by: order (as they run), " + metric_choices(kSubgraphNeeds))
      ->type_name("KEY");
  app.add_flag("--no-fold", flags->no_fold, "Show equal subgraphs one by one");
  add_cost_flags(app, flags->cost);
  app.add_flag("-v,--verbose", flags->talk.verbose, "All subgraphs, all that was not fused, and all notes");
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_fuse(*flags); };
}

}  // namespace opscope
