// `opscope measure`: a model really run, every op timed, beside what it should cost.
#include "report/times/measure.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "analyse/profile/profile.h"
#include "app/models/measured_model.h"
#include "base/error.h"
#include "cli/flags/cost.h"
#include "cli/flags/model.h"
#include "cli/flags/table.h"
#include "cli/main/cli.h"
#include "cli/main/command.h"
#include "cli/output/output.h"
#include "cli/output/side_files.h"
#include "graph/writer.h"
#include "report/times/chrome_trace.h"

namespace opscope {
namespace {

struct MeasureFlags : ModelCommandFlags {
  CostFlags cost;
  TableFlags table;
  std::string on, warmup, runs, min_time, trace, save;
  bool repeat_ops = false;
};

// --device is --on for a model that is run: a model is built where it runs.
std::string device_of(const MeasureFlags& flags) {
  if (!flags.on.empty() && !flags.model.device.empty() && flags.on != flags.model.device)
    throw Error("two devices: --on " + flags.on + " and --device " + flags.model.device, "--on",
                "--on and --device both say where: give one of them");
  return flags.on.empty() ? flags.model.device : flags.on;
}

MeasureRequest measure_request(const MeasureFlags& flags) {
  MeasureRequest request;
  request.on = device_of(flags);
  if (!flags.warmup.empty()) request.warmup = parse_integer("--warmup", flags.warmup, 0);
  if (!flags.runs.empty()) request.runs = parse_integer("--runs", flags.runs, 1);
  if (!flags.min_time.empty()) request.min_time = parse_number("--min-time", flags.min_time);
  request.repeat_ops = flags.repeat_ops;
  return request;
}

int run_measure(MeasureFlags flags) {
  TextOptions text = text_options(flags.table, flags.talk);
  const ProfileOptions options = profile_options(flags.cost);
  const MeasureRequest measure = measure_request(flags);
  flags.model.device.clear();
  const CaptureRequest capture = request_from(flags.model, &text.notes);
  const Output output(flags.output);
  output.set_style(text);
  check_side_files({capture.model}, {flags.save, flags.trace, flags.output.output});
  const Graph graph = measured_model(capture, measure, flags.talk);
  const Profile profile = make_profile(graph, options);
  // First what cannot be had again.
  if (!flags.save.empty()) write_beside(flags.save, write_json(graph), flags.talk);
  if (!flags.trace.empty()) write_beside(flags.trace, chrome_trace(profile), flags.talk);
  output.write(measure_report(profile, output.format(), text));
  return kExitDone;
}

void add_run_flags(CLI::App& app, MeasureFlags& flags) {
  app.add_option("--on", flags.on,
                 "Device to run on: cpu, cuda, cuda:1. Default: where the weights are, else cpu")
      ->type_name("DEVICE");
  app.add_option("--warmup", flags.warmup, "Warm-up runs, default 3")->type_name("N");
  app.add_option("--runs", flags.runs,
                 "Timed runs; each is paired with a run without op timers. Default: 10 to 200, until "
                 "--min-time has passed")
      ->type_name("N");
  app.add_option("--min-time", flags.min_time, "Seconds to measure for, if --runs is not given. Default 1")
      ->type_name("SECONDS");
  app.add_flag("--repeat-ops", flags.repeat_ops,
               "Also time each distinct op alone, repeatedly. Times are kept and reused for other models");
}

void add_report_flags(CLI::App& app, MeasureFlags& flags) {
  add_table_flags(app, flags.table, "time", "Number of slowest layers, default 10");
  app.add_option("--trace", flags.trace, "Also write a trace of one run, for Perfetto and chrome://tracing")
      ->type_name("FILE.json");
  app.add_option("--save", flags.save, "Save the measurement; all commands read the file, without Python")
      ->type_name("FILE.json");
}

}  // namespace

Action define_measure(CLI::App& app) {
  const auto flags = std::make_shared<MeasureFlags>();
  add_model_flags(app, flags->model);
  add_run_flags(app, *flags);
  add_report_flags(app, *flags);
  add_cost_flags(app, flags->cost);
  app.add_flag("--verbose,-v", flags->talk.verbose, "All layers, op types and notes");
  add_output_flags(app, flags->output);
  add_talk_flags(app, flags->talk);
  return [flags] { return run_measure(*flags); };
}

}  // namespace opscope
