// `opscope measure`: a model really run, every op timed, beside what it should cost.
#include "analyse/trace/joined.h"
#include "app/models/trace.h"
#include "base/error.h"
#include "cli/flags/flags.h"
#include "graph/graph.h"
#include "readers/kineto/reader.h"
#include "report/times/times.h"
#include "report/trace/report.h"

namespace opscope {
namespace {

struct MeasureFlags : ModelCommandFlags {
  TableFlags table;
  std::string on, warmup, runs, min_time, trace, save;
  bool repeat_ops = false;
};

// --device is --on for a model that is run: a model is built where it runs.
std::string device_of(const MeasureFlags& flags) {
  const std::string device = flags.model.text("device");
  if (!flags.on.empty() && !device.empty() && flags.on != device)
    throw Error("two devices: --on " + flags.on + " and --device " + device, "--on",
                "--on and --device both say where: give one of them");
  return flags.on.empty() ? device : flags.on;
}

MeasureRequest measure_request(MeasureFlags flags, std::vector<std::string>& notes) {
  MeasureRequest request;
  request.on = device_of(flags);
  if (!flags.warmup.empty()) request.warmup = parse_integer("--warmup", flags.warmup, 0);
  if (!flags.runs.empty()) request.runs = parse_integer("--runs", flags.runs, 1);
  if (!flags.min_time.empty()) request.min_time = parse_number("--min-time", flags.min_time);
  request.repeat_ops = flags.repeat_ops;
  flags.model.texts.erase("device");
  request.model = request_from(flags.model, &notes);
  return request;
}

int run_measure(const MeasureFlags& flags) {
  TextOptions text = text_options(flags.table);
  const ProfileOptions options = profile_options(flags.cost);
  const MeasureRequest request = measure_request(flags, text.notes);
  const Output output(flags, text);
  check_side_files({request.model.model}, {flags.save, flags.trace, flags.output.output});
  Talk talk(flags.talk);
  const Graph graph = measure(request, talk);
  const Profile profile = make_profile(graph, options);
  // First what cannot be had again.
  if (!flags.save.empty()) write_beside(flags.save, write_json(graph), flags.talk);
  if (!flags.trace.empty()) write_beside(flags.trace, chrome_trace(profile), flags.talk);
  output.write(measure_report(profile, output.format(), text));
  return kExitDone;
}

struct ReadTraceFlags : ModelCommandFlags {
  TableFlags table;
  std::string file, save, trace;
};

void check_files(const ReadTraceFlags& flags) {
  if (flags.file.empty())
    throw Error("no trace to read", "", "for example opscope read-trace trace.json.gz resnet50 --batch 32");
  const std::string model = flags.model.named();
  if (model.empty())
    throw Error("no model to match the trace with", "",
                "give it after the trace, with the inputs that it ran with: opscope read-trace " +
                    flags.file + " resnet50 --batch 32");
  check_side_files({flags.file, model}, {flags.save, flags.trace, flags.output.output});
}

// The graph does not know the trace's name.
JoinedTrace joined(const Graph& graph, RecordedTrace trace, const std::string& file) {
  try {
    return join_trace(graph, std::move(trace));
  } catch (const Error& error) {
    throw Error(error.what(), file, error.hint());
  }
}

int run_read_trace(const ReadTraceFlags& flags) {
  TextOptions text = text_options(flags.table);
  const ProfileOptions options = profile_options(flags.cost);
  check_files(flags);
  const AskedGraph asked(flags, text.notes);
  const Output output(flags, text);
  RecordedTrace recorded = read_kineto_trace(flags.file);
  Graph graph = asked.load();
  const JoinedTrace trace = joined(graph, std::move(recorded), flags.file);
  graph.measurement = trace.measurement;
  graph.verify();
  const Profile profile = make_profile(graph, options);
  output.write(joined_trace_report(profile, trace, flags.file, output.format(), text));
  if (!flags.save.empty()) write_beside(flags.save, write_json(graph), flags.talk);
  if (!flags.trace.empty()) write_beside(flags.trace, chrome_trace(profile), flags.talk);
  return kExitDone;
}

}  // namespace

Action define_measure(CLI::App& app) {
  const auto flags = std::make_shared<MeasureFlags>();
  add_model_flags(app, flags->model);
  add_value(app, "--on", flags->on, "DEVICE",
            "Device to run on: cpu, cuda, cuda:1. Default: where the weights are, else cpu");
  add_value(app, "--warmup", flags->warmup, "N", "Warm-up runs, default 3");
  add_value(app, "--runs", flags->runs, "N",
            "Timed runs; each is paired with a run without op timers. Default: 10 to 200, until "
            "--min-time has passed");
  add_value(app, "--min-time", flags->min_time, "SECONDS",
            "Seconds to measure for, if --runs is not given. Default 1");
  add_switch(app, "--repeat-ops", flags->repeat_ops,
             "Also time each distinct op alone, repeatedly. Times are kept and reused for other models");
  add_table_flags(app, flags->table, "time", "Number of slowest layers, default 10");
  add_value(app, "--trace", flags->trace, "FILE.json",
            "Also write a trace of one run, for Perfetto and chrome://tracing");
  add_value(app, "--save", flags->save, "FILE.json",
            "Save the measurement; all commands read the file, without Python");
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All layers, op types and notes");
  return [flags] { return run_measure(*flags); };
}

Action define_read_trace(CLI::App& app) {
  const auto flags = std::make_shared<ReadTraceFlags>();
  add_value(app, "file", flags->file, "FILE", "A trace of torch.profiler: .json or .json.gz");
  add_model_flags(app, flags->model);
  add_table_flags(app, flags->table, "time", "Number of slowest layers and kernels, default 10");
  add_value(app, "--save", flags->save, "FILE.json",
            "Save the model with the times of the trace; all commands read the file");
  add_value(app, "--trace", flags->trace, "FILE.json",
            "Write one run as a Chrome trace, with the modules of the model");
  add_cost_flags(app, flags->cost);
  add_report_flags(app, *flags, "All layers and kernels, and what was not matched");
  return [flags] { return run_read_trace(*flags); };
}

}  // namespace opscope
