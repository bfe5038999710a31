// `opscope plan`: a model, or a plain graph of costs, split over devices.
#include "report/plan/plan.h"

#include "base/error.h"
#include "base/files.h"
#include "cli/flags/flags.h"
#include "readers/plan/cost_reader.h"

namespace opscope {
namespace {

struct PlanFlags : CommandFlags {
  std::string costs, objective = "throughput";
};

int run_plan(const PlanFlags& flags) {
  if (flags.costs.empty())
    throw Error("there is nothing to split", "--costs", "--costs FILE.json is a graph of costs");
  const PlanQuestion question = plan_question(flags.objective, "--objective");
  TextOptions text;
  const Output output(flags, text);
  CostGraph graph = read_costs(read_file(flags.costs), flags.costs);
  output.write(to_format(plan_graph(std::move(graph), question, flags.costs), output.format(), text));
  return kExitDone;
}

}  // namespace

Action define_plan(CLI::App& app) {
  const auto flags = std::make_shared<PlanFlags>();
  add_value(app, "--costs", flags->costs, "FILE",
            "A graph of costs in JSON: devices, nodes with seconds on each class, edges (docs/plan.md)");
  add_value(app, "--objective", flags->objective, "NAME",
            "throughput (the slowest device; default), latency, devices (the fewest), cost or energy; two, as "
            "throughput,latency, for the Pareto front of both");
  add_report_flags(app, *flags, "All notes");
  return [flags] { return run_plan(*flags); };
}

}  // namespace opscope
