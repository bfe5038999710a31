// `opscope plan`: a model, or a plain graph of costs, split over devices.
#include "app/cases/plan.h"

#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "cli/flags/flags.h"
#include "readers/plan/cost_reader.h"
#include "report/plan/emit.h"
#include "report/plan/plan.h"

namespace opscope {
namespace {

struct PlanFlags : ModelCommandFlags {
  std::string costs, trace, emit;
  PlanRequest plan;
};

// A file of costs has its own devices and times.
void refuse_beside_costs(const PlanFlags& flags) {
  const auto refuse = [](bool given, const char* flag) {
    if (given) throw Error("a graph of costs says that itself", flag, "leave it out, or plan a model");
  };
  refuse(!flags.plan.devices.empty(), "--devices");
  refuse(!flags.plan.links.empty(), "--link");
  refuse(!flags.plan.pins.empty(), "--pin");
  refuse(!flags.plan.reserve.empty(), "--reserve");
  refuse(!flags.plan.in_flight.empty(), "--in-flight");
  refuse(!flags.plan.dp.empty(), "--dp");
  refuse(flags.plan.no_overlap, "--no-overlap");
  refuse(!flags.model.text("model").empty(), "MODEL");
}

// Where a report, a picture or a program goes.
class PlanOutput {
 public:
  PlanOutput(const PlanFlags& flags, TextOptions& text) : flags_(flags) {
    if (!flags.trace.empty()) check_writable(flags.trace);
    if (flags.emit.empty()) {
      report_.emplace(flags, text);
      return;
    }
    form_ = plan_form_from_name(flags.emit, "--emit");
    if (!flags.costs.empty()) throw Error("a graph of costs has no program", "--emit", "plan a model");
    if (!flags.output.format.empty())
      throw Error("a program has a form of its own", "--format", "leave it out, or leave out --emit");
    if (!flags.output.output.empty()) check_writable(flags.output.output);
  }

  void write(const PlannedGraph& plan, const Graph& graph, const TextOptions& text) const {
    if (form_)
      write_program(emitted(graph, plan, *form_));
    else if (report_->is_picture())
      report_->write_picture(plan_svg(plan));
    else
      report_->write(to_format(plan, report_->format(), text));
    if (!flags_.trace.empty()) write_beside(flags_.trace, plan_trace(plan), flags_.talk);
  }

 private:
  void write_program(const std::string& program) const {
    if (flags_.output.output.empty())
      Output(OutputFlags{}).write_bytes(program);
    else
      write_file(flags_.output.output, program);
  }

  const PlanFlags& flags_;
  std::optional<PictureOutput> report_;
  std::optional<PlanForm> form_;
};

int run_plan(PlanFlags& flags) {
  TextOptions text;
  if (!flags.costs.empty()) {
    refuse_beside_costs(flags);
    const PlanQuestion question = plan_question(flags.plan.objective, "--objective");
    const PlanOutput output(flags, text);
    output.write(plan_graph(read_costs(read_file(flags.costs), flags.costs), question, flags.costs), Graph(),
                 text);
    return kExitDone;
  }
  flags.plan.cost = flags.cost;
  const PlanTask task = plan_task(flags.plan);
  capture_as_on(task.devices, flags.model);
  const AskedGraph asked(flags, text.notes);
  const PlanOutput output(flags, text);
  const Graph graph = asked.load();
  output.write(plan(task, graph), graph, text);
  return kExitDone;
}

}  // namespace

Action define_plan(CLI::App& app) {
  const auto flags = std::make_shared<PlanFlags>();
  PlanRequest& plan = flags->plan;
  add_model_flags(app, flags->model);
  add_graph_part_flag(app, flags->graph_part);
  add_value(
      app, "--devices", plan.devices, "DEVICES",
      "What to split over: 4xh200, 12xjetson-agx-orin-64gb,1xrtx-3090@cloud, l4:20GB (another memory), or "
      "a cluster's TOML file");
  add_values(app, "--link", plan.links, "LINK",
             "Of each device: bandwidth and latency, 50Mbit/s,2ms; of one group, cloud=1Mbit/s,20ms");
  add_values(app, "--pin", plan.pins, "END=GROUP",
             "input=GROUP: what reads the model's inputs runs on one device of the group; output=GROUP");
  add_value(
      app, "--objective", plan.objective, "NAME",
      "throughput (the slowest device; default), latency (of one run), devices (the fewest), cost or energy; "
      "two, as throughput,latency, for their Pareto front");
  add_switch(app, "--no-overlap", plan.no_overlap,
             "Devices wait while they send and receive. Default: transfers go on while they compute");
  add_value(
      app, "--in-flight", plan.in_flight, "N",
      "Runs on their way at once, each with its KV cache. Default: 1 for latency, else two for each device");
  add_value(app, "--dp", plan.dp, "N",
            "Data parallel: N replicas of the model, each on an equal share of the devices, or auto for the "
            "number that makes runs most often. Default: 1");
  add_value(
      app, "--reserve", plan.reserve, "BYTES",
      "Part of each device's memory to keep free: 1GiB or 10%. Default: what allocator and driver need");
  add_value(app, "--float32", flags->cost.float32, "HOW",
            "How float32 matrix products run: torch (default), tf32 or ieee");
  add_run_flags(
      app, flags->cost,
      "How the model runs: eager (op by op, as captured; default), graph (the device alone) or compiled "
      "(each fused subgraph is one kernel)");
  add_routing_flag(app, flags->cost.routing);
  add_value(app, "--costs", flags->costs, "FILE",
            "In place of a model a graph of costs in JSON: devices, nodes with seconds on each class, edges");
  add_value(
      app, "--emit", flags->emit, "FORM",
      "In place of a report what runs the plan: torch (a program for torchrun) or accelerate (a device_map)");
  add_value(app, "--trace", flags->trace, "FILE",
            "Also write the simulated runs as a trace for ui.perfetto.dev: .json");
  add_report_flags(app, *flags, "All notes, and how long the search took", format_help(", svg, png or pdf"));
  return [flags] { return run_plan(*flags); };
}

}  // namespace opscope
